"""How the tools of a log come by it: a log that is there, one of them at a time, a model by its name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankloop.errors import SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.stores import Reader, Store, is_server, opened
from rankloop.live.stores.rows import StoredModel

COMPACTED = "compacted"
"""The fact that holds the offset below which events may be missing, because they were deleted on purpose."""


@contextmanager
def existing(address: str | Path) -> Iterator[Store]:
    """The store at an address; a file that is not there is a mistake, and is not made."""
    if not is_server(address) and not Path(address).is_file():
        raise SettingsError(f"log: there is no log at {address}; give the file of a service, or postgresql://…")
    with opened(address) as store:
        yield store


@contextmanager
def at_one_moment(address: str | Path) -> Iterator[Reader]:
    """The log at an address as it is now, for reading, whatever is written meanwhile."""
    with existing(address) as store, store.at_one_moment() as moment:
        yield moment


def nobody_learns(store: Store, models: Iterable[StoredModel]) -> bool:
    """Whether no process holds the lease of any of these models."""
    leases = [store.lease(f"model-{model.id}") for model in models]
    for lease in leases:
        if lease is not None:
            lease.release()
    return all(lease is not None for lease in leases)


@contextmanager
def upkeep_lease(store: Store) -> Iterator[None]:
    """One upkeep of a log at a time: what one deletes, another must not be reading."""
    lease = store.lease("upkeep")
    if lease is None:
        raise StoreError(f"{store}: another upkeep of this log is running; wait until it has ended")
    try:
        yield
    finally:
        lease.release()


def find_model(store: Reader, name: str) -> StoredModel:
    """A model by name; refused with the names there are."""
    models = store.models()
    for model in models:
        if model.name == name:
            return model
    there = ", ".join(model.name for model in models) or "none at all"
    raise SettingsError(f"model: there is no model {name!r} in this log; there is {there}")
