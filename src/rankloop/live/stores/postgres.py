"""The shared store: a PostgreSQL database, where many processes rank and one at a time learns for each model.

The log is held with an advisory lock that ends with its transaction, so offsets are given out and committed in one
order across all processes, and readers never see a gap. Leases are advisory locks of a session: the server frees them
when the connection breaks, whatever happened to the process. Both need real sessions: a pooler in between (PgBouncer)
must run in session mode, and the database is best rankloop's own.

A commit is synchronous whatever the server's default is. A server that runs with `fsync = off` can still lose what it
confirmed when its machine fails; that is its administrator's choice, and is only warned about.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.resources import files
from typing import Any

from rankloop.live.errors import StoreError
from rankloop.live.stores.contract import Reader, Store, export_sql
from rankloop.live.stores.migrations import missing_migrations, newest_version
from rankloop.live.stores.postgres_connections import Connection, Marked, Server, fetch
from rankloop.live.stores.postgres_leases import PostgresLeases
from rankloop.live.stores.postgres_transaction import PostgresTransaction
from rankloop.live.stores.rows import Lease, Reclaimed, Rows, key_columns
from rankloop.live.stores.transaction import NEXT_OFFSET

log = logging.getLogger("rankloop.store")

EXPORTED = 64
"""Rows that an export asks for at a time; with the largest bodies that is a few megabytes."""


class PostgresStore(Store):
    """A log in a PostgreSQL database."""

    shared = True

    def __init__(self, address: str, *, serving: bool = False) -> None:
        self._server = Server(address, patient=not serving)
        self._leases = PostgresLeases(self._server)
        self._prepare()

    def __repr__(self) -> str:
        return f"PostgresStore({str(self._server)!r})"

    def __str__(self) -> str:
        return str(self._server)

    def _prepare(self) -> None:
        """Make the tables if the database is new, bring an old format up to date, refuse one from the future."""
        if self._rows("SHOW fsync")[0][0] == "off":
            log.warning("%s runs with fsync = off: a power failure can lose what was acknowledged", self._server)
        version = self._version()
        if version and not missing_migrations(version, self._server):
            return
        with self._server.exclusive() as (connection, _):
            # Somebody else may have done it while we waited for the log.
            version = self._version()
            if not version:
                schema = files("rankloop.live.stores").joinpath("schema_postgres.sql").read_text(encoding="utf-8")
                connection.execute(schema)
            for migration in missing_migrations(version or 1, self._server):
                for statement in migration.postgres:
                    connection.execute(statement)
            connection.execute("UPDATE facts SET value = %s WHERE name = 'schema'", [str(newest_version())])

    def _version(self) -> int:
        """The format of what is there; 0 if nothing is."""
        if self._rows("SELECT to_regclass('facts')")[0][0] is None:
            return 0
        version = self.fact("schema")
        if version is None or not version.isdigit():
            raise StoreError(f"{self._server} holds a table `facts` that is not rankloop's; give it another database")
        return int(version)

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """Hold the log; durable when the block ends."""
        with self._server.exclusive(NEXT_OFFSET) as (connection, (next_offset,)):
            held = PostgresTransaction(connection, self._digests, next_offset)
            yield held
        self._digests = held.digests

    @contextmanager
    def _exclusive(self) -> Iterator[Marked]:
        with self._server.exclusive() as (connection, _):
            yield Marked(connection)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._server.rows(sql, values)

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key; a table of any size, a few rows at a time."""
        with self._server.translated(), self._server.connect() as connection, connection.transaction():
            yield from _streamed(connection, table)

    def lease(self, name: str) -> Lease | None:
        """Held through an advisory lock of a session, which the server frees when the connection breaks."""
        return self._leases.take(name)

    # Keeping a log

    @contextmanager
    def at_one_moment(self) -> Iterator["PostgresMoment"]:
        with closing(self._server.connect()) as connection:
            yield PostgresMoment(connection, self._server)

    def add_rows(self, frames: Iterable[tuple[str, Rows]]) -> None:
        with self._server.exclusive() as (connection, _), connection.cursor() as cursor:
            for table, rows in frames:
                key_columns(table)
                described = cursor.execute(f"SELECT * FROM {table} LIMIT 0").description or []
                with cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types([column.type_code for column in described])
                    for row in rows:
                        copy.write_row(row)

    def reclaim(self, *, alone: bool) -> Reclaimed:
        """A server keeps the room for new rows, whoever is there."""
        with self._server.translated(), self._server.connect() as connection:
            connection.execute("VACUUM (ANALYZE) events, open_impressions, snapshots, tallies")
        return Reclaimed(shrunk=False, freed_bytes=0)

    def close(self) -> None:
        """Let go of the server."""
        self._leases.close()
        self._server.close()


class PostgresMoment(Reader):
    """A server's log, read in one transaction on a connection of its own."""

    def __init__(self, connection: Connection, server: Server) -> None:
        self._connection, self._server = connection, server
        with server.translated():
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        self.last_offset()  # the moment is that of the first read

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._server.translated():
            return fetch(self._connection, sql, values)

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, a few at a time."""
        with self._server.translated():
            yield from _streamed(self._connection, table)


def _streamed(connection: Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Within a transaction, however long whoever reads takes for it."""
    sql = export_sql(table)
    connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    with connection.cursor(f"export_{table}", binary=True) as cursor:
        cursor.itersize = EXPORTED
        yield from cursor.execute(sql)
