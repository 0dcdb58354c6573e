"""Leases beside a database file, through locks that the system frees when their process dies.

All leases of a log share one file, a byte each: five hundred models must not take five hundred of the files that a
process may open, which are what its connections are made of.
"""

import errno
import fcntl
import os
import struct
import threading
from hashlib import blake2b
from pathlib import Path

from rankloop.live.errors import StoreError
from rankloop.live.stores.rows import Lease


class FileLeases:
    """All leases of a store: locks, each on one byte of an open file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file: int | None = None
        self._held: dict[str, Lease] = {}

    def take(self, name: str) -> Lease | None:
        """The lease, or None if somebody else holds it."""
        with self._lock:
            if name in self._held:
                return None
            if self._file is None:
                self._file = self._open()
            if not _set(self._file, fcntl.F_WRLCK, _byte_of(name)):
                return None
            self._held[name] = Lease(self, name)
            return self._held[name]

    def holds(self, lease: Lease) -> bool:
        """Whether it is still held."""
        with self._lock:
            return self._held.get(lease.name) is lease

    def release(self, lease: Lease) -> None:
        """Let somebody else have it."""
        with self._lock:
            if self._held.get(lease.name) is lease and self._file is not None:
                del self._held[lease.name]
                _set(self._file, fcntl.F_UNLCK, _byte_of(lease.name))

    def close(self) -> None:
        """Let go of all of them."""
        with self._lock:
            self._held.clear()
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be written ({error.strerror}); the learner needs it as its lock"
            ) from None


def _byte_of(name: str) -> int:
    """Which byte stands for a name; far beyond the file's end, which locks may be."""
    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big")


def _set(file: int, kind: int, byte: int) -> bool:
    """Set or clear a lock; whether nobody else was in the way.

    On Linux it belongs to the open file, so that two stores in one process exclude each other too. Elsewhere it belongs
    to the process.
    """
    try:
        if hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, byte, 1, 0))
        else:
            how = fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.lockf(file, how, 1, byte)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise StoreError(f"the file of leases cannot be locked ({error.strerror})") from None
    return True
