"""A split on disk: four .npy files, written as a stream and opened as memory maps.

The files are ordinary NumPy arrays that any tool can read. They are mapped copy-on-write: processes
share the pages, the files never change, and Numba sees one plain, writable, contiguous array type
(a read-only array would be another one, and would compile every kernel again).
"""

import hashlib
import math
import mmap
import os
import sys
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Place, Split
from rankloop.data.content import ARRAYS, HEADER, header
from rankloop.errors import DataError

_PIECE = 16 << 20
# Without it the kernel refuses to map, writable, a file larger than memory.
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class SplitSummary(msgspec.Struct, frozen=True):
    """The shape of a stored split, and a digest of its content."""

    queries: int
    documents: int
    features: int
    digest: str

    def file_sizes(self) -> dict[str, int]:
        """How many bytes each file must have."""
        shapes = _shapes(self.queries, self.documents, self.features)
        return {name: HEADER + math.prod(shape) * ARRAYS[name].itemsize for name, shape in shapes.items()}


def _shapes(queries: int, documents: int, features: int) -> dict[str, tuple[int, ...]]:
    return {
        "features": (documents, features), "offsets": (queries + 1,), "grades": (documents,), "query_ids": (queries,),
    }  # fmt: skip


class SplitWriter:
    """Writes a split, block by block, into a folder, which it makes for the first block. It is as wide as the widest.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "train"
    >>> with SplitWriter(folder) as writer:
    ...     writer.add([7], [0, 1], np.ones((1, 2), np.float32), np.zeros(1, np.uint8))
    ...     writer.add([9], [0, 2], np.ones((2, 2), np.float32), np.ones(2, np.uint8))
    >>> open_split(folder)
    Split(2 queries, 3 documents, 2 features)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.queries = self.documents = self.features = self.highest_grade = 0
        self.summary: SplitSummary | None = None
        self._files: dict[str, IO[bytes]] = {}

    def _open(self) -> None:
        self.folder.mkdir(parents=True)
        for name in ARRAYS:
            self._files[name] = (self.folder / f"{name}.npy").open("w+b")
            self._files[name].write(bytes(HEADER))
        self._write("offsets", np.zeros(1, np.int64))

    def add(self, query_ids: Any, offsets: Any, features: Any, grades: Any) -> None:
        """Append queries: ids (q,), offsets (q + 1,) from 0, features (d, F), grades (d,).

        Rows with fewer features than the split are filled up with zeros.
        """
        starts = np.asarray(offsets, np.int64)
        documents, width = features.shape
        if len(starts) != len(query_ids) + 1 or starts[-1] != documents or len(grades) != documents:
            raise DataError(
                f"a block's arrays do not fit together: {len(query_ids)} queries, {len(starts)} "
                f"offsets up to {starts[-1]}, features {features.shape}, {len(grades)} grades"
            )
        if not self._files:
            self._open()
        self.widen(width)
        if width < self.features:
            features = np.pad(features, ((0, 0), (0, self.features - width)))
        self._write("features", features)
        self._write("offsets", starts[1:] + self.documents)
        self._write("grades", grades)
        self._write("query_ids", query_ids)
        self.queries += len(query_ids)
        self.documents += documents
        self.highest_grade = max(self.highest_grade, int(np.max(grades)))

    def widen(self, features: int) -> None:
        """Give all rows, past and future, this many features; new ones are 0 so far."""
        if features <= self.features:
            return
        old, path = self._files["features"], self.folder / "features.npy"
        old.seek(HEADER)
        wider = path.with_suffix(".wider")
        new = wider.open("w+b")
        new.write(bytes(HEADER))
        rows = max(1, _PIECE // (4 * features))
        while piece := old.read(4 * self.features * rows):
            narrow = np.frombuffer(piece, np.float32).reshape(-1, self.features)
            new.write(np.pad(narrow, ((0, 0), (0, features - self.features))).data)
        old.close()
        wider.replace(path)
        self._files["features"], self.features = new, features

    def close(self) -> SplitSummary:
        """Write the headers; only now are the files arrays."""
        if self.summary is not None:
            return self.summary
        if not self.queries:
            self.abandon()
            raise DataError(f"{self.folder.name}: a split needs at least one query; got none")
        shapes = _shapes(self.queries, self.documents, self.features)
        digest = hashlib.blake2b(digest_size=16)
        for name, file in self._files.items():
            file.seek(0)
            file.write(header(shapes[name], ARRAYS[name]))
            file.flush()
            file.seek(0)
            while piece := file.read(_PIECE):
                digest.update(piece)
            os.fsync(file.fileno())
            file.close()
        self.summary = SplitSummary(self.queries, self.documents, self.features, digest.hexdigest())
        return self.summary

    def abandon(self) -> None:
        """Let the files go, finished or not."""
        for file in self._files.values():
            try:
                file.close()
            except OSError:
                continue  # what cannot be flushed will not be read either

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _write(self, name: str, array: Any) -> None:
        self._files[name].write(np.ascontiguousarray(array, ARRAYS[name]).data)


def open_split(folder: Path, digest: str | None = None, place: Place | None = None) -> Split:
    """A written split as memory maps; `digest` saves computing it again, `place` is where the store has it."""
    arrays = {name: _map(folder / f"{name}.npy") for name in ARRAYS}
    return Split(**arrays, digest=digest, place=place)


def _map(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        memory = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE | _NORESERVE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        return np.ndarray(shape, dtype, memory, file.tell())
