"""Where a log lies: one SQLite file, or a PostgreSQL server. A new kind of store is one new file and one line here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankloop.live.errors import StoreError
from rankloop.live.events import Event
from rankloop.live.stores.contract import Reader, Store
from rankloop.live.stores.sqlite import SQLiteStore, opened_copy

__all__ = ["Reader", "Store", "each_event", "is_server", "open_store", "opened", "opened_copy"]


def is_server(address: str | Path) -> bool:
    """Whether an address is that of a server rather than a file.

    >>> is_server("shop.db"), is_server("postgresql://localhost/shop")
    (False, True)
    """
    return str(address).startswith(("postgresql://", "postgres://"))


def open_store(address: str | Path, *, serving: bool = False) -> Store:
    """The store at a path (SQLite) or a connection string (`postgresql://…`), made if it is new."""
    place = str(address)
    if is_server(place):
        try:
            from rankloop.live.stores.postgres import PostgresStore
        except ImportError as missing:
            raise StoreError(
                f"a PostgreSQL store needs psycopg, which cannot be loaded ({missing}): "
                f"pip install 'rankloop[postgres]'"
            ) from None
        return PostgresStore(place, serving=serving)
    if "://" in place:
        raise StoreError(f"a store is a SQLite file or postgresql://…; got {place.partition('://')[0]}://…")
    if Path(place).is_dir():
        raise StoreError(f"{place} is a folder; give a file in it, such as {Path(place) / 'rankloop.db'}")
    return SQLiteStore(place, background_checkpoints=serving)


@contextmanager
def opened(address: str | Path) -> Iterator[Store]:
    """The store at an address, let go of at the end."""
    store = open_store(address)
    try:
        yield store
    finally:
        store.close()


def each_event(
    store: Reader,
    after: int = 0,
    *,
    kinds: Sequence[int] | None = None,
    model: int | Sequence[int] | None = None,
    at_once: int = 256,
) -> Iterator[Event]:
    """All events beyond an offset, up to the end of the log, read so many at a time."""
    while events := store.events(after, at_once, kinds=kinds, model=model):
        yield from events
        after = events[-1].offset
