"""What may be done while PostgreSQL's log is held: see `rankloop.live.stores.contract.Transaction`.

A batch takes a handful of round trips, however long it is: events are copied in binary, everything else travels as
arrays, one statement per table.
"""

from collections.abc import Sequence
from typing import Any

from rankloop.live.events import Event
from rankloop.live.stores.contract import Open, Snapshot, Tally
from rankloop.live.stores.postgres_connections import Connection

EVENT_TYPES = ["int8", "int8", "int8", "int8", "int8", "bytea", "bytea"]

NEXT_OFFSET = "SELECT coalesce(max(position), 0) + 1 FROM events"
FIND = """
SELECT model, number, shown, at, grp, displacement, clicks
FROM open_impressions JOIN unnest(%b::bigint[], %b::bigint[]) AS wanted (model, number) USING (model, number)
"""
OPENED = """
INSERT INTO open_impressions
SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::float8[], %b::bytea[])
"""
CLICKED = """
UPDATE open_impressions o SET clicks = n.clicks
FROM unnest(%b::bigint[], %b::bigint[], %b::bytea[]) AS n (model, number, clicks)
WHERE o.model = n.model AND o.number = n.number
"""
CLOSED = """
DELETE FROM open_impressions o USING unnest(%b::bigint[], %b::bigint[]) AS gone (model, number)
WHERE o.model = gone.model AND o.number = gone.number
"""
TALLIES = """
INSERT INTO tallies AS t
SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[],
                     %b::float8[], %b::float8[], %b::float8[])
ON CONFLICT (model, span, minute, grp, rank) DO UPDATE SET
  shown = t.shown + excluded.shown, clicks = t.clicks + excluded.clicks,
  squares = t.squares + excluded.squares, displacement = t.displacement + excluded.displacement
"""
SAVE = """
INSERT INTO snapshots VALUES (%s, %s, %s, %s, %b)
ON CONFLICT (model, version) DO UPDATE SET position = excluded.position, at = excluded.at, state = excluded.state
"""


class PostgresTransaction:
    """The log, held exclusively."""

    def __init__(self, connection: Connection, next_offset: int) -> None:
        self._connection = connection
        self._next = next_offset

    def next_offset(self) -> int:
        """The place of the next event."""
        return self._next

    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
        """Those of the impressions that still wait for clicks."""
        if not keys:
            return {}
        rows = self._connection.cursor(binary=True).execute(FIND, _columns(keys)).fetchall()
        return {(row[0], row[1]): Open(*row) for row in rows}

    def write(
        self,
        events: Sequence[Event],
        opened: Sequence[Open],
        clicked: Sequence[Open],
        closed: Sequence[tuple[int, int]],
        tallies: Sequence[Tally],
    ) -> None:
        """Append events, and keep everything that follows from them."""
        if events:
            with self._connection.cursor().copy("COPY events FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(EVENT_TYPES)
                for event in events:
                    copy.write_row(event)
            self._next = max(self._next, events[-1].offset + 1)
        with self._connection.pipeline():
            self._run(OPENED, opened)
            self._run(CLICKED, [(row.model, row.number, row.clicks) for row in clicked])
            self._run(CLOSED, closed)
            self._run(TALLIES, tallies)

    def _run(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._connection.execute(sql, _columns(rows))

    def create_model(self, name: str, settings: bytes, at: int) -> int | None:
        """A new model's id; None if the name is taken."""
        sql = (
            "INSERT INTO models (id, name, settings, created) SELECT coalesce(max(id), 0) + 1, %s, %b, %s FROM models "
            "ON CONFLICT DO NOTHING RETURNING id"
        )
        row = self._connection.execute(sql, [name, settings, at]).fetchone()
        return int(row[0]) if row else None

    def delete_model(self, model: int, at: int) -> None:
        """Forget the name; events stay until they are compacted away."""
        self._connection.execute("UPDATE models SET deleted = %s WHERE id = %s", [at, model])
        self._connection.execute("DELETE FROM open_impressions WHERE model = %s", [model])

    def save_snapshot(self, snapshot: Snapshot, expects: int) -> bool:
        """Keep it, if nobody else has gone on from the state it builds on."""
        sql = "SELECT coalesce(max(position), -1) FROM snapshots WHERE model = %s"
        row = self._connection.execute(sql, [snapshot.model]).fetchone()
        if row is None or row[0] != expects:
            return False
        self._connection.execute(SAVE, snapshot)
        return True


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
