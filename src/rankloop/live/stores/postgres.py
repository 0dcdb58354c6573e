"""The shared store: a PostgreSQL database, where many processes rank and one at a time learns for each model.

The log is held with an advisory lock that ends with its transaction, so offsets are given out and committed in one
order across all processes, and readers never see a gap. Leases are advisory locks of a session: the server frees them
when the connection breaks, whatever happened to the process. Both need real sessions: a pooler in between (PgBouncer)
must run in session mode, and the database is best rankloop's own.

A commit is synchronous whatever the server's default is. A server that runs with `fsync = off` can still lose what it
confirmed when its machine fails; that is its administrator's choice, and is only warned about.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import psycopg

from rankloop.live.errors import StoreError
from rankloop.live.events import Event, Kind
from rankloop.live.stores.contract import ApiKey, Open, Secret, Snapshot, StoredModel, Tally, key_columns
from rankloop.live.stores.migrations import missing_migrations
from rankloop.live.stores.postgres_connections import Connection, Server
from rankloop.live.stores.postgres_transaction import NEXT_OFFSET, PostgresTransaction

log = logging.getLogger("rankloop.store")

EVENT = "position, model, kind, number, at, client, body"
OPEN = "model, number, shown, at, grp, displacement, clicks"
SNAPSHOT = "model, version, position, at"
EXPORTED = 64
"""Rows that an export asks for at a time; with the largest bodies that is a few megabytes."""


class PostgresStore:
    """A log in a PostgreSQL database."""

    shared = True

    def __init__(self, address: str) -> None:
        self._server = Server(address)
        self._rows = self._server.rows
        self._leases = _Leases(self._server)
        self._prepare()

    def __repr__(self) -> str:
        return f"PostgresStore({str(self._server)!r})"

    def _prepare(self) -> None:
        """Make the tables if the database is new, bring an old format up to date, refuse one from the future."""
        if self._rows("SHOW fsync")[0][0] == "off":
            log.warning("%s runs with fsync = off: a power failure can lose what was acknowledged", self._server)
        found = self._version()
        if found and not missing_migrations(found, self._server):
            return
        with self._server.exclusive() as (connection, _):
            # Somebody else may have done it while we waited for the log.
            found = self._version()
            if not found:
                schema = files("rankloop.live.stores").joinpath("schema_postgres.sql").read_text(encoding="utf-8")
                connection.execute(schema)
                found = 1
            for migration in missing_migrations(found, self._server):
                for statement in migration.postgres:
                    connection.execute(statement)
                found += 1
            connection.execute("UPDATE facts SET value = %s WHERE name = 'schema'", [str(found)])

    def _version(self) -> int:
        """The format of what is there; 0 if nothing is."""
        if self._rows("SELECT to_regclass('facts')")[0][0] is None:
            return 0
        found = self.fact("schema")
        if found is None or not found.isdigit():
            raise StoreError(f"{self._server} holds a table `facts` that is not rankloop's; give it another database")
        return int(found)

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """Hold the log; durable when the block ends."""
        with self._server.exclusive(NEXT_OFFSET) as (connection, (next_offset,)):
            yield PostgresTransaction(connection, next_offset)

    def _change(self, sql: str, values: Sequence[Any]) -> int:
        """One statement in a transaction of its own; how many rows it changed."""
        with self._server.exclusive() as (connection, _):
            return connection.execute(sql, values).rowcount

    # The log

    def events(
        self, after: int, limit: int, *, kinds: Sequence[int] | None = None, model: int | None = None
    ) -> list[Event]:
        """Events beyond an offset, in order."""
        where, values = "position > %s", [after]
        if kinds is not None:
            where += f" AND kind = ANY('{{{', '.join(str(int(kind)) for kind in kinds)}}}'::bigint[])"
        if model is not None:
            where, values = f"{where} AND model = %s", [after, model]
        rows = self._rows(f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position LIMIT %s", [*values, limit])
        return [Event(*row) for row in rows]

    def event(self, offset: int) -> Event | None:
        """The event at an offset, if it is still there."""
        rows = self._rows(f"SELECT {EVENT} FROM events WHERE position = %s", [offset])
        return Event(*rows[0]) if rows else None

    def last_offset(self) -> int:
        """The newest event's place."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM events")[0][0])

    def open_impression(self, model: int, number: int) -> Open | None:
        """An impression that still waits for clicks."""
        rows = self._rows(f"SELECT {OPEN} FROM open_impressions WHERE model = %s AND number = %s", [model, number])
        return Open(*rows[0]) if rows else None

    def due(self, model: int, before: int, limit: int) -> list[Open]:
        """Open impressions shown before a time, oldest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = %s AND at < %s ORDER BY at, number LIMIT %s"
        return [Open(*row) for row in self._rows(sql, [model, before, limit])]

    def open_count(self, model: int) -> int:
        """How many impressions wait for clicks."""
        return int(self._rows("SELECT count(*) FROM open_impressions WHERE model = %s", [model])[0][0])

    def newest_open(self, model: int, limit: int) -> list[Open]:
        """Open impressions, the newest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = %s ORDER BY at DESC, number DESC LIMIT %s"
        return [Open(*row) for row in self._rows(sql, [model, limit])]

    def newest_closings(self, model: int, limit: int) -> list[Event]:
        """Closings of a model's impressions, the newest first."""
        where = f"model = %s AND kind = {int(Kind.CLOSED)}"
        sql = f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position DESC LIMIT %s"
        return [Event(*row) for row in self._rows(sql, [model, limit])]

    def tallies(self, model: int, since_minute: int = 0, *, span: int = 1, rank: int | None = None) -> list[Tally]:
        """What closed impressions add up to."""
        where, values = "model = %s AND span = %s AND minute >= %s", [model, span, since_minute]
        if rank is not None:
            where, values = f"{where} AND rank = %s", [*values, rank]
        sql = f"SELECT * FROM tallies WHERE {where} ORDER BY minute, grp, rank"
        return [Tally(*row) for row in self._rows(sql, values)]

    def reserve(self, model: int, count: int) -> int:
        """The first of `count` impression numbers that nobody else gets."""
        with self._server.exclusive() as (connection, _):
            sql = "UPDATE models SET next_number = next_number + %s WHERE id = %s RETURNING next_number"
            row = connection.execute(sql, [count, model]).fetchone()
        if row is None:
            raise StoreError(f"model {model} is no longer in the store")
        return int(row[0]) - count

    # Models and their states

    def models(self) -> list[StoredModel]:
        """All models that were not deleted."""
        sql = "SELECT id, name, settings, created FROM models WHERE deleted IS NULL ORDER BY id"
        return [StoredModel(*row) for row in self._rows(sql)]

    def newest_snapshot(self, model: int) -> Snapshot | None:
        """The newest state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = %s ORDER BY version DESC LIMIT 1"
        rows = self._rows(sql, [model])
        return Snapshot(*rows[0]) if rows else None

    def newest_versions(self) -> dict[int, tuple[int, int]]:
        """For each model, (version, offset) of its newest snapshot."""
        sql = "SELECT DISTINCT ON (model) model, version, position FROM snapshots ORDER BY model, version DESC"
        return {model: (version, position) for model, version, position in self._rows(sql)}

    def snapshot(self, model: int, version: int) -> Snapshot | None:
        """One state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = %s AND version = %s"
        rows = self._rows(sql, [model, version])
        return Snapshot(*rows[0]) if rows else None

    def snapshots(self, model: int) -> list[Snapshot]:
        """All states that are kept, newest first, without the states themselves."""
        sql = f"SELECT {SNAPSHOT}, ''::bytea FROM snapshots WHERE model = %s ORDER BY version DESC"
        return [Snapshot(*row) for row in self._rows(sql, [model])]

    def forget_snapshots(self, model: int, versions: Iterable[int]) -> None:
        """Thin out history."""
        self._change("DELETE FROM snapshots WHERE model = %s AND version = ANY(%s::bigint[])", [model, list(versions)])

    # Keys and secrets

    def api_keys(self) -> list[ApiKey]:
        """All keys, revoked ones too."""
        return [ApiKey(*row) for row in self._rows("SELECT * FROM api_keys ORDER BY created, name")]

    def add_api_key(self, key: ApiKey) -> bool:
        """Keep a key; False if the name is taken."""
        return self._change("INSERT INTO api_keys VALUES (%s, %b, %s, %s, %s) ON CONFLICT DO NOTHING", key) == 1

    def replace_api_key(self, key: ApiKey) -> None:
        """The same name, another secret."""
        sql = (
            "INSERT INTO api_keys VALUES (%s, %b, %s, %s, %s) ON CONFLICT (name) DO UPDATE SET "
            "digest = excluded.digest, scopes = excluded.scopes, created = excluded.created, revoked = excluded.revoked"
        )
        self._change(sql, key)

    def revoke_api_key(self, name: str, at: int) -> bool:
        """No longer accept a key."""
        return self._change("UPDATE api_keys SET revoked = %s WHERE name = %s AND revoked IS NULL", [at, name]) == 1

    def secrets(self) -> list[Secret]:
        """Signing secrets, newest first."""
        return [Secret(*row) for row in self._rows("SELECT id, value, created FROM secrets ORDER BY id DESC")]

    def add_secret(self, value: bytes, at: int) -> None:
        """A new secret that signs from now on."""
        self._change("INSERT INTO secrets SELECT coalesce(max(id), 0) + 1, %b, %s FROM secrets", [value, at])

    def drop_secrets(self, before: int) -> int:
        """Forget secrets that were replaced before a time: those with a newer one that is old enough."""
        return self._change("DELETE FROM secrets WHERE id < (SELECT max(id) FROM secrets WHERE created < %s)", [before])

    # Upkeep

    def fact(self, name: str) -> str | None:
        """A small thing to remember about the store."""
        rows = self._rows("SELECT value FROM facts WHERE name = %s", [name])
        return rows[0][0] if rows else None

    def set_fact(self, name: str, value: str) -> None:
        """Remember it, in the place of what was known before."""
        sql = "INSERT INTO facts VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._change(sql, [name, value])

    def keep_fact(self, name: str, value: str) -> str:
        """Remember it, unless something is known already; what is known from now on."""
        with self._server.exclusive() as (connection, _):
            connection.execute("INSERT INTO facts VALUES (%s, %s) ON CONFLICT DO NOTHING", [name, value])
            row = connection.execute("SELECT value FROM facts WHERE name = %s", [name]).fetchone()
        return str(row[0]) if row else value

    def lease(self, name: str) -> "PostgresLease | None":
        """Held through an advisory lock of a session, which the server frees when the connection breaks."""
        return self._leases.take(name)

    def erase(self, client: bytes) -> int:
        """Blank the impressions of one person, with their clicks; their places in the log stay."""
        if not client:
            return 0
        with self._server.exclusive() as (connection, _):
            sql = "SELECT DISTINCT model, number FROM events WHERE client = %b"
            rows = connection.execute(sql, [client]).fetchall()
            theirs = "unnest(%s::bigint[], %s::bigint[]) AS e (model, number)"
            values = [[model for model, _ in rows], [number for _, number in rows]]
            connection.execute(
                f"UPDATE events SET kind = {Kind.ERASED}, client = '', body = '' FROM {theirs} "
                f"WHERE events.model = e.model AND events.number = e.number "
                f"AND kind IN ({Kind.SHOWN}, {Kind.CLICKED}, {Kind.CLOSED})",
                values,
            )
            connection.execute(
                f"DELETE FROM open_impressions o USING {theirs} WHERE o.model = e.model AND o.number = e.number", values
            )
            return len(rows)

    def drop_events(self, before: int) -> int:
        """Delete events before an offset, but for those of impressions that are still open."""
        return self._change(
            f"DELETE FROM events WHERE position < %s AND kind <> {Kind.CREATED} "
            "AND position < (SELECT max(position) FROM events) AND NOT EXISTS (SELECT 1 FROM "
            "open_impressions o WHERE o.model = events.model AND o.number = events.number)",
            [before],
        )

    def import_rows(self, table: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add rows of an exported log."""
        count = 0
        key_columns(table)
        with self._server.exclusive() as (connection, _), connection.cursor() as cursor:
            described = cursor.execute(f"SELECT * FROM {table} LIMIT 0").description or []
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types([column.type_code for column in described])
                for row in rows:
                    copy.write_row(row)
                    count += 1
        return count

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key; a table of any size, a few rows at a time."""
        # The version of the format belongs to the store that the rows are in, not to the rows.
        where = "WHERE name <> 'schema'" if table == "facts" else ""
        sql = f"SELECT * FROM {table} {where} ORDER BY {key_columns(table)}"
        with self._server.translated(), self._server.connect() as connection, connection.transaction():
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            with connection.cursor("export", binary=True) as cursor:
                cursor.itersize = EXPORTED
                yield from cursor.execute(sql)

    def close(self) -> None:
        """Let go of the server."""
        self._leases.close()
        self._server.close()


class PostgresLease:
    """An advisory lock of a session, held by one process at a time."""

    def __init__(self, leases: "_Leases", connection: Connection, name: str) -> None:
        self._leases = leases
        self.connection = connection
        self.name = name

    def alive(self) -> bool:
        """Whether the session that holds it still answers."""
        return self._leases.holds(self)

    def release(self) -> None:
        """Let somebody else have it."""
        self._leases.release(self)


class _Leases:
    """All leases of this process, on one connection that does nothing else: a hundred models need no more than one."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._held: dict[str, PostgresLease] = {}

    def take(self, name: str) -> PostgresLease | None:
        """The lease, or None if somebody else holds it."""
        key = self._server.lock_key(name)
        with self._lock, self._server.translated():
            if not self._answers():
                self._drop()
                self._connection = self._server.connect()
            # A session may take its own lock again, so what this process holds is looked up here.
            if name in self._held or self._connection is None:
                return None
            row = self._connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
            if row is None or not row[0]:
                return None
            self._held[name] = PostgresLease(self, self._connection, name)
            return self._held[name]

    def holds(self, lease: PostgresLease) -> bool:
        with self._lock:
            if not self._answers():
                self._drop()
            return self._held.get(lease.name) is lease

    def release(self, lease: PostgresLease) -> None:
        key = self._server.lock_key(lease.name) if self._connection else 0
        with self._lock:
            if self._held.get(lease.name) is not lease or self._connection is None:
                return
            del self._held[lease.name]
            with suppress(psycopg.Error):
                self._connection.execute("SELECT pg_advisory_unlock(%s)", [key])

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _answers(self) -> bool:
        with suppress(psycopg.Error):
            return self._connection is not None and self._connection.execute("SELECT 1").fetchone() is not None
        return False

    def _drop(self) -> None:
        """Without its connection no lease is held any more."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._held.clear()
