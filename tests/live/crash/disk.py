"""A disk that can be looked at: a service whose every write, sync and answer is written down, in order.

    python disk.py TRACE serve LOG --port …

hooks into SQLite's own layer for files (its VFS), so that it needs no privileges, no tracer and no compiler, and into
the answers of the service. From the record a disk can be built as it would have been had the power failed at any
moment: what was synced is there, what was not may be there, in part, or not at all. And it can be made to fail: while
there is a file `fault` in the working folder, every write is refused with the SQLite error code written in it.
"""

import ctypes
import os
import random
import struct
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

SECTOR = 512
"""What a disk writes as a whole, at least."""
CHECKPOINT_BYTES = 15_000
"""Checkpoints come after 16 MB in life; here soon enough to be among what is looked at."""

FAULT = Path("fault")

WRITE, TRUNCATE, SYNC_BEGINS, SYNC_ENDS, ANSWER = range(5)
HEAD = struct.Struct("<BBQI")


class Record(NamedTuple):
    """Something that happened, in the order in which it was finished."""

    kind: int
    file: int
    """0: the database, 1: its write-ahead log; for an answer, the status's first digit."""
    offset: int
    """Where it was written, the size truncated to, or the number of the sync."""
    data: bytes


# In the service's process


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, as far as all versions have it."""

    _fields_ = [
        ("version", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("close", "read", "write", "truncate", "sync")),
        ("rest", ctypes.c_void_p * 13),
    ]


class _File(ctypes.Structure):
    _fields_ = [("methods", ctypes.POINTER(_Methods))]


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, up to what is hooked."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("version", "file_bytes", "path_bytes")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data", "open")),
    ]


_int, _long, _pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_Open = ctypes.CFUNCTYPE(_int, _pointer, _pointer, ctypes.POINTER(_File), _int, _pointer)
_Write = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _int, _long)
_Truncate = ctypes.CFUNCTYPE(_int, _pointer, _long)
_Sync = ctypes.CFUNCTYPE(_int, _pointer, _int)


class Watched:
    """The disk of this process, from now on."""

    def __init__(self, trace: Path) -> None:
        self._trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._syncs = count()
        self._files: dict[int, int] = {}
        self._kept: list[Any] = []
        """Hooks and tables that SQLite holds pointers to."""
        self._tables: dict[int, Any] = {}
        library = ctypes.CDLL(_loaded_library())
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        vfs = library.sqlite3_vfs_find(None).contents
        original = _Open(vfs.open)

        def opened(vfs: int, place: int | None, file: Any, flags: int, out: int) -> int:
            code = original(vfs, place, file, flags, out)
            name = ctypes.string_at(place) if place else b""
            if code == 0 and name.endswith((b".db", b".db-wal")):
                self._files[ctypes.addressof(file.contents)] = int(name.endswith(b"-wal"))
                file.contents.methods = self._watched(file.contents.methods)
            return code

        hook = _Open(opened)
        self._kept += [original, hook]
        vfs.open = ctypes.cast(hook, _pointer)

    def record(self, kind: int, file: int, offset: int, data: bytes = b"") -> None:
        """One more thing that has happened. A single write to the end of the trace: threads cannot mix theirs."""
        os.write(self._trace, HEAD.pack(kind, file, offset, len(data)) + data)

    def _watched(self, methods: Any) -> Any:
        """A copy of a kind of file's methods, with ours in the place of those that change it."""
        place = ctypes.addressof(methods.contents)
        if place not in self._tables:
            table = _Methods.from_buffer_copy(methods.contents)
            hooks = self._hooks(_Write(table.write), _Truncate(table.truncate), _Sync(table.sync))
            table.write, table.truncate, table.sync = (ctypes.cast(hook, _pointer) for hook in hooks)
            self._kept += [table, *hooks]
            self._tables[place] = self._tables[ctypes.addressof(table)] = ctypes.pointer(table)
        return self._tables[place]

    def _hooks(self, really_write: Any, really_truncate: Any, really_sync: Any) -> tuple[Any, Any, Any]:
        numbers = self._syncs

        def write(file: int, data: int, length: int, offset: int) -> int:
            try:
                return int(str(FAULT.readlink()))  # unlike a file, a link is never there without its content
            except FileNotFoundError:
                pass
            code = really_write(file, data, length, offset)
            self.record(WRITE, self._files[file], offset, ctypes.string_at(data, length))
            return code

        def truncate(file: int, size: int) -> int:
            code = really_truncate(file, size)
            self.record(TRUNCATE, self._files[file], size)
            return code

        def sync(file: int, flags: int) -> int:
            # Only what was finished before it began is sure to be covered.
            number = next(numbers)
            self.record(SYNC_BEGINS, self._files[file], number)
            code = really_sync(file, flags)
            if code == 0:
                self.record(SYNC_ENDS, self._files[file], number)
            return code

        return _Write(write), _Truncate(truncate), _Sync(sync)

    def answers_of(self, app: Any) -> Any:
        """An ASGI application whose answers are written down before they leave."""

        async def witnessed(scope: Any, receive: Any, send: Any) -> None:
            status = 0

            async def sending(message: Any) -> None:
                nonlocal status
                status = message.get("status", status)
                if message["type"] == "http.response.body" and scope["method"] == "POST":
                    self.record(ANSWER, status // 100, 0, scope["path"].encode() + b"\n" + message.get("body", b""))
                await send(message)

            await app(scope, receive, sending if scope["type"] == "http" else send)

        return witnessed


def _loaded_library() -> str | None:
    """The SQLite that Python itself uses: a library that it has loaded, or a part of its own."""
    import sqlite3  # noqa: F401  (loads it)

    lines = Path("/proc/self/maps").read_text().splitlines()
    return next((line.split()[-1] for line in lines if "libsqlite3" in line), None)


def main() -> None:
    """Serve from a watched disk."""
    import uvicorn

    from rankloop.cli import main as rankloop
    from rankloop.live.stores import sqlite_checkpoints

    disk = Watched(Path(sys.argv[1]))
    sqlite_checkpoints.CHECKPOINT_BYTES = CHECKPOINT_BYTES
    configured = uvicorn.Config
    uvicorn.Config = lambda app, **options: configured(disk.answers_of(app), **options)  # type: ignore
    rankloop(sys.argv[2:])


# In the test


def read(trace: Path) -> list[Record]:
    """What has happened, in order."""
    return list(_records(trace.read_bytes()))


def _records(raw: bytes) -> Iterator[Record]:
    place = 0
    while place + HEAD.size <= len(raw):
        kind, file, offset, length = HEAD.unpack_from(raw, place)
        place += HEAD.size
        yield Record(kind, file, offset, raw[place : place + length])
        place += length


def after_power_failure(
    records: list[Record], before: bytes, rng: random.Random, *, kept: float
) -> tuple[bytes, bytes]:
    """(database, write-ahead log) as a disk may have them whose power failed after these records.

    `before` is the database as it was, safely, before the first of them. What a finished sync covers is there; of the
    rest each change is there with probability `kept`, and half of these writes are there only in part.
    """
    images = [bytearray(before), bytearray()]
    covered = [0, 0]
    began: dict[int, int] = {}
    for place, record in enumerate(records):
        if record.kind == SYNC_BEGINS:
            began[record.offset] = place
        elif record.kind == SYNC_ENDS:
            covered[record.file] = max(covered[record.file], began[record.offset])
    for place, record in enumerate(records):
        if record.kind in (WRITE, TRUNCATE):
            safe = place < covered[record.file]
            if safe or rng.random() < kept:
                _change(images[record.file], record, rng if not safe else None)
    return bytes(images[0]), bytes(images[1])


def _change(image: bytearray, record: Record, rng: random.Random | None) -> None:
    if record.kind == TRUNCATE:
        del image[record.offset :]
        image.extend(bytes(record.offset - len(image)))
        return
    torn = rng is not None and rng.random() < 0.5
    begin = record.offset
    end = record.offset + len(record.data)
    while begin < end:
        until = min(end, (begin // SECTOR + 1) * SECTOR)
        if not torn or (rng is not None and rng.random() < 0.5):
            if len(image) < until:
                image.extend(bytes(until - len(image)))
            image[begin:until] = record.data[begin - record.offset : until - record.offset]
        begin = until


if __name__ == "__main__":
    main()
