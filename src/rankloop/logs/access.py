"""How the tools of a log come by it: a log that is there, one of them at a time, a model by its name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankloop.display import listed
from rankloop.errors import SettingsError
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import Event, Kind, decode
from rankloop.live.stores import Reader, Store, each_event, is_server, opened
from rankloop.live.stores.rows import COMPACTED as COMPACTED
from rankloop.live.stores.rows import StoredModel

CLEAN = "clean"
"""With a model's number: the fact that holds the offset from which its states know nothing of what was erased."""


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
        raise StoreError(f"{store}: another maintenance command is running on this log; wait until it has finished")
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
    raise SettingsError(f"model: there is no model {name!r} in this log; {models_there(models)}")


def models_there(models: Iterable[StoredModel]) -> str:
    """Which ones there are, for a sentence."""
    names = [model.name for model in models]
    if not names:
        return "there is none at all"
    return f"there {'is' if len(names) == 1 else 'are'} {listed(names)}"


def clean_since(store: Reader, model: int) -> int | None:
    """The place in the log from which a model's states know nothing of what was erased: 0 if nothing was, None while
    even its newest state may."""
    known = store.fact(f"{CLEAN}-{model}")
    if known is None:
        return None if model in store.erased_events() else 0
    if not known:
        return None
    since = int(known)
    returns = each_event(store, since, kinds=(Kind.ROLLED_BACK, Kind.PROMOTED), model=model)
    # Somebody may have gone back to a state from before, or promoted a challenger that remembers.
    return None if any(place_of(event) < since or _remembers(store, event) for event in returns) else since


def _remembers(store: Reader, event: Event) -> bool:
    """Whether a challenger was promoted that may have learned from what was erased."""
    return event.kind == Kind.PROMOTED and store.fact(f"{CLEAN}-{decode(event.kind, event.body).model}") == ""


def remembering_events(store: Reader, model: int, sources: tuple[int, ...]) -> int:
    """How many events of rollbacks, refolds and promotions hold a state that may have learned from what was erased: no
    refold takes it out of them, but compacting deletes them. `sources`: whose pages the model has learned from."""
    erased = store.events(0, 1, kinds=(Kind.ERASED,), model=sources)
    if not erased:
        return 0
    first, since = erased[0].offset, clean_since(store, model)
    returns = each_event(store, first, kinds=(Kind.ROLLED_BACK, Kind.REFOLDED, Kind.PROMOTED), model=model)
    before = (event for event in returns if since is None or event.offset < since)
    # A state from before the first page that was erased knows nothing of it.
    return sum(event.kind == Kind.REFOLDED or not 0 <= place_of(event) < first for event in before)


def place_of(roll_back: Event) -> int:
    """Where in the log the state was that a roll back returned to; −1 if that is not known."""
    from rankloop.live.kept import restored_by  # with the compiler, which keys and facts of a log can do without

    try:
        return restored_by(roll_back).offset
    except StateError:
        return -1


def note_clean(store: Store, model: int, since: int | None) -> None:
    """From this place on they do; None: something was erased just now."""
    store.set_fact(f"{CLEAN}-{model}", "" if since is None else str(since))
