"""What may be done while SQLite's log is held: see `rankloop.live.stores.transaction`.

Many rows travel in one statement: between two statements, and between two rows of `executemany`, the interpreter's lock
is given away and waited for, which under load takes longer than the writing.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from rankloop.live.events import Event
from rankloop.live.stores.digests import Digests
from rankloop.live.stores.rows import Open, Snapshot, Tally
from rankloop.live.stores.transaction import NEXT_OFFSET, OPEN, Transaction

CHUNK = 500
"""Rows in one statement; nine values each stay far below what SQLite takes."""
ROW_BYTES = 200
"""What a row costs beside its body, in all tables and indexes."""
TALLY = """ ON CONFLICT DO UPDATE SET
  shown = shown + excluded.shown, clicks = clicks + excluded.clicks,
  squares = squares + excluded.squares, displacement = displacement + excluded.displacement
"""


class SQLiteTransaction(Transaction):
    """The log, held exclusively."""

    def __init__(self, connection: sqlite3.Connection, digests: Digests | None) -> None:
        super().__init__(connection, digests)
        self._connection = connection
        self.written = 0
        """Bytes of the events and states written, roughly."""

    def next_offset(self) -> int:
        return int(self._connection.execute(NEXT_OFFSET).fetchone()[0])

    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
        rows: list[Any] = []
        for where, values in _places(keys):
            rows += self._connection.execute(f"SELECT {OPEN} FROM open_impressions {where}", values).fetchall()
        return {(row[0], row[1]): Open(*row) for row in rows}

    def write(
        self,
        events: Sequence[Event],
        opened: Sequence[Open],
        clicked: Sequence[Open],
        closed: Sequence[tuple[int, int]],
        tallies: Sequence[Tally],
    ) -> None:
        self.written += sum(len(event.body) + ROW_BYTES for event in events)
        self._insert("events", self._digested(events))
        self._insert("open_impressions", opened)
        if clicked:
            sql = "UPDATE open_impressions SET clicks = ?, actions = ? WHERE model = ? AND number = ?"
            self._connection.executemany(sql, [(row.clicks, row.actions, row.model, row.number) for row in clicked])
        for where, values in _places(closed):
            self._connection.execute(f"DELETE FROM open_impressions {where}", values)
        self._insert("tallies", tallies, TALLY)

    def save_snapshot(self, snapshot: Snapshot, expects: int) -> bool:
        self.written += len(snapshot.state)
        return super().save_snapshot(snapshot, expects)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        for first in range(0, len(rows), CHUNK):
            some = rows[first : first + CHUNK]
            row = f"({', '.join('?' * len(some[0]))})"
            sql = f"INSERT INTO {table} VALUES {', '.join([row] * len(some))}{otherwise}"
            self._connection.execute(sql, list(chain.from_iterable(some)))


def _places(keys: Sequence[tuple[int, int]]) -> Iterator[tuple[str, list[int]]]:
    """A condition and its values for each model's impressions, a chunk at a time."""
    for model, same_model in groupby(sorted(keys), key=itemgetter(0)):
        numbers = [number for _, number in same_model]
        for first in range(0, len(numbers), CHUNK):
            some = numbers[first : first + CHUNK]
            yield f"WHERE model = ? AND number IN ({', '.join('?' * len(some))})", [model, *some]
