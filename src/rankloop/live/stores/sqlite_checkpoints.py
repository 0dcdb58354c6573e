"""Checkpoints beside the writer: what was committed moves from the write-ahead log into the database, in a thread of
its own, so that no commit waits for megabytes of copying."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

CHECKPOINT_BYTES = 16 << 20
COMMIT_BYTES = 3 * 8192
"""What a commit writes beside its events, at least: pages of the tables and indexes are written whole."""

END_SECONDS = 5.0
"""How long the end of the thread is waited for: on a disk that hangs it may never come."""


class Checkpointer:
    """Keeps a write-ahead log from growing: `connect` opens the database, `writer` is held by whoever writes."""

    def __init__(
        self, wal: Path, connect: Callable[[], sqlite3.Connection], writer: AbstractContextManager[Any]
    ) -> None:
        self._connect = connect
        self._writer = writer
        # What an earlier process left there, killed before it could tidy up, counts as written now.
        self._written = wal.stat().st_size if wal.exists() else 0
        self._wanted = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="rankloop-checkpoint", daemon=True)
        self._thread.start()

    def consider(self, written: int) -> None:
        """Called after each commit, with its events' bytes: is it time? (Its size hides it: the file is reused.)"""
        self._written += written + COMMIT_BYTES
        if self._written > CHECKPOINT_BYTES:
            self._written = 0
            self._wanted.set()

    def stop(self) -> None:
        """End the thread; what is left in the write-ahead log is safe there."""
        self._stopped = True
        self._wanted.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        connection = self._connect()
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
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
