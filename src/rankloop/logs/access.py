"""What keeping a log needs of a store beyond the contract, which is made for serving: everything at one moment, and
several tables changed together. Only this file knows how each kind of store does that.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankloop.errors import SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.events import Kind
from rankloop.live.stores import SQLiteStore, open_store
from rankloop.live.stores.contract import Store, StoredModel, key_columns
from rankloop.live.stores.sqlite import translated

Rows = Sequence[Sequence[Any]]

COMPACTED = "compacted"
"""The fact that holds the offset below which events may be missing, because they were deleted on purpose."""


def is_shared(address: str | Path) -> bool:
    """Whether an address is that of a server rather than a file.

    >>> is_shared("shop.db"), is_shared("postgresql://localhost/shop")
    (False, True)
    """
    return str(address).startswith(("postgresql://", "postgres://"))


@contextmanager
def existing(address: str | Path) -> Iterator[Store]:
    """The store at an address; a file that is not there is a mistake, and is not made."""
    _require_there(address)
    store = open_store(address)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def at_one_moment(address: str | Path) -> Iterator[Store]:
    """The store as it is now, for reading, whatever is written meanwhile; nobody waits for the reader.

    Every answer comes from one transaction. For use in one thread.
    """
    _require_there(address)
    store: Store = _postgres_moment(str(address)) if is_shared(address) else _SQLiteMoment(address)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def held(store: Store) -> Iterator[Callable[[str], int]]:
    """Hold the log and run statements together, all or none; each gives the number of rows it touched."""
    if isinstance(store, SQLiteStore):
        with store._exclusive() as connection:
            yield lambda sql: connection.execute(sql).rowcount
    else:
        with store._server.exclusive() as (shared, _):  # type: ignore[attr-defined]
            yield lambda sql: shared.execute(sql).rowcount


def load(store: Store, frames: Iterable[tuple[str, Rows]]) -> None:
    """Add rows to several tables, all or none."""
    if isinstance(store, SQLiteStore):
        with store._exclusive() as connection:
            for table, rows in frames:
                key_columns(table)
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return
    with store._server.exclusive() as (shared, _), shared.cursor() as cursor:  # type: ignore[attr-defined]
        for table, rows in frames:
            key_columns(table)
            described = cursor.execute(f"SELECT * FROM {table} LIMIT 0").description
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types([column.type_code for column in described])
                for row in rows:
                    copy.write_row(row)


def forget_thoroughly(store: Store) -> None:
    """From now on, what this store deletes is overwritten rather than left in the file for whoever looks closely.

    A server does that when it vacuums.
    """
    if isinstance(store, SQLiteStore):
        store._write.execute("PRAGMA secure_delete = ON")


def reclaim(store: Store, *, alone: bool) -> bool:
    """Let the room of deleted rows be used again; whether the disk got it back.

    SQLite rewrites its file for that and lets nobody write meanwhile, so only for somebody who is alone with the log;
    a server keeps the room for new rows.
    """
    if not isinstance(store, SQLiteStore):
        with store._server.translated(), store._server.connect() as connection:  # type: ignore[attr-defined]
            connection.execute("VACUUM (ANALYZE) events, open_impressions, snapshots, tallies")
        return False
    with translated(store.path):
        if alone:
            store._write.execute("VACUUM")
        # Out of the write-ahead log too; beside a service without making anybody wait.
        store._write.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if alone else 'PASSIVE'})")
    return alone


def erased_events(store: Store) -> dict[int, int]:
    """How many events of each model were erased."""
    sql = f"SELECT model, count(*) FROM events WHERE kind = {int(Kind.ERASED)} GROUP BY model"
    return dict(store._rows(sql))  # type: ignore[attr-defined]


def nobody_learns(store: Store, models: Iterable[StoredModel]) -> bool:
    """Whether no process holds the lease of any of these models."""
    leases = [store.lease(f"model-{model.id}") for model in models]
    for lease in leases:
        if lease is not None:
            lease.release()
    return all(lease is not None for lease in leases)


@contextmanager
def upkeep_lease(store: Store) -> Iterator[None]:
    """One upkeep of a log at a time: what one deletes, another must not be reading."""
    lease = store.lease("upkeep")
    if lease is None:
        raise StoreError(f"{store!r}: another upkeep of this log is running; wait until it has ended")
    try:
        yield
    finally:
        lease.release()


def find_model(store: Store, name: str) -> StoredModel:
    """A model by name; refused with the names there are."""
    models = store.models()
    found = next((model for model in models if model.name == name), None)
    if found is None:
        there = ", ".join(model.name for model in models) or "none at all"
        raise SettingsError(f"model: there is no model {name!r} in this log; there is {there}")
    return found


class _SQLiteMoment(SQLiteStore):
    """A SQLite store whose reads are one transaction, begun by the first."""

    def _read(self) -> sqlite3.Connection:
        connection = super()._read()
        if not connection.in_transaction:
            connection.execute("BEGIN")
        return connection


def _postgres_moment(address: str) -> Store:
    from rankloop.live.stores.postgres import PostgresStore

    class PostgresMoment(PostgresStore):
        """A PostgreSQL store whose reads are one transaction."""

        def __init__(self, address: str) -> None:
            super().__init__(address)
            self._moment = self._server.connect()
            self._moment.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._moment.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            self._rows = self._at_that_moment

        def _at_that_moment(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
            with self._server.translated():
                return self._moment.cursor(binary=True).execute(sql, values).fetchall()

        def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
            """All rows of a table, a few at a time."""
            where = "WHERE name <> 'schema'" if table == "facts" else ""
            with self._server.translated(), self._moment.cursor(f"export_{table}", binary=True) as cursor:
                cursor.itersize = 64
                yield from cursor.execute(f"SELECT * FROM {table} {where} ORDER BY {key_columns(table)}")

        def close(self) -> None:
            """Let go of the moment and the server."""
            self._moment.close()
            super().close()

    return PostgresMoment(address)


def _require_there(address: str | Path) -> None:
    if not is_shared(address) and not Path(address).is_file():
        raise SettingsError(f"log: there is no log at {address}; give the file of a service, or postgresql://…")
