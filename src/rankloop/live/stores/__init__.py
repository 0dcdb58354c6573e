"""Where a log lies: one SQLite file, or a PostgreSQL server. A new kind of store is one new file and one line here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankloop.live.errors import StoreError
from rankloop.live.stores.contract import Store
from rankloop.live.stores.sqlite import SQLiteStore

__all__ = ["SQLiteStore", "Store", "open_store", "opened"]


def open_store(address: str | Path, *, serving: bool = False) -> Store:
    """The store at a path (SQLite) or a connection string (`postgresql://…`), made if it is new."""
    told = str(address)
    if told.startswith(("postgresql://", "postgres://")):
        try:
            from rankloop.live.stores.postgres import PostgresStore
        except ImportError as missing:
            raise StoreError(
                f"a PostgreSQL store needs psycopg, which cannot be loaded ({missing}): "
                f"pip install 'rankloop[postgres]'"
            ) from None
        return PostgresStore(told)
    if "://" in told:
        raise StoreError(f"a store is a SQLite file or postgresql://…; got {told.partition('://')[0]}://…")
    if Path(told).is_dir():
        raise StoreError(f"{told} is a folder; give a file in it, such as {Path(told) / 'rankloop.db'}")
    return SQLiteStore(told, background_checkpoints=serving)


@contextmanager
def opened(address: str | Path) -> Iterator[Store]:
    """The store at an address, let go of at the end."""
    store = open_store(address)
    try:
        yield store
    finally:
        store.close()
