"""What may be done while SQLite's log is held: see `rankloop.live.stores.contract.Transaction`.

Many rows travel in one statement: between two statements, and between two rows of `executemany`, the interpreter's lock
is given away and waited for, which under load takes longer than the writing.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from rankloop.live.events import Event
from rankloop.live.stores.contract import Open, Snapshot, Tally

OPEN = "SELECT model, number, shown, at, grp, displacement, clicks FROM open_impressions"
CHUNK = 500
"""Rows in one statement; nine values each stay far below what SQLite takes."""
ROW_BYTES = 200
"""What a row costs beside its body, in all tables and indexes."""
TALLY = """ ON CONFLICT DO UPDATE SET
  shown = shown + excluded.shown, clicks = clicks + excluded.clicks,
  squares = squares + excluded.squares, displacement = displacement + excluded.displacement
"""


class SQLiteTransaction:
    """The log, held exclusively."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.written = 0
        """Bytes of the events written, roughly."""

    def next_offset(self) -> int:
        """The place of the next event."""
        return int(self._connection.execute("SELECT coalesce(max(position), 0) + 1 FROM events").fetchone()[0])

    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
        """Those of the impressions that still wait for clicks."""
        found: dict[tuple[int, int], Open] = {}
        for where, values in _places(keys):
            rows = self._connection.execute(f"{OPEN} {where}", values).fetchall()
            found |= {(row[0], row[1]): Open(*row) for row in rows}
        return found

    def write(
        self,
        events: Sequence[Event],
        opened: Sequence[Open],
        clicked: Sequence[Open],
        closed: Sequence[tuple[int, int]],
        tallies: Sequence[Tally],
    ) -> None:
        """Append events, and keep everything that follows from them."""
        self.written += sum(len(event.body) + ROW_BYTES for event in events)
        self._insert("events", events)
        self._insert("open_impressions", opened)
        if clicked:
            sql = "UPDATE open_impressions SET clicks = ? WHERE model = ? AND number = ?"
            self._connection.executemany(sql, [(row.clicks, row.model, row.number) for row in clicked])
        for where, values in _places(closed):
            self._connection.execute(f"DELETE FROM open_impressions {where}", values)
        self._insert("tallies", tallies, TALLY)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        for first in range(0, len(rows), CHUNK):
            some = rows[first : first + CHUNK]
            row = f"({', '.join('?' * len(some[0]))})"
            sql = f"INSERT INTO {table} VALUES {', '.join([row] * len(some))}{otherwise}"
            self._connection.execute(sql, list(chain.from_iterable(some)))

    def create_model(self, name: str, settings: bytes, at: int) -> int | None:
        """A new model's id; None if the name is taken."""
        sql = "INSERT INTO models (name, settings, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        cursor = self._connection.execute(sql, [name, settings, at])
        return cursor.lastrowid if cursor.rowcount == 1 else None

    def delete_model(self, model: int, at: int) -> None:
        """Forget the name; events stay until they are compacted away."""
        self._connection.execute("UPDATE models SET deleted = ? WHERE id = ?", [at, model])
        self._connection.execute("DELETE FROM open_impressions WHERE model = ?", [model])

    def save_snapshot(self, snapshot: Snapshot, expects: int) -> bool:
        """Keep it, if nobody else has gone on from the state it builds on."""
        sql = "SELECT coalesce(max(position), -1) FROM snapshots WHERE model = ?"
        if self._connection.execute(sql, [snapshot.model]).fetchone()[0] != expects:
            return False
        self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", snapshot)
        return True


def _places(keys: Sequence[tuple[int, int]]) -> Iterator[tuple[str, list[int]]]:
    """A condition and its values for each model's impressions, a chunk at a time."""
    for model, found in groupby(sorted(keys), key=itemgetter(0)):
        numbers = [number for _, number in found]
        for first in range(0, len(numbers), CHUNK):
            some = numbers[first : first + CHUNK]
            yield f"WHERE model = ? AND number IN ({', '.join('?' * len(some))})", [model, *some]
