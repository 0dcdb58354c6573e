"""Checkpoints beside the writer: what was committed moves from the write-ahead log into the database, in a thread of
its own, so that no commit waits for megabytes of copying."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

CHECKPOINT_BYTES = 16 << 20
COMMIT_BYTES = 3 * 8192
"""What a commit writes beside its events, at least: pages of the tables and indexes are written whole."""

READERS_MS = 100
"""How long a writer whose disk is full waits for readers before it gives up on shortening the file this time."""
END_SECONDS = 5.0
"""How long the end of the thread is waited for: on a disk that hangs it may never come."""


class Checkpointer:
    """Keeps a write-ahead log from growing: `connect` opens the database, `writer` is held by whoever writes."""

    def __init__(
        self, wal: Path, connect: Callable[[], sqlite3.Connection], writer: AbstractContextManager[Any]
    ) -> None:
        self._folder = wal.parent
        self._connect = connect
        self._writer = writer
        # What an earlier process left there, killed before it could tidy up, counts as written now.
        self._written = wal.stat().st_size if wal.exists() else 0
        self._unmoved = self._written
        """Written since the last checkpoint that moved everything."""
        self._wanted = threading.Event()
        self._tight = False
        """Whether a write has failed since the last checkpoint: then the file is shortened, for every byte counts."""
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="rankloop-checkpoint", daemon=True)
        self._thread.start()

    def consider(self, written: int) -> None:
        """Called after each commit, with its events' bytes: is it time? (Its size hides it: the file is reused.)

        What is written must still fit into the database, so on a small disk the time comes sooner.
        """
        self._written += written + COMMIT_BYTES
        self._unmoved += written + COMMIT_BYTES
        if self._written > min(CHECKPOINT_BYTES, free_bytes(self._folder) // 2):
            self._written = 0
            self._wanted.set()

    def has_room(self) -> bool:
        """Whether what is in the write-ahead log would fit into the database: if not, it must not grow, or there would
        be no way out of a full disk but to make as much room again as it takes."""
        return free_bytes(self._folder) >= self._unmoved

    def urge(self) -> None:
        """Called after a write that failed: perhaps for want of the room that the write-ahead log takes."""
        self._tight = True
        self._wanted.set()

    def stop(self) -> None:
        """End the thread; what is left in the write-ahead log is safe there."""
        self._stopped = True
        self._wanted.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        connection = self._connect()
        connection.execute(f"PRAGMA busy_timeout = {READERS_MS}")
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopped:
                return
            with suppress(sqlite3.Error):
                # First beside the writer, which copies nearly everything; again, for what came meanwhile; then the
                # little that is left, with the writer held, so that its next commit can begin the file anew.
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                with self._writer:
                    tight, self._tight = self._tight, False
                    found = connection.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if tight else 'PASSIVE'})")
                    busy, written, moved = found.fetchone()
                    if not busy and written == moved:
                        self._unmoved = 0


def free_bytes(folder: Path) -> int:
    """What is left of the disk for this user."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
