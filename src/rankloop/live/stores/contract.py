"""What a store is. The rules of the log are written once, in `rankloop.live.log`; a store only keeps rows.

Everything that is acknowledged was written in a `transaction`, which holds the log exclusively and is durable when it
ends. Offsets are given out without gaps, so what is missing was compacted away, with notice, or is a fault.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rankloop.errors import SettingsError
from rankloop.live.events import Event

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


class StoredModel(NamedTuple):
    """A model's identity and its settings (JSON)."""

    id: int
    name: str
    settings: bytes
    created: int


class Open(NamedTuple):
    """An impression that waits for clicks: where it was shown, and what has been clicked so far (float32 per rank)."""

    model: int
    number: int
    shown: int
    at: int
    group: int
    displacement: float
    clicks: bytes


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


class Lease(Protocol):
    """The right to do something that only one process may do."""

    def alive(self) -> bool:
        """Whether it is still held; it never comes back once it was lost."""

    def release(self) -> None:
        """Let somebody else have it."""


class Transaction(Protocol):
    """The log, held exclusively. What was written is durable once the transaction has ended without an error."""

    def next_offset(self) -> int:
        """The place of the next event."""

    def open_impressions(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Open]:
        """Those of the impressions (model, number) that still wait for clicks."""

    def write(
        self,
        events: Sequence[Event],
        opened: Sequence[Open],
        clicked: Sequence[Open],
        closed: Sequence[tuple[int, int]],
        tallies: Sequence[Tally],
    ) -> None:
        """Append events, keep the table of open impressions up to date, and add to the tallies."""

    def create_model(self, name: str, settings: bytes, at: int) -> int | None:
        """A new model's id; None if the name is taken."""

    def delete_model(self, model: int, at: int) -> None:
        """Forget the name; events stay until they are compacted away."""

    def save_snapshot(self, snapshot: Snapshot, expects: int) -> bool:
        """Keep it, if the newest snapshot of the model is still the one at offset `expects` (−1: none)."""


class Reader(Protocol):
    """What can be asked of a log."""

    def events(
        self, after: int, limit: int, *, kinds: Sequence[int] | None = None, model: int | None = None
    ) -> list[Event]:
        """Events beyond an offset, in order; `limit` at most."""

    def event(self, offset: int) -> Event | None:
        """The event at an offset, if it is still there."""

    def last_offset(self) -> int:
        """The newest event's place; 0 in an empty log."""

    def newest_closings(self, model: int, limit: int) -> list[Event]:
        """Closings of a model's impressions, the newest first."""

    def erased_events(self) -> dict[int, int]:
        """How many events of each model were erased; models without any are left out."""

    def open_impression(self, model: int, number: int) -> Open | None:
        """An impression that still waits for clicks."""

    def due(self, model: int, before: int, limit: int) -> list[Open]:
        """Open impressions shown before a time, oldest first."""

    def open_count(self, model: int) -> int:
        """How many impressions wait for clicks."""

    def newest_open(self, model: int, limit: int) -> list[Open]:
        """Open impressions, the newest first."""

    def tallies(self, model: int, since_minute: int = 0, *, span: int = 1, rank: int | None = None) -> list[Tally]:
        """What closed impressions add up to, in spans of so many minutes that begin at `since_minute` or later."""

    def models(self) -> list[StoredModel]:
        """All models that were not deleted."""

    def newest_snapshot(self, model: int) -> Snapshot | None:
        """The newest state of a model."""

    def newest_versions(self) -> dict[int, tuple[int, int]]:
        """For each model, (version, offset) of its newest snapshot."""

    def snapshot(self, model: int, version: int) -> Snapshot | None:
        """One state of a model."""

    def snapshots(self, model: int) -> list[Snapshot]:
        """All states that are kept, newest first, without the states themselves."""

    def api_keys(self) -> list[ApiKey]:
        """All keys, revoked ones too."""

    def secrets(self) -> list[Secret]:
        """Signing secrets, newest first."""

    def fact(self, name: str) -> str | None:
        """A small thing to remember about the store."""

    def export_rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""

    def count_rows(self) -> dict[str, int]:
        """Rows by table."""


class Store(Reader, Protocol):
    """Where a log lies."""

    shared: bool
    """Whether other processes may rank and learn on the same log."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Hold the log; commit durably at the end, or roll back if an error leaves the block."""

    def reserve(self, model: int, count: int) -> int:
        """The first of `count` impression numbers that nobody else gets."""

    def forget_snapshots(self, model: int, versions: Iterable[int]) -> None:
        """Thin out history."""

    def add_api_key(self, key: ApiKey) -> bool:
        """Keep a key; False if the name is taken."""

    def replace_api_key(self, key: ApiKey) -> None:
        """The same name, another secret."""

    def revoke_api_key(self, name: str, at: int) -> bool:
        """No longer accept a key; False if there is none of that name."""

    def add_secret(self, value: bytes, at: int) -> None:
        """A new secret that signs from now on."""

    def drop_secrets(self, before: int) -> int:
        """Forget secrets that were replaced before a time; how many."""

    def set_fact(self, name: str, value: str) -> None:
        """Remember it, in the place of what was known before."""

    def keep_fact(self, name: str, value: str) -> str:
        """Remember it, unless something is known already; what is known from now on, the same for all who ask."""

    def lease(self, name: str) -> Lease | None:
        """Held by one process at a time and freed when that process dies; None if taken."""

    # Keeping a log

    def at_one_moment(self) -> AbstractContextManager[Reader]:
        """The log as it is now, whatever is written meanwhile; nobody waits for the reader. For use in one thread."""

    def add_rows(self, frames: Iterable[tuple[str, Rows]]) -> None:
        """Add rows to several tables, all or none."""

    def erase(self, client: bytes) -> int:
        """Blank the impressions of one person, with their clicks; how many. Their places in the log stay.

        The empty client is nobody in particular, and cannot be erased.
        """

    def drop_events(self, before: int) -> int:
        """Delete events before an offset, but for those of open impressions and the models' own; how many.

        The newest event always stays: its place must not be given again.
        """

    def forget_deleted_models(self) -> int:
        """Delete the states and tallies of models that were deleted; how many states."""

    def overwrite_deleted(self) -> None:
        """From now on, what this store deletes is overwritten rather than left for whoever looks closely at its files.

        A server does that when it vacuums.
        """

    def reclaim(self, *, alone: bool) -> Reclaimed:
        """Let the room of deleted rows be used again; the disk gets it back if whoever asks is alone with the log."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files, in sentences; a server's are its administrator's."""

    def copy_to(self, path: Path) -> bool:
        """Copy the whole store, as it is at one moment, into a file; False where the files are a server's."""

    def close(self) -> None:
        """Let go of the store."""
