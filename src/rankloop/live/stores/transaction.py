"""What may be done while a log is held: append events, with the tables beside them; make and delete models."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from rankloop.live.events import ENDED, Event
from rankloop.live.stores.digests import DIGESTS, Digests, new_digests, read_digests
from rankloop.live.stores.rows import Open, Snapshot, Tally

OPEN = "model, number, shown, at, grp, displacement, clicks, actions"
EVENT = "position, model, kind, number, at, client, body"
NEXT_OFFSET = "SELECT coalesce(max(position), 0) + 1 FROM events"
BEAT = "written"
"""The fact that a service writes while nobody else writes anything."""


class Cursor(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows."""


class Connection(Protocol):
    """A connection that holds the log."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""


class Transaction(ABC):
    """The log, held exclusively. What was written is durable once the transaction has ended without an error."""

    def __init__(self, connection: Connection, digests: Digests | None) -> None:
        self._held = connection
        self.digests = digests
        """How events are digested, once somebody has asked; to be forgotten if the transaction fails."""

    @abstractmethod
    def next_offset(self) -> int:
        """The place of the next event."""

    @abstractmethod
    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
        """Those of the impressions (model, number) that still wait for clicks."""

    @abstractmethod
    def write(
        self,
        events: Sequence[Event],
        opened: Sequence[Open],
        clicked: Sequence[Open],
        closed: Sequence[tuple[int, int]],
        tallies: Sequence[Tally],
    ) -> None:
        """Append events, keep the table of open impressions up to date, and add to the tallies."""

    def ended(self, model: int, number: int) -> Event | None:
        """The newest that is known of a page which was closed: its closing, or what came late."""
        rows = self._held.execute(newest_end(), [model, number]).fetchall()
        return Event(*rows[0]) if rows else None

    def _digested(self, events: Sequence[Event]) -> list[tuple[Any, ...]]:
        """Rows of events, with their digests; a log's first ones make its key."""
        if self.digests is None and events:
            sql = "INSERT INTO facts VALUES (?, ?) ON CONFLICT DO NOTHING"
            self._held.execute(sql, [DIGESTS, new_digests(self.next_offset()).fact()])
            self.digests = digests_held(self._held)
        return [(*event, self.digests.of(event)) for event in events] if self.digests else []

    def beat(self, at: int) -> None:
        """Write something of no consequence."""
        sql = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._held.execute(sql, [BEAT, str(at)])

    def create_model(self, name: str, settings: bytes, at: int) -> int | None:
        """A new model's id; None if the name is taken."""
        sql = (
            "INSERT INTO models (id, name, settings, created) SELECT coalesce(max(id), 0) + 1, ?, ?, ? FROM models "
            "WHERE true ON CONFLICT DO NOTHING RETURNING id"
        )
        rows = self._held.execute(sql, [name, settings, at]).fetchall()
        return int(rows[0][0]) if rows else None

    def deleted(self, models: Collection[int]) -> set[int]:
        """Those of the models that were deleted."""
        if not models:
            return set()
        sql = f"SELECT id FROM models WHERE deleted IS NOT NULL AND id IN ({listed(models)})"
        return {int(row[0]) for row in self._held.execute(sql).fetchall()}

    def delete_model(self, model: int, at: int) -> None:
        """Forget the name; events stay until they are compacted away."""
        self._held.execute("UPDATE models SET deleted = ? WHERE id = ?", [at, model])
        self._held.execute("DELETE FROM open_impressions WHERE model = ?", [model])

    def save_snapshot(self, snapshot: Snapshot, expects: int) -> bool:
        """Keep it, if the newest snapshot of the model is still the one at offset `expects` (−1: none)."""
        sql = "SELECT coalesce(max(position), -1) FROM snapshots WHERE model = ?"
        if self._held.execute(sql, [snapshot.model]).fetchone()[0] != expects:
            return False
        sql = (
            "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT (model, version) DO UPDATE SET "
            "position = excluded.position, at = excluded.at, state = excluded.state"
        )
        self._held.execute(sql, snapshot)
        return True


def digests_held(connection: Connection) -> Digests | None:
    """How a log that is held digests its events; None if it does not yet."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", [DIGESTS]).fetchone()
    return read_digests(row[0]) if row else None


def newest_end() -> str:
    """The newest event that says what was made of a page, by its model and number."""
    # In the words of the index, or it would not be used.
    where = f"kind IN ({listed(ENDED)}) AND model = ? AND number = ?"
    return f"SELECT {EVENT} FROM events WHERE {where} ORDER BY position DESC LIMIT 1"


def listed(numbers: Iterable[int]) -> str:
    """Numbers, as SQL."""
    return ", ".join(str(int(number)) for number in numbers)
