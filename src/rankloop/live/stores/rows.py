"""What every store keeps: tables, and the rows in them. What can be done with them is in `stores.contract`."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError

Rows = Sequence[Sequence[Any]]

TABLES = {
    "facts": "name",
    "models": "id",
    "events": "position",
    "open_impressions": "model, number",
    "tallies": "model, span, minute, grp, rank",
    "snapshots": "model, version",
    "api_keys": "name",
    "secrets": "id",
}
"""What a store is made of, with each table's key. Columns have the same order in every store."""


def key_columns(table: str) -> str:
    """A table's key, as SQL; refuses what is not a table of the log.

    >>> key_columns("tallies")
    'model, span, minute, grp, rank'
    """
    if table not in TABLES:
        raise SettingsError(f"there is no table {table!r} in a log; its tables are {', '.join(TABLES)}")
    return TABLES[table]


COMPACTED = "compacted"
"""The fact that holds the offset below which events may be missing, because they were deleted on purpose."""


class StoredModel(NamedTuple):
    """A model's identity and its settings (JSON)."""

    id: int
    name: str
    settings: bytes
    created: int


class Open(NamedTuple):
    """An impression that waits for clicks: where it was shown, what has been clicked so far (float32 per rank), and,
    where its model tells actions apart, what happened (a bit for each action, 16 per rank)."""

    model: int
    number: int
    shown: int
    at: int
    group: int
    displacement: float
    clicks: bytes
    actions: bytes = b""

    def click_values(self) -> NDArray[np.float32]:
        """What has been clicked so far, rank by rank."""
        return np.frombuffer(self.clicks, "<f4")

    def action_bits(self) -> NDArray[np.uint16]:
        """What happened at each rank: a bit for each action; empty where actions are not told apart."""
        return np.frombuffer(self.actions, "<u2")


SPANS = (1, 60, 1440)
"""Minutes that a tally adds up over: a minute, an hour and a day, so that a year can be read as quickly as an hour."""


class Tally(NamedTuple):
    """What closed impressions add up to: per model, span of time, group and rank; rank 0 is the page as a whole."""

    model: int
    span: int
    """Its length in minutes, one of `SPANS`."""
    minute: int
    """Its first minute since 1970; spans begin at whole hours and days of UTC."""
    group: int
    rank: int
    shown: int
    clicks: float
    squares: float
    displacement: float


class Snapshot(NamedTuple):
    """A model's whole state after the events up to `offset`: one atomic record."""

    model: int
    version: int
    offset: int
    at: int
    state: bytes


class ApiKey(NamedTuple):
    """A key as it is kept: never the secret itself, only its hash."""

    name: str
    digest: bytes
    scopes: str
    created: int
    revoked: int | None


class Secret(NamedTuple):
    """A secret that signs impression ids; the newest signs, older ones still verify."""

    id: int
    value: bytes
    created: int


class Reclaimed(NamedTuple):
    """Whether a store was rewritten without what had been deleted, and how many bytes the disk got back."""

    shrunk: bool
    freed_bytes: int


class Lease:
    """The right to do something that only one process may do."""

    def __init__(self, leases: "Leases", name: str) -> None:
        self._leases = leases
        self.name = name

    def alive(self) -> bool:
        """Whether it is still held; it never comes back once it was lost."""
        return self._leases.holds(self)

    def release(self) -> None:
        """Let somebody else have it."""
        self._leases.release(self)


class Leases(Protocol):
    """Who gives leases, and knows which are held."""

    def holds(self, lease: Lease) -> bool:
        """Whether it is still held."""

    def release(self, lease: Lease) -> None:
        """Let somebody else have it."""
