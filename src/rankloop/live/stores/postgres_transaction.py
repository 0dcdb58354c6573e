"""What may be done while PostgreSQL's log is held: see `rankloop.live.stores.transaction`.

A batch takes a handful of round trips, however long it is: events are copied in binary, everything else travels as
arrays, one statement per table.
"""

from collections.abc import Sequence
from typing import Any

from rankloop.live.events import Event
from rankloop.live.stores.digests import Digests
from rankloop.live.stores.postgres_connections import Connection, Marked
from rankloop.live.stores.rows import Open, Tally
from rankloop.live.stores.transaction import OPEN, Transaction

EVENT_TYPES = ["int8", "int8", "int8", "int8", "int8", "bytea", "bytea", "bytea"]

FIND = f"""
SELECT {OPEN}
FROM open_impressions JOIN unnest(%b::bigint[], %b::bigint[]) AS wanted (model, number) USING (model, number)
"""
OPENED = """
INSERT INTO open_impressions
SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::bigint[], %b::float8[], %b::bytea[],
                     %b::bytea[])
"""
CLICKED = """
UPDATE open_impressions o SET clicks = n.clicks, actions = n.actions
FROM unnest(%b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[]) AS n (model, number, clicks, actions)
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


class PostgresTransaction(Transaction):
    """The log, held exclusively."""

    def __init__(self, connection: Connection, digests: Digests | None, next_offset: int) -> None:
        super().__init__(Marked(connection), digests)
        self._connection = connection
        self._next = next_offset

    def next_offset(self) -> int:
        return self._next

    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
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
        if events:
            rows = self._digested(events)
            with self._connection.cursor().copy("COPY events FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(EVENT_TYPES)
                for row in rows:
                    copy.write_row(row)
            self._next = max(self._next, events[-1].offset + 1)
        with self._connection.pipeline():
            self._run(OPENED, opened)
            self._run(CLICKED, [(row.model, row.number, row.clicks, row.actions) for row in clicked])
            self._run(CLOSED, closed)
            self._run(TALLIES, tallies)

    def _run(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._connection.execute(sql, _columns(rows))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
