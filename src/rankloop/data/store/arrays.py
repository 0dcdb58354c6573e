"""A split on disk: four .npy files, written as a stream and opened as memory maps.

The files are ordinary NumPy arrays that any tool can read. They are mapped copy-on-write: processes
share the pages, the files never change, and Numba sees one plain, writable, contiguous array type
(a read-only array would be another one, and would compile every kernel again).
"""

import hashlib
import mmap
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.collection import Split
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
        lengths = {
            "features": self.documents * self.features,
            "offsets": self.queries + 1,
            "grades": self.documents,
            "query_ids": self.queries,
        }
        return {name: HEADER + n * ARRAYS[name].itemsize for name, n in lengths.items()}


class SplitWriter:
    """Writes a split, block by block, into a folder.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "train"
    >>> with SplitWriter(folder, features=2) as writer:
    ...     writer.add([7], [0, 1], np.ones((1, 2), np.float32), np.zeros(1, np.uint8))
    ...     writer.add([9], [0, 2], np.ones((2, 2), np.float32), np.ones(2, np.uint8))
    >>> open_split(folder)
    Split(2 queries, 3 documents, 2 features)
    """

    def __init__(self, folder: Path, features: int) -> None:
        self.folder, self.features = folder, features
        self.queries = self.documents = 0
        self.summary: SplitSummary | None = None
        folder.mkdir(parents=True)
        self._files = {name: (folder / f"{name}.npy").open("w+b") for name in ARRAYS}
        for file in self._files.values():
            file.write(bytes(HEADER))
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
        if width > self.features:
            raise DataError(f"a block has {width} features; the split has {self.features}")
        if width < self.features:
            features = np.pad(features, ((0, 0), (0, self.features - width)))
        self._write("features", features)
        self._write("offsets", starts[1:] + self.documents)
        self._write("grades", grades)
        self._write("query_ids", query_ids)
        self.queries += len(query_ids)
        self.documents += documents

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

    def close(self) -> None:
        """Write the headers; only now are the files arrays."""
        if self.summary is not None:
            return
        if not self.queries:
            self.abandon()
            raise DataError(f"{self.folder.name}: a split needs at least one query; got none")
        shapes: dict[str, tuple[int, ...]] = {
            "features": (self.documents, self.features),
            "offsets": (self.queries + 1,),
            "grades": (self.documents,),
            "query_ids": (self.queries,),
        }
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

    def abandon(self) -> None:
        """Let the files go, finished or not."""
        for file in self._files.values():
            try:
                file.close()
            except OSError:
                continue  # what cannot be flushed will not be read either

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _write(self, name: str, array: Any) -> None:
        self._files[name].write(np.ascontiguousarray(array, ARRAYS[name]).data)


def open_split(folder: Path, digest: str | None = None) -> Split:
    """A written split as memory maps; `digest` saves computing it again."""
    arrays = {name: _map(folder / f"{name}.npy") for name in ARRAYS}
    return Split(**arrays, digest=digest)


def _map(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        memory = mmap.mmap(
            file.fileno(),
            0,
            flags=mmap.MAP_PRIVATE | _NORESERVE,
            prot=mmap.PROT_READ | mmap.PROT_WRITE,
        )
        return np.ndarray(shape, dtype, memory, file.tell())
