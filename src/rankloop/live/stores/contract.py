"""What a store is. The rules of the log are written once, in `rankloop.live.log`; a store only keeps rows.

Everything that is acknowledged was written in a `transaction`, which holds the log exclusively and is durable when it
ends. Offsets are given out without gaps, so what is missing was compacted away, with notice, or is a fault.

What all stores say in the same words is said here: SQL with a `?` for each value, sent through each store's own
connections. What is abstract is each store's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from rankloop.live.errors import StoreError
from rankloop.live.events import FOLDED, Event, Kind
from rankloop.live.stores.digests import Digests
from rankloop.live.stores.rows import (
    TABLES,
    ApiKey,
    Lease,
    Open,
    Reclaimed,
    Rows,
    Secret,
    Snapshot,
    StoredModel,
    Tally,
    key_columns,
)
from rankloop.live.stores.transaction import (
    BEAT,
    EVENT,
    OPEN,
    Connection,
    Transaction,
    digests_held,
    listed,
    newest_end,
)

T = TypeVar("T")

SNAPSHOT = "model, version, position, at"
ERASED = "(model, number) IN (SELECT model, number FROM erased)"
PAGES = listed((Kind.SHOWN, Kind.CLICKED, Kind.CLOSED, Kind.LATE))
BLANKED = 500
"""Events whose digests travel in one statement."""
DELETED = "model IN (SELECT id FROM models WHERE deleted IS NOT NULL)"


def export_sql(table: str) -> str:
    """All rows of a table, in the order of its key."""
    return f"SELECT * FROM {_exported(table)} ORDER BY {key_columns(table)}"


def _exported(table: str) -> str:
    # The version of the format, and when it was last written to, belong to the store that the rows are in.
    return f"facts WHERE name NOT IN ('schema', '{BEAT}')" if table == "facts" else table


class Reader(ABC):
    """What can be asked of a log."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a question finds."""

    @abstractmethod
    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""

    def _one(self, kind: Callable[..., T], sql: str, *values: Any) -> T | None:
        rows = self._rows(sql, values)
        return kind(*rows[0]) if rows else None

    def _all(self, kind: Callable[..., T], sql: str, *values: Any) -> list[T]:
        return [kind(*row) for row in self._rows(sql, values)]

    # The log

    def events(
        self, after: int, limit: int, *, kinds: Sequence[int] | None = None, model: int | Sequence[int] | None = None
    ) -> list[Event]:
        """Events beyond an offset, in order, of all models, one or several; `limit` at most."""
        where, values = "position > ?", [after]
        if kinds is not None:
            if not kinds:
                return []
            where += f" AND kind IN ({listed(kinds)})"
        if isinstance(model, int):
            where, values = f"{where} AND model = ?", [after, model]
        elif model is not None:
            where += f" AND model IN ({listed(model)})"
        sql = f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position LIMIT ?"
        return self._all(Event, sql, *values, limit)

    def event(self, offset: int) -> Event | None:
        """The event at an offset, if it is still there."""
        return self._one(Event, f"SELECT {EVENT} FROM events WHERE position = ?", offset)

    def ended(self, model: int, number: int) -> Event | None:
        """The newest that is known of a page which was closed: its closing, or what came late."""
        return self._one(Event, newest_end(), model, number)

    def with_digests(self, after: int, limit: int) -> list[tuple[Event, bytes | None]]:
        """Events beyond an offset, in order, with the digests that were written with them; old ones have none."""
        sql = f"SELECT {EVENT}, digest FROM events WHERE position > ? ORDER BY position LIMIT ?"
        return [(Event(*row[:-1]), row[-1]) for row in self._rows(sql, [after, limit])]

    def last_offset(self) -> int:
        """The newest event's place; 0 in an empty log."""
        return int(self._rows("SELECT coalesce(max(position), 0) FROM events")[0][0])

    def newest_closings(self, model: int, limit: int) -> list[Event]:
        """Closings of a model's impressions, the newest first."""
        where = f"model = ? AND kind = {int(Kind.CLOSED)}"
        sql = f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position DESC LIMIT ?"
        return self._all(Event, sql, model, limit)

    def decisions(self, model: int, limit: int) -> list[Event]:
        """What people decided about a model, the newest first; those in the log, for older ones may be compacted."""
        where = f"model = ? AND kind >= 5 AND kind <= 19 AND kind <> {int(Kind.ERASED)}"
        sql = f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position DESC LIMIT ?"
        return self._all(Event, sql, model, limit)

    def unfolded(self, after: int) -> dict[int, int]:
        """How many events of each model beyond an offset change its state; models without any are left out."""
        sql = f"SELECT model, count(*) FROM events WHERE position > ? AND kind IN ({listed(FOLDED)}) GROUP BY model"
        return dict(self._rows(sql, [after]))

    def erased_events(self) -> dict[int, int]:
        """How many events of each model were erased; models without any are left out."""
        sql = f"SELECT model, count(*) FROM events WHERE kind = {int(Kind.ERASED)} GROUP BY model"
        return dict(self._rows(sql))

    # Open impressions and tallies

    def open_impression(self, model: int, number: int) -> Open | None:
        """An impression that still waits for clicks."""
        return self._one(Open, f"SELECT {OPEN} FROM open_impressions WHERE model = ? AND number = ?", model, number)

    def due(self, model: int, before: int, limit: int) -> list[Open]:
        """Open impressions shown before a time, oldest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = ? AND at < ? ORDER BY at, number LIMIT ?"
        return self._all(Open, sql, model, before, limit)

    def open_count(self, model: int) -> int:
        """How many impressions wait for clicks."""
        return int(self._rows("SELECT count(*) FROM open_impressions WHERE model = ?", [model])[0][0])

    def newest_open(self, model: int, limit: int) -> list[Open]:
        """Open impressions, the newest first."""
        sql = f"SELECT {OPEN} FROM open_impressions WHERE model = ? ORDER BY at DESC, number DESC LIMIT ?"
        return self._all(Open, sql, model, limit)

    def tallies(self, model: int, since_minute: int = 0, *, span: int = 1, rank: int | None = None) -> list[Tally]:
        """What closed impressions add up to, in spans of so many minutes that begin at `since_minute` or later."""
        where, values = "model = ? AND span = ? AND minute >= ?", [model, span, since_minute]
        if rank is not None:
            where, values = f"{where} AND rank = ?", [*values, rank]
        sql = f"SELECT * FROM tallies WHERE {where} ORDER BY minute, grp, rank"
        return self._all(Tally, sql, *values)

    # Models and their states

    def models(self) -> list[StoredModel]:
        """All models that were not deleted."""
        sql = "SELECT id, name, settings, created FROM models WHERE deleted IS NULL ORDER BY id"
        return self._all(StoredModel, sql)

    def newest_snapshot(self, model: int) -> Snapshot | None:
        """The newest state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = ? ORDER BY version DESC LIMIT 1"
        return self._one(Snapshot, sql, model)

    def newest_versions(self) -> dict[int, tuple[int, int]]:
        """For each model, (version, offset) of its newest snapshot: neither ever goes back."""
        rows = self._rows("SELECT model, max(version), max(position) FROM snapshots GROUP BY model")
        return {model: (version, position) for model, version, position in rows}

    def snapshot(self, model: int, version: int) -> Snapshot | None:
        """One state of a model."""
        sql = f"SELECT {SNAPSHOT}, state FROM snapshots WHERE model = ? AND version = ?"
        return self._one(Snapshot, sql, model, version)

    def snapshots(self, model: int) -> list[Snapshot]:
        """All states that are kept, newest first, without the states themselves."""
        sql = f"SELECT {SNAPSHOT} FROM snapshots WHERE model = ? ORDER BY version DESC"
        return [Snapshot(m, version, offset, at, b"") for m, version, offset, at in self._rows(sql, [model])]

    # Keys, secrets, facts

    def api_keys(self) -> list[ApiKey]:
        """All keys, revoked ones too."""
        return self._all(ApiKey, "SELECT * FROM api_keys ORDER BY created, name")

    def secrets(self) -> list[Secret]:
        """Signing secrets, newest first."""
        return self._all(Secret, "SELECT id, value, created FROM secrets ORDER BY id DESC")

    def fact(self, name: str) -> str | None:
        """A small thing to remember about the store."""
        rows = self._rows("SELECT value FROM facts WHERE name = ?", [name])
        return rows[0][0] if rows else None

    def count_rows(self) -> dict[str, int]:
        """Rows by table."""
        return {table: int(self._rows(f"SELECT count(*) FROM {_exported(table)}")[0][0]) for table in TABLES}


class Store(Reader):
    """Where a log lies. What is changed outside the group commit has a transaction of its own that holds the log."""

    shared: bool
    """Whether other processes may rank and learn on the same log."""
    _digests: Digests | None = None
    """How its events are digested, once a transaction has found out."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Hold the log; commit durably at the end, or roll back if an error leaves the block."""

    @abstractmethod
    def _exclusive(self) -> AbstractContextManager[Connection]:
        """The same, for plain statements."""

    @abstractmethod
    def lease(self, name: str) -> Lease | None:
        """Held by one process at a time and freed when that process dies; None if taken."""

    def _change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """One statement; how many rows it changed."""
        with self._exclusive() as connection:
            return connection.execute(sql, values).rowcount

    def reserve(self, model: int, count: int) -> int:
        """The first of `count` impression numbers that nobody else gets."""
        with self._exclusive() as connection:
            sql = "UPDATE models SET next_number = next_number + ? WHERE id = ? RETURNING next_number"
            rows = connection.execute(sql, [count, model]).fetchall()
        if not rows:
            raise StoreError(f"model {model} is no longer in the store")
        return int(rows[0][0]) - count

    def forget_snapshots(self, model: int, versions: Iterable[int]) -> None:
        """Thin out history."""
        if some := listed(versions):
            self._change(f"DELETE FROM snapshots WHERE model = ? AND version IN ({some})", [model])

    def forget_deleted_models(self) -> int:
        """Delete the states and tallies of models that were deleted; how many states."""
        with self._exclusive() as connection:
            connection.execute(f"DELETE FROM tallies WHERE {DELETED}")
            return connection.execute(f"DELETE FROM snapshots WHERE {DELETED}").rowcount

    def add_api_key(self, key: ApiKey) -> bool:
        """Keep a key; False if the name is taken."""
        return self._change("INSERT INTO api_keys VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", key) == 1

    def replace_api_key(self, key: ApiKey) -> None:
        """The same name, another secret."""
        sql = (
            "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "digest = excluded.digest, scopes = excluded.scopes, created = excluded.created, revoked = excluded.revoked"
        )
        self._change(sql, key)

    def revoke_api_key(self, name: str, at: int) -> bool:
        """No longer accept a key; False if there is none of that name."""
        return self._change("UPDATE api_keys SET revoked = ? WHERE name = ? AND revoked IS NULL", [at, name]) == 1

    def add_secret(self, value: bytes, at: int) -> None:
        """A new secret that signs from now on."""
        self._change("INSERT INTO secrets SELECT coalesce(max(id), 0) + 1, ?, ? FROM secrets", [value, at])

    def drop_secrets(self, before: int) -> int:
        """Forget secrets that were replaced before a time: those with a newer one that is old enough."""
        return self._change("DELETE FROM secrets WHERE id < (SELECT max(id) FROM secrets WHERE created < ?)", [before])

    def set_fact(self, name: str, value: str) -> None:
        """Remember it, in the place of what was known before."""
        sql = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._change(sql, [name, value])

    def keep_fact(self, name: str, value: str) -> str:
        """Remember it, unless something is known already; what is known from now on, the same for all who ask."""
        with self._exclusive() as connection:
            connection.execute("INSERT INTO facts VALUES (?, ?) ON CONFLICT DO NOTHING", [name, value])
            return str(connection.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()[0])

    def erase(self, client: bytes) -> int:
        """Blank the impressions of one person, with their clicks; how many. Their places in the log stay.

        The empty client is nobody in particular, and cannot be erased.
        """
        if not client:
            return 0
        with self._exclusive() as connection:
            connection.execute("CREATE TEMP TABLE erased (model BIGINT, number BIGINT)")
            theirs = "SELECT DISTINCT model, number FROM events WHERE client = ?"
            count = connection.execute(f"INSERT INTO erased {theirs}", [client]).rowcount
            _blank(connection)
            connection.execute(f"DELETE FROM open_impressions WHERE {ERASED}")
            connection.execute("DROP TABLE erased")
        return count

    def drop_events(self, before: int) -> int:
        """Delete events before an offset, but for those of open impressions and the models' own; how many.

        The newest event always stays: its place must not be given again.
        """
        return self._change(
            f"DELETE FROM events WHERE position < ? AND kind <> {Kind.CREATED} "
            "AND position < (SELECT max(position) FROM events) AND NOT EXISTS (SELECT 1 FROM "
            "open_impressions o WHERE o.model = events.model AND o.number = events.number)",
            [before],
        )

    # Keeping a log

    @abstractmethod
    def at_one_moment(self) -> AbstractContextManager[Reader]:
        """The log as it is now, whatever is written meanwhile; nobody waits for the reader. For use in one thread."""

    @abstractmethod
    def add_rows(self, frames: Iterable[tuple[str, Rows]]) -> None:
        """Add rows to several tables, all or none."""

    def overwrite_deleted(self) -> None:
        """From now on, what this store deletes is overwritten rather than left for whoever looks closely at its files.

        A server does that when it vacuums.
        """

    @abstractmethod
    def reclaim(self, *, alone: bool) -> Reclaimed:
        """Let the room of deleted rows be used again; the disk gets it back if whoever asks is alone with the log."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files, in sentences; a server's are its administrator's."""
        return []

    def copy_to(self, path: Path) -> bool:
        """Copy the whole store, as it is at one moment, into a file; False where the files are a server's."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Let go of the store."""


def _blank(connection: Connection) -> None:
    """Leave only the places of what is listed in `erased`, each with a digest of nothing but that."""
    sql = f"SELECT position, model, number, at FROM events WHERE kind IN ({PAGES}) AND {ERASED}"
    left = connection.execute(sql).fetchall()
    sql = f"UPDATE events SET kind = {int(Kind.ERASED)}, client = ?, body = ?, digest = NULL"
    connection.execute(f"{sql} WHERE kind IN ({PAGES}) AND {ERASED}", [b"", b""])
    digests = digests_held(connection)
    if digests is None:
        return
    for first in range(0, len(left), BLANKED):
        values: list[Any] = []
        for offset, model, number, at in left[first : first + BLANKED]:
            values += [offset, digests.of(Event(offset, model, int(Kind.ERASED), number, at, b"", b""))]
        rows = ", ".join(["(?, ?)"] * (len(values) // 2))
        sql = f"UPDATE events SET digest = made.column2 FROM (VALUES {rows}) AS made WHERE position = made.column1"
        connection.execute(sql, values)
