"""What may be done while SQLite's log is held: see `rankloop.live.stores.contract.Transaction`."""

import sqlite3
from collections.abc import Sequence

from rankloop.live.events import Event
from rankloop.live.stores.contract import Open, Snapshot, Tally

OPEN = "SELECT model, number, shown, at, grp, displacement, clicks FROM open_impressions WHERE model = ? AND number = ?"
ROW_BYTES = 200
"""What a row costs beside its body, in all tables and indexes."""
TALLY = """
INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
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
        found = (self._connection.execute(OPEN, key).fetchone() for key in keys)
        return {(row[0], row[1]): Open(*row) for row in found if row}

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
        run = self._connection.executemany
        run("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", events)
        run("INSERT INTO open_impressions VALUES (?, ?, ?, ?, ?, ?, ?)", opened)
        if clicked:
            sql = "UPDATE open_impressions SET clicks = ? WHERE model = ? AND number = ?"
            run(sql, [(row.clicks, row.model, row.number) for row in clicked])
        run("DELETE FROM open_impressions WHERE model = ? AND number = ?", closed)
        run(TALLY, tallies)

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
