"""The embedded store: one SQLite file, no server. Write-ahead log, full sync, so a commit is on disk when it returns.

Writes go through one connection, guarded by a lock in this process and by SQLite's own between processes; reads have
a connection per thread and never wait for writers. Checkpoints, which would make some commit wait for megabytes of
copying, are done by a thread of their own while a service runs.
"""

import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rankloop.live.errors import StoreError
from rankloop.live.stores.contract import Reader, Store, export_sql
from rankloop.live.stores.file_lease import FileLeases
from rankloop.live.stores.migrations import missing_migrations, newest_version
from rankloop.live.stores.rows import Lease, Reclaimed, Rows, key_columns
from rankloop.live.stores.sqlite_checkpoints import Checkpointer
from rankloop.live.stores.sqlite_transaction import SQLiteTransaction

log = logging.getLogger("rankloop.store")

PAGE_BYTES = 8192
WAIT_MS = 5_000
FULL = "the disk (or the file's size limit) is full; make room, and it goes on by itself"
HANGS = "the disk does not answer; it is retried with the next request"


class SQLiteStore(Store):
    """A log in one file."""

    shared = False

    def __init__(self, path: str | Path, *, background_checkpoints: bool = False) -> None:
        self.path = Path(path)
        self._wal = self.path.with_name(f"{self.path.name}-wal")
        self._leases = FileLeases(self.path.with_name(f"{self.path.name}.lease"))
        self._lock = threading.RLock()
        self._local = threading.local()
        self._connections: dict[sqlite3.Connection, threading.Lock] = {}
        """Each with a lock that is held while it reads: SQLite does not survive being closed in the middle of that."""
        with translated(self.path):
            _make_private(self.path)
            self._write = self._connect()
            self._prepare()
        self._checkpointer: Checkpointer | None = None
        if background_checkpoints:
            _warn_of_readers(self.path)
            self._write.execute("PRAGMA wal_autocheckpoint = 0")
            self._checkpointer = Checkpointer(self._wal, self._connect, self._lock)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    def __str__(self) -> str:
        return str(self.path)

    # Connections

    def _connect(self) -> sqlite3.Connection:
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path.parent} is not a folder; create it first, or give another path")
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=WAIT_MS / 1000)
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        self._connections[connection] = threading.Lock()
        return connection

    def _read(self) -> sqlite3.Connection:
        """This thread's own connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _prepare(self) -> None:
        """Make the tables if the file is new, bring an old format up to date, refuse one from the future."""
        version = self._write.execute("PRAGMA user_version").fetchone()[0]
        if version and not missing_migrations(version, self.path):
            return
        with self._exclusive() as connection:
            # Somebody else may have done it while we waited for the file.
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if not version:
                self._create(connection)
            for migration in missing_migrations(version or 1, self.path):
                for statement in migration.sqlite:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {newest_version()}")

    def _create(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{self.path} is some other program's database; give another path")
        script = files("rankloop.live.stores").joinpath("schema.sql").read_text(encoding="utf-8")
        for statement in script.split(";\n"):
            connection.execute(statement)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The write connection, for one thread of this process; a disk that hangs hangs only whoever writes to it."""
        if not self._lock.acquire(timeout=WAIT_MS / 1000):
            raise StoreError(f"{self.path}: a write of this process has not ended for {WAIT_MS / 1000:g} s: {HANGS}")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _exclusive(self) -> Iterator[sqlite3.Connection]:
        """The write connection in a transaction of its own."""
        with self._held(), translated(self.path):
            self._write.execute("BEGIN IMMEDIATE")
            try:
                yield self._write
                self._write.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._write.execute("ROLLBACK")
                raise

    @contextmanager
    def transaction(self) -> Iterator[SQLiteTransaction]:
        """Hold the log; durable when the block ends."""
        try:
            if self._checkpointer and not self._checkpointer.has_room():
                raise StoreError(f"{self.path}: {FULL}")
            with self._exclusive() as connection:
                held = SQLiteTransaction(connection, self._digests)
                yield held
            self._digests = held.digests
        except StoreError:
            if self._checkpointer:
                self._checkpointer.urge()
            raise
        if self._checkpointer:
            self._checkpointer.consider(held.written)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with translated(self.path):
            connection = self._read()
            with self._connections[connection]:
                return connection.execute(sql, values).fetchall()

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""
        with translated(self.path):
            yield from self._read().execute(export_sql(table))

    def lease(self, name: str) -> Lease | None:
        """Held through a lock on a file beside the database, which the system frees when the process dies."""
        return self._leases.take(name)

    # Keeping a log

    @contextmanager
    def at_one_moment(self) -> Iterator["SQLiteMoment"]:
        with translated(self.path):
            connection = self._connect()
        try:
            yield SQLiteMoment(connection, self.path)
        finally:
            with self._connections.pop(connection):
                connection.close()

    def add_rows(self, frames: Iterable[tuple[str, Rows]]) -> None:
        with self._exclusive() as connection:
            for table, rows in frames:
                key_columns(table)
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def overwrite_deleted(self) -> None:
        """From now on, what is deleted is overwritten in the file."""
        self._write.execute("PRAGMA secure_delete = ON")

    def reclaim(self, *, alone: bool) -> Reclaimed:
        """Rewrite the file, which lets nobody write meanwhile; beside others only its pages are used again."""
        before = self._bytes()
        with translated(self.path):
            if alone:
                self._write.execute("VACUUM")
            # Out of the write-ahead log too; beside a service without making anybody wait.
            self._write.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if alone else 'PASSIVE'})")
        return Reclaimed(alone, max(0, before - self._bytes()))

    def _bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.path, self._wal) if file.exists())

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with its file."""
        lines = [row[0] for row in self._rows("PRAGMA integrity_check(10)")]
        return [] if lines == ["ok"] else [f"the file is damaged: {' '.join(line.split())}" for line in lines]

    def copy_to(self, path: Path) -> bool:
        """SQLite's own online backup: one file, without a write-ahead log beside it."""
        with translated(path), closing(sqlite3.connect(self.path)) as here, closing(sqlite3.connect(path)) as there:
            # In a single step, so that what is written meanwhile does not make it begin again.
            here.backup(there)
            there.execute("PRAGMA journal_mode = DELETE")
            if (answer := there.execute("PRAGMA quick_check").fetchone()[0]) != "ok":
                raise StoreError(f"{self.path} is damaged, so a copy would be too: {answer}")
        return True

    def close(self) -> None:
        """Let go of the file."""
        self._leases.close()
        if self._checkpointer:
            self._checkpointer.stop()
        with suppress(StoreError), self._held():
            for connection, reading in list(self._connections.items()):
                with reading, suppress(sqlite3.Error):
                    connection.close()


class SQLiteMoment(Reader):
    """A SQLite log, read in one transaction on a connection of its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        with translated(path):
            connection.execute("BEGIN")
            self.format: int = connection.execute("PRAGMA user_version").fetchone()[0]
            """The version of its tables."""
        self.last_offset()  # the transaction begins with the first read

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with translated(self._path):
            return self._connection.execute(sql, values).fetchall()

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""
        with translated(self._path):
            yield from self._connection.execute(export_sql(table))


@contextmanager
def opened_copy(path: str | os.PathLike[str]) -> Iterator[SQLiteMoment]:
    """A file that `copy_to` made, for reading: nothing of it is changed, and no file is made beside it."""
    with translated(Path(path)):
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
    with closing(connection):
        yield SQLiteMoment(connection, Path(path))


def _make_private(path: Path) -> None:
    """A new file is its owner's alone: it will hold secrets. SQLite gives the files beside it the same mode."""
    with suppress(OSError):  # it is there, or cannot be made, which SQLite says in its own words
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _warn_of_readers(path: Path) -> None:
    """Say if others may read a file that is there: its mode is its owner's choice, and is left alone."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        log.warning(
            "%s holds signing secrets, and others on this machine may read it (mode %03o); make it yours alone: "
            "chmod 600 %s*", path, mode, path,
        )  # fmt: skip


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. SQLite does not wait here for somebody who is doing the same, so we do."""
    until = time.monotonic() + WAIT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path}: {_sentence(error)}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: {error}; is it a rankloop log?") from error


def _sentence(error: sqlite3.OperationalError) -> str:
    reason = str(error)
    remedies = {
        "locked": "another process holds the database; it is retried with the next request",
        "full": FULL,
        "readonly": "the file or its folder is read-only; give write permission",
        "unable to open": "the file cannot be opened; check the path and its permissions",
        "disk I/O": "the disk refused a write or read (full, or a size limit?); make room, and it goes on by itself",
    }
    remedy = next((text for word, text in remedies.items() if word in reason), None)
    return f"{reason}: {remedy}" if remedy else reason
