"""A log as one file, for any store: lossless, checked, written and read in constant memory.

    rankloop-log 1\\n
    frame*            4 bytes of length (big-endian), then MessagePack: [table, [row, …]]
    last frame        ["end", {table: rows}, BLAKE2b of everything before it]

The first frame is ["header", {…}]. Rows have the columns of the tables in stores/schema.sql, whatever store they are
from. A file that was cut short or changed has no end that fits, and nothing of it is imported.
"""

import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.migrations import newest_version
from rankloop.live.stores.rows import Rows

MAGIC = b"rankloop-log "
FORMAT = 1
ORDER = ("models", "facts", "secrets", "api_keys", "tallies", "open_impressions", "snapshots", "events")
"""Small tables first, so that a glance at the beginning of a file says much."""
ROWS_AT_ONCE = 64
LENGTH = struct.Struct(">I")

Progress = Callable[[int, int], None]
"""Called with (done, total) as a long piece of work goes on."""


def silent(done: int, total: int) -> None:
    """For whoever does not want to know."""


class Header(msgspec.Struct, frozen=True):
    """What a file says of itself.

    Attributes:
        exported: when, in milliseconds since 1970.
        last_offset: the place of the newest event.
        models: names of the models that were not deleted.
        schema: the version of the tables that the rows are from.
    """

    exported: int
    last_offset: int
    models: list[str]
    schema: int


def write_export(store: Reader, path: str | os.PathLike[str], at: int, progress: Progress = silent) -> dict[str, int]:
    """Write the whole store into a file, which appears when it is complete; rows by table.

    The store should be one at a moment (`rankloop.logs.access.at_one_moment`).
    """
    target = Path(path)
    header = Header(at, store.last_offset(), [model.name for model in store.models()], newest_version())
    counts: Counter[str] = Counter()
    with whole_file(target) as file:
        digest = blake2b()
        for piece in (MAGIC + f"{FORMAT}\n".encode(), _frame(["header", msgspec.to_builtins(header)])):
            file.write(piece)
            digest.update(piece)
        for table, rows in frames_of(store, progress):
            piece = _frame([table, rows])
            file.write(piece)
            digest.update(piece)
            counts[table] += len(rows)
        file.write(_frame(["end", dict(counts), digest.digest()]))
    return dict(counts)


def frames_of(store: Reader, progress: Progress = silent) -> Iterator[tuple[str, Rows]]:
    """Everything in a store: (table, some of its rows) one after the other."""
    last = store.last_offset()
    for table in ORDER:
        waiting = iter(store.export_rows(table))
        while rows := list(islice(waiting, ROWS_AT_ONCE)):
            yield table, rows
            if table == "events":
                progress(rows[-1][0], last)


class Exported:
    """A file that was exported, checked from beginning to end when it is opened."""

    def __init__(self, path: str | os.PathLike[str], progress: Progress = silent) -> None:
        self.path = Path(path)
        self.counts: dict[str, int] = {}
        self.header = self._check(progress)

    def frames(self, progress: Progress = silent) -> Iterator[tuple[str, Rows]]:
        """(table, rows) one after the other."""
        for _, name, content in self._read(progress):
            if name not in ("header", "end"):
                yield name, content[1]

    def _check(self, progress: Progress) -> Header:
        digest = blake2b()
        header: Header | None = None
        counts: Counter[str] = Counter()
        ended = False
        for raw, name, content in self._read(progress):
            if ended:
                raise self._broken("something follows its end")
            if name == "header":
                header = msgspec.convert(content[1], Header)
                require_schema(self.path, header.schema)
            elif name == "end":
                ended = True
                if content[1:] != [dict(counts), digest.digest()]:
                    raise self._broken("its contents do not add up to what its end says")
            else:
                counts[name] += len(content[1])
            digest.update(raw)
        if header is None or not ended:
            raise self._broken("it has no end: it was cut short")
        self.counts = dict(counts)
        return header

    def _read(self, progress: Progress) -> Iterator[tuple[bytes, str, list[Any]]]:
        """(raw bytes, name, content) of every frame; the first also carries the file's first line."""
        try:
            with self.path.open("rb") as file:
                total = os.fstat(file.fileno()).st_size
                first = self._first_line(file)
                while length := file.read(LENGTH.size):
                    body = file.read(LENGTH.unpack(length)[0]) if len(length) == LENGTH.size else b""
                    content = self._decoded(body)
                    yield first + length + body, content[0], content
                    first = b""
                    progress(file.tell(), total)
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror or error}") from None

    def _first_line(self, file: IO[bytes]) -> bytes:
        line = file.readline(64)
        if not line.startswith(MAGIC) or not line.endswith(b"\n"):
            raise DataError(f"{self.path} is not a log that rankloop exported")
        version = line.removeprefix(MAGIC).strip()
        if not version.isdigit() or int(version) > FORMAT:
            raise DataError(
                f"{self.path} was exported by a newer rankloop (format {version.decode(errors='replace')}, this one "
                f"reads {FORMAT}); upgrade rankloop"
            )
        return line

    def _decoded(self, body: bytes) -> list[Any]:
        try:
            content = msgspec.msgpack.decode(body, type=list)
            if not content or not isinstance(content[0], str):
                raise self._broken("a part of it is not what was written")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._broken("a part of it cannot be read: it was cut short or changed") from None
        return content

    def _broken(self, why: str) -> DataError:
        return DataError(f"{self.path} is broken, and nothing of it was used: {why}")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when it is complete and on disk; until then what was there stays."""
    # What is in it is as secret as the store.
    with written_whole(path, private=True) as partial, partial.open("wb", 1 << 20) as file:
        yield file


def require_schema(path: Path, version: int) -> None:
    """Refuse rows whose columns are not those of this version's tables."""
    if version != newest_version():
        raise DataError(
            f"{path} holds tables of format {version}, and this rankloop's are of format {newest_version()}; use the "
            f"version of rankloop that wrote it, or (if it is older) serve the log once with this one and export again"
        )


def _frame(content: list[Any]) -> bytes:
    body = msgspec.msgpack.encode(content)
    return LENGTH.pack(len(body)) + body
