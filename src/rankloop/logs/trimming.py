"""Keeping a log small, and forgetting people. Both run beside a service, in short transactions.

Compacting deletes what is older than wanted, as far as the models can do without: a model's newest state must always be
computable from a snapshot and the events after it.
"""

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from rankloop.errors import SettingsError
from rankloop.live.clients import SALT, client_hash
from rankloop.live.events import ENDED, Closing, Kind, Late, decode
from rankloop.live.loading import UNREADABLE, sources_of
from rankloop.live.stores import each_event
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import StoredModel
from rankloop.logs.access import CLEAN, COMPACTED, existing, nobody_learns, note_clean, upkeep_lease
from rankloop.logs.exported import Progress, silent
from rankloop.settings import require_number

DAY = 86_400_000
STEP = 2_000
"""Events that are deleted in one transaction: some hundredths of a second in which nobody else writes."""
CHUNK = 1_000
HASH = "hash:"
"""Before what the log keeps of a client's name, in the place of the name."""


class Compacted(msgspec.Struct, frozen=True):
    """What compacting did.

    Attributes:
        events: how many were deleted.
        snapshots: how many were deleted.
        first_offset: where the log now begins, but for open impressions and the creation of models.
        begins: when that was, in milliseconds since 1970; None for an empty log.
        freed_bytes: what the disk got back; 0 where the room is kept for new events.
        shrunk: whether the file was rewritten.
    """

    events: int
    snapshots: int
    first_offset: int
    begins: int | None
    freed_bytes: int
    shrunk: bool


class Erased(msgspec.Struct, frozen=True):
    """What was erased of a person: impressions, with their clicks; and the models whose weights may remember them."""

    impressions: int
    models: list[str]


def compact(address: str | Path, keep_days: float, at: int, progress: Progress = silent) -> Compacted:
    """Delete what is older than `keep_days` and not needed to compute anything that is kept."""
    require_number("compact", "keep-days", keep_days, at_least=0, at_most=36_500)
    with existing(address) as store, upkeep_lease(store):
        models = store.models()
        first = _first_since(store, at - int(keep_days * DAY))
        bases = {model.id: _base(store, model, first) for model in models}
        cut = min([first, *(base + 1 for base in bases.values())])
        cut = _oldest_needed(store, bases, cut)
        # Said before it is done: a gap that nobody announced is a fault.
        store.set_fact(COMPACTED, str(max(cut, int(store.fact(COMPACTED) or 0))))
        store.overwrite_deleted()
        snapshots = _drop_snapshots(store, bases)
        events = _drop_events(store, cut, progress)
        reclaimed = store.reclaim(alone=nobody_learns(store, models))
        begins = store.events(cut - 1, 1)
        return Compacted(
            events=events,
            snapshots=snapshots,
            first_offset=cut,
            begins=begins[0].at if begins else None,
            freed_bytes=reclaimed.freed_bytes,
            shrunk=reclaimed.shrunk,
        )


def read_clients(path: Path) -> list[str]:
    """Names as they were sent, one per line; or, after `hash:`, what the log keeps of them."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"erase: {path} cannot be read ({error}); it should have one client per line") from None
    return [line.strip() for line in lines if line.strip()]


def erase(address: str | Path, *clients: str) -> Erased:
    """Blank people's impressions and clicks. Their places in the log stay, and so does what models learned."""
    if not clients or not all(clients):
        raise SettingsError("erase: give the client's name, as it was sent with rank requests; it was empty")
    with existing(address) as store, upkeep_lease(store):
        salt = store.fact(SALT)
        if salt is None:
            return Erased(0, [])
        hashed = [_hashed(client, bytes.fromhex(salt)) for client in clients]
        before = store.erased_events()
        # Doubted before it is done: killed in between, a model must not pass for one that remembers nobody.
        clean = {model.id: since for model in store.models() if (since := _passes_for_clean(store, model))}
        for model_id in clean:
            note_clean(store, model_id, None)
        store.overwrite_deleted()
        impressions = sum(store.erase(one) for one in hashed)
        after = store.erased_events()
        # A challenger has learned from the pages of the model that it challenges.
        more = {number for number, count in after.items() if count > before.get(number, 0)}
        met = [model for model in store.models() if more & set(sources_of(store, model))]
        for model in met:
            note_clean(store, model.id, None)
        for model_id in clean.keys() - {model.id for model in met}:
            note_clean(store, model_id, int(clean[model_id]))
        if impressions:
            store.reclaim(alone=nobody_learns(store, store.models()))
        return Erased(impressions, [model.name for model in met])


def _passes_for_clean(store: Store, model: StoredModel) -> str | None:
    """The place from which a model is said to be clean; of a challenger that was never doubted, its beginning, for no
    erased page of its own would tell that it is not."""
    since = store.fact(f"{CLEAN}-{model.id}")
    return "0" if since is None and len(sources_of(store, model)) > 1 else since


def _hashed(client: str, salt: bytes) -> bytes:
    if not client.startswith(HASH):
        return client_hash(client, salt)
    try:
        return bytes.fromhex(client.removeprefix(HASH))
    except ValueError:
        raise SettingsError(f"erase: after {HASH} there must be hexadecimal digits; got {client!r}") from None


def _first_since(store: Store, since: int) -> int:
    """The offset of the first event at a time or after it: times grow with offsets, but for moments."""
    low, high = 0, store.last_offset()
    while low < high:
        middle = (low + high) // 2
        next_event = store.events(middle, 1)
        if next_event and next_event[0].at < since:
            low = next_event[0].offset
        else:
            high = middle
    return low + 1


def _base(store: Store, model: StoredModel, first: int) -> int:
    """The snapshot that what is kept of a model builds on: the oldest that has seen everything before an offset.

    Without one that new (its learner is off) it is the newest, and the events after it stay, however old they are.
    """
    offsets = [snapshot.offset for snapshot in store.snapshots(model.id)]
    if not offsets:
        # A model without a state of its own must be folded from its creation.
        created = store.events(0, 1, kinds=(Kind.CREATED,), model=sources_of(store, model)[-1])
        return created[0].offset if created else 0
    return min((offset for offset in offsets if offset >= first - 1), default=max(offsets))


def _oldest_needed(store: Store, bases: dict[int, int], cut: int) -> int:
    """The oldest event that something still needs: the page of a closing after its model's base, or an open page.

    Whoever is shown a page from now on finds it beyond the cut.
    """
    for row in store.export_rows("open_impressions"):
        cut = min(cut, row[2])
    for model in store.models():
        base, sources = bases.get(model.id, 0), sources_of(store, model)
        for event in each_event(store, base, kinds=ENDED, model=sources, at_once=CHUNK):
            with suppress(*UNREADABLE):  # of one that cannot be read nobody will need the page
                closing: Closing | Late = decode(event.kind, event.body)
                cut = min(cut, closing.shown)
    return cut


def _drop_snapshots(store: Store, bases: dict[int, int]) -> int:
    """Forget states before each model's base, and all of the models that were deleted, with their tallies."""
    dropped = 0
    for model, base in bases.items():
        older = [snapshot.version for snapshot in store.snapshots(model) if snapshot.offset < base]
        store.forget_snapshots(model, older)
        dropped += len(older)
    return dropped + store.forget_deleted_models()


def _drop_events(store: Store, cut: int, progress: Progress) -> int:
    oldest = store.events(0, 1)
    dropped = 0
    place = oldest[0].offset if oldest else cut
    while place < cut:
        began = time.monotonic()
        place = min(place + STEP, cut)
        dropped += store.drop_events(place)
        progress(place, cut)
        # As long as it took: whoever waits to write gets a turn.
        time.sleep(time.monotonic() - began)
    return dropped
