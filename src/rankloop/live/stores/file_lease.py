"""Leases beside a database file, through locks that the system frees when their process dies."""

import fcntl
from pathlib import Path
from typing import IO

from rankloop.live.errors import StoreError


class FileLease:
    """An exclusive lock on a file, held by one process at a time."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    @classmethod
    def take(cls, path: Path) -> "FileLease | None":
        """The lease, or None if somebody else holds it."""
        try:
            path.touch(0o600)
            file = path.open("w", encoding="ascii")
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error.strerror}); the learner needs it as its lock") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return cls(file)

    def alive(self) -> bool:
        """A file lock lasts until it is let go of, or its process dies."""
        return not self._file.closed

    def release(self) -> None:
        """Let somebody else have it."""
        self._file.close()
