"""The embedded store: one SQLite file, no server. Write-ahead log, full sync, so a commit is on disk when it returns.

Writes go through one connection, guarded by a lock in this process and by SQLite's own between processes; reads have
a connection per thread and never wait for writers. Checkpoints, which would make some commit wait for megabytes of
copying, are done by a thread of their own.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankloop.live.errors import StoreError
from rankloop.live.events import Event, Kind
from rankloop.live.stores.contract import ApiKey, Open, Secret, Snapshot, StoredModel, Tally, key_columns
from rankloop.live.stores.file_lease import FileLease
from rankloop.live.stores.migrations import missing_migrations
from rankloop.live.stores.sqlite_checkpoints import Checkpointer
from rankloop.live.stores.sqlite_transaction import SQLiteTransaction

PAGE_BYTES = 8192
WAIT_MS = 5_000

EVENT = "position, model, kind, number, at, client, body"
OPEN = "model, number, shown, at, grp, displacement, clicks"
SNAPSHOT = "model, version, position, at"


class SQLiteStore:
    """A log in one file."""

    shared = False

    def __init__(self, path: str | Path, *, background_checkpoints: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._local = threading.local()
        self._connections: dict[sqlite3.Connection, threading.Lock] = {}
        """Each with a lock that is held while it reads: SQLite does not survive being closed in the middle of that."""
        with translated(self.path):
            self._write = self._connect()
            self._prepare()
        self._checkpointer = self._checkpoints() if background_checkpoints else None

    def _checkpoints(self) -> Checkpointer:
        self._write.execute("PRAGMA wal_autocheckpoint = 0")
        return Checkpointer(self.path.with_name(f"{self.path.name}-wal"), self._connect, self._lock)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    # Connections

    def _connect(self) -> sqlite3.Connection:
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path.parent} is not a folder; make it first, or give another path")
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
        found = self._write.execute("PRAGMA user_version").fetchone()[0]
        if found and not missing_migrations(found, self.path):
            return
        with self._exclusive() as connection:
            # Somebody else may have done it while we waited for the file.
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if not found:
                self._create(connection)
                found = 1
            for migration in missing_migrations(found, self.path):
                for statement in migration.sqlite:
                    connection.execute(statement)
                found += 1
            connection.execute(f"PRAGMA user_version = {found}")

    def _create(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{self.path} is a database of something else; give another path")
        script = files("rankloop.live.stores").joinpath("schema.sql").read_text(encoding="utf-8")
        for statement in script.split(";\n"):
            connection.execute(statement)

    @contextmanager
    def _exclusive(self) -> Iterator[sqlite3.Connection]:
        """The write connection in a transaction of its own."""
        with self._lock, translated(self.path):
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
        with self._exclusive() as connection:
            held = SQLiteTransaction(connection)
            yield held
        if self._checkpointer:
            self._checkpointer.consider(held.written)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with translated(self.path):
            connection = self._read()
            with self._connections[connection]:
                return connection.execute(sql, values).fetchall()

    # The log

    def events(
        self, after: int, limit: int, *, kinds: Sequence[int] | None = None, model: int | None = None
    ) -> list[Event]:
        """Events beyond an offset, in order."""
        where, values = "position > ?", [after]
        if kinds is not None:
            where += f" AND kind IN ({', '.join(str(int(kind)) for kind in kinds)})"
        if model is not None:
            where, values = f"{where} AND model = ?", [after, model]
        rows = self._rows(f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position LIMIT ?", [*values, limit])
        return [Event(*row) for row in rows]

    def event(self, offset: int) -> Event | None:
        """The event at an offset, if it is still there."""
        rows = self._rows(f"SELECT {EVENT} FROM events WHERE position = ?", [offset])
        return Event(*rows[0]) if rows else None

    def last_offset(self) -> int:
        """The newest event's place."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM events")[0][0])

    def open_impression(self, model: int, number: int) -> Open | None:
        """An impression that still waits for clicks."""
        rows = self._rows(f"SELECT {OPEN} FROM open_impressions WHERE model = ? AND number = ?", [model, number])
        return Open(*rows[0]) if rows else None

    def due(self, model: int, before: int, limit: int) -> list[Open]:
        """Open impressions shown before a time, oldest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = ? AND at < ? ORDER BY at, number LIMIT ?"
        return [Open(*row) for row in self._rows(sql, [model, before, limit])]

    def open_count(self, model: int) -> int:
        """How many impressions wait for clicks."""
        return int(self._rows("SELECT count(*) FROM open_impressions WHERE model = ?", [model])[0][0])

    def newest_open(self, model: int, limit: int) -> list[Open]:
        """Open impressions, the newest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = ? ORDER BY at DESC, number DESC LIMIT ?"
        return [Open(*row) for row in self._rows(sql, [model, limit])]

    def newest_closings(self, model: int, limit: int) -> list[Event]:
        """Closings of a model's impressions, the newest first."""
        where = f"model = ? AND kind = {int(Kind.CLOSED)}"
        sql = f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position DESC LIMIT ?"
        return [Event(*row) for row in self._rows(sql, [model, limit])]

    def tallies(self, model: int, since_minute: int = 0, *, span: int = 1, rank: int | None = None) -> list[Tally]:
        """What closed impressions add up to."""
        where, values = "model = ? AND span = ? AND minute >= ?", [model, span, since_minute]
        if rank is not None:
            where, values = f"{where} AND rank = ?", [*values, rank]
        sql = f"SELECT * FROM tallies WHERE {where} ORDER BY minute, grp, rank"
        return [Tally(*row) for row in self._rows(sql, values)]

    def reserve(self, model: int, count: int) -> int:
        """The first of `count` impression numbers that nobody else gets."""
        with self._exclusive() as connection:
            sql = "UPDATE models SET next_number = next_number + ? WHERE id = ? RETURNING next_number"
            rows = connection.execute(sql, [count, model]).fetchall()
        if not rows:
            raise StoreError(f"model {model} is no longer in the store")
        return int(rows[0][0]) - count

    # Models and their states

    def models(self) -> list[StoredModel]:
        """All models that were not deleted."""
        sql = "SELECT id, name, settings, created FROM models WHERE deleted IS NULL ORDER BY id"
        return [StoredModel(*row) for row in self._rows(sql)]

    def newest_snapshot(self, model: int) -> Snapshot | None:
        """The newest state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = ? ORDER BY version DESC LIMIT 1"
        rows = self._rows(sql, [model])
        return Snapshot(*rows[0]) if rows else None

    def newest_versions(self) -> dict[int, tuple[int, int]]:
        """For each model, (version, offset) of its newest snapshot."""
        rows = self._rows("SELECT model, max(version), position FROM snapshots GROUP BY model")
        return {model: (version, position) for model, version, position in rows}

    def snapshot(self, model: int, version: int) -> Snapshot | None:
        """One state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = ? AND version = ?"
        rows = self._rows(sql, [model, version])
        return Snapshot(*rows[0]) if rows else None

    def snapshots(self, model: int) -> list[Snapshot]:
        """All states that are kept, newest first, without the states themselves."""
        sql = f"SELECT {SNAPSHOT}, x'' FROM snapshots WHERE model = ? ORDER BY version DESC"
        return [Snapshot(*row) for row in self._rows(sql, [model])]

    def forget_snapshots(self, model: int, versions: Iterable[int]) -> None:
        """Thin out history."""
        with self._exclusive() as connection:
            sql = "DELETE FROM snapshots WHERE model = ? AND version = ?"
            connection.executemany(sql, [(model, version) for version in versions])

    # Keys and secrets

    def api_keys(self) -> list[ApiKey]:
        """All keys, revoked ones too."""
        return [ApiKey(*row) for row in self._rows("SELECT * FROM api_keys ORDER BY created, name")]

    def add_api_key(self, key: ApiKey) -> bool:
        """Keep a key; False if the name is taken."""
        with self._exclusive() as connection:
            sql = "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            return connection.execute(sql, key).rowcount == 1

    def replace_api_key(self, key: ApiKey) -> None:
        """The same name, another secret."""
        with self._exclusive() as connection:
            connection.execute("INSERT OR REPLACE INTO api_keys VALUES (?, ?, ?, ?, ?)", key)

    def revoke_api_key(self, name: str, at: int) -> bool:
        """No longer accept a key."""
        with self._exclusive() as connection:
            sql = "UPDATE api_keys SET revoked = ? WHERE name = ? AND revoked IS NULL"
            return connection.execute(sql, [at, name]).rowcount == 1

    def secrets(self) -> list[Secret]:
        """Signing secrets, newest first."""
        return [Secret(*row) for row in self._rows("SELECT id, value, created FROM secrets ORDER BY id DESC")]

    def add_secret(self, value: bytes, at: int) -> None:
        """A new secret that signs from now on."""
        with self._exclusive() as connection:
            connection.execute("INSERT INTO secrets (value, created) VALUES (?, ?)", [value, at])

    def drop_secrets(self, before: int) -> int:
        """Forget secrets that were replaced before a time: those with a newer one that is old enough."""
        with self._exclusive() as connection:
            sql = "DELETE FROM secrets WHERE id < (SELECT max(id) FROM secrets WHERE created < ?)"
            return connection.execute(sql, [before]).rowcount

    # Upkeep

    def fact(self, name: str) -> str | None:
        """A small thing to remember about the store."""
        rows = self._rows("SELECT value FROM facts WHERE name = ?", [name])
        return rows[0][0] if rows else None

    def set_fact(self, name: str, value: str) -> None:
        """Remember it, in the place of what was known before."""
        with self._exclusive() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, value])

    def keep_fact(self, name: str, value: str) -> str:
        """Remember it, unless something is known already; what is known from now on."""
        with self._exclusive() as connection:
            connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", [name, value])
            return str(connection.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()[0])

    def lease(self, name: str) -> "FileLease | None":
        """Held through a lock on a file beside the database, which the system frees when the process dies."""
        return FileLease.take(self.path.with_name(f"{self.path.name}.{name}.lease"))

    def erase(self, client: bytes) -> int:
        """Blank the impressions of one person, with their clicks; their places in the log stay."""
        if not client:
            return 0
        with self._exclusive() as connection:
            rows = connection.execute("SELECT DISTINCT model, number FROM events WHERE client = ?", [client]).fetchall()
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS erased (model INTEGER, number INTEGER)")
            connection.execute("DELETE FROM erased")
            connection.executemany("INSERT INTO erased VALUES (?, ?)", rows)
            theirs = "(model, number) IN (SELECT model, number FROM erased)"
            connection.execute(
                f"UPDATE events SET kind = {Kind.ERASED}, client = x'', body = x'' "
                f"WHERE kind IN ({Kind.SHOWN}, {Kind.CLICKED}, {Kind.CLOSED}) AND {theirs}"
            )
            connection.execute(f"DELETE FROM open_impressions WHERE {theirs}")
            return len(rows)

    def drop_events(self, before: int) -> int:
        """Delete events before an offset, but for those of impressions that are still open."""
        with self._exclusive() as connection:
            return connection.execute(
                f"DELETE FROM events WHERE position < ? AND kind <> {Kind.CREATED} "
                "AND position < (SELECT max(position) FROM events) AND NOT EXISTS (SELECT 1 FROM "
                "open_impressions o WHERE o.model = events.model AND o.number = events.number)",
                [before],
            ).rowcount

    def import_rows(self, table: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add rows of an exported log."""
        count = 0
        key_columns(table)
        with self._exclusive() as connection:
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
                count += 1
        return count

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""
        with translated(self.path):
            yield from self._read().execute(f"SELECT * FROM {table} ORDER BY {key_columns(table)}")

    def close(self) -> None:
        """Let go of the file."""
        if self._checkpointer:
            self._checkpointer.stop()
        with self._lock:
            for connection, reading in list(self._connections.items()):
                with reading, suppress(sqlite3.Error):
                    connection.close()


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
    told = str(error)
    remedies = {
        "locked": "another process holds the database; it is retried with the next request",
        "full": "the disk (or the file's size limit) is full; make room, and it goes on by itself",
        "readonly": "the file or its folder is read-only; give write permission",
        "unable to open": "the file cannot be opened; check the path and its permissions",
        "disk I/O": "the disk refused a write or read (full, or a size limit?); make room, and it goes on by itself",
    }
    remedy = next((text for word, text in remedies.items() if word in told), None)
    return f"{told}: {remedy}" if remedy else told
