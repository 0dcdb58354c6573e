"""A model's weights anew, from what is left in its log: what nobody's events say any more is no longer in them.

Computing them changes nothing. First it is shown how far the new state is from the one that is served (`compare`); only
when somebody agrees does it go into the log (`serve`), as a roll back does. So a service that is learning takes it over
without a pause, and the log alone still tells what the weights are. Older snapshots stay, so that a roll back returns
to what was, until somebody lets go of them, too.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np

from rankloop.errors import SettingsError
from rankloop.live.errors import StateError
from rankloop.live.events import FOLDED, Event, Kind, Promoted, Restored, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.kept import restored_by
from rankloop.live.loading import UNREADABLE, beginning_of, begun, closed_impression, settings_of, sources_of, take_in
from rankloop.live.log import Control, settle
from rankloop.live.redrawing import Redrawing
from rankloop.live.stores import each_event
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import Snapshot, StoredModel
from rankloop.logs.access import (
    clean_since,
    existing,
    find_model,
    note_clean,
    place_of,
    remembering_events,
    upkeep_lease,
)
from rankloop.logs.comparing import Difference, HeldOut, compare
from rankloop.logs.exported import Progress, silent
from rankloop.logs.replay.folding import live_at

ANEW = (Kind.REFOLDED, Kind.ROLLED_BACK, Kind.PROMOTED)
"""Returns to states that are computed anew as well."""
PATIENCE = 30.0
"""Seconds in which a service that is learning should have kept the new state; it takes one or two."""


class Refolded(msgspec.Struct, frozen=True):
    """What a refold did.

    Attributes:
        model: its name.
        offset: where the new state stands in the log.
        version: of the snapshot that holds it; None if the service has not kept one yet.
        learned: how many impressions the new weights have learned from.
        redrawn: how many of them count as if the new weights had ordered them, since the old ones, which did, had
            learned from what was erased.
        distance: how far they are from the old ones.
        begins: `the beginning`, or the version that the oldest events left build on.
        kept_states: roll backs in the log to states of which it is not known where they were: they are as they were.
        lost_states: such roll backs to states that cannot be read: they are passed over.
        forgotten: snapshots that were deleted: damaged ones and, if that was asked for, those from before.
        remembers: whether the new weights may have learned from what was erased, too: where they began, that was known.
        remembering: snapshots that are still there, and may have learned from what was erased since.
        remembering_events: rollbacks, refolds and promotions in the log whose states may have, too.
    """

    model: str
    offset: int
    version: int | None
    learned: int
    redrawn: int
    distance: float
    begins: str
    kept_states: int
    lost_states: int
    forgotten: int
    remembers: bool
    remembering: int
    remembering_events: int


@contextmanager
def refolding(address: str | Path, name: str) -> Iterator["Refolding"]:
    """A refold of a model; no other upkeep of its log runs until it has been decided about."""
    with existing(address) as store, upkeep_lease(store):
        yield Refolding(store, find_model(store, name))


class Refolding:
    """A model's state computed anew, beside the one that is served."""

    def __init__(self, store: Store, model: StoredModel) -> None:
        self._store, self._model = store, model
        self._again = _Again(store, model)
        self._old = _newest(store, model)
        self.is_damaged = _first_readable(store, model, list(store.snapshots(model.id))[:1]) is None
        """Whether the state that would be served cannot be read: then pages come in the incoming order."""

    @property
    def begins(self) -> str:
        """From where it is computed: `the beginning`, or a version."""
        return self._again.begins

    @property
    def learned(self) -> int:
        """How many impressions the new state has learned from so far."""
        return self._again.fold.fates["learned"]

    @property
    def redrawn(self) -> int:
        """How many of them count as if it had ordered them (`live.redrawing`)."""
        return self._again.redrawn

    @property
    def remembers(self) -> bool:
        """Whether the new state may have learned from what was erased: it goes on from a state that may have."""
        return self._again.remembers

    def compare(self, progress: Progress = silent) -> Difference:
        """Compute the new state, and how far it is from the old one. The log stays as it is."""
        held_out, then = HeldOut(self._store, self._model), None
        if held_out.since > self._again.fold.offset:
            self._again.follow(progress, until=held_out.since)
            with suppress(StateError):
                old = live_at(self._store, self._model, held_out.since)
                then = old.fold.view(), self._again.fold.view()
        self._follow(progress)
        return compare(self._old, self._again.fold, then, held_out)

    def serve(self, at: int, *, forget: bool = False) -> Refolded:
        """Go on from the new state; with `forget`, older snapshots go, and with them the way back."""
        store, model, again = self._store, self._model, self._again
        self._follow(silent)
        if again.remembers:
            note_clean(store, model.id, None)
        with store.transaction() as transaction:
            # Nobody writes now: the little that came meanwhile, and the new state goes right behind it.
            self._follow(silent)
            body = encode(Restored(self._old.version, again.fold.state(), with_influence=True))
            [offset] = settle(transaction, [Control(model.id, Kind.REFOLDED, at, body)])
        if not again.remembers and clean_since(store, model.id) is None:
            note_clean(store, model.id, offset)
        version = _kept(store, model, offset, at)
        forgotten = _forget_older(store, model, offset, forget) if version is not None else 0
        return Refolded(
            model=model.name,
            offset=offset,
            version=version,
            learned=again.fold.fates["learned"],
            redrawn=again.redrawn,
            distance=float(np.linalg.norm(again.fold.ranker.weights - self._old.ranker.weights)),
            begins=again.begins,
            kept_states=again.kept_states,
            lost_states=again.lost_states,
            forgotten=forgotten,
            remembers=again.remembers,
            remembering=len(_remembering(store, model, offset)),
            remembering_events=remembering_events(store, model.id, sources_of(store, model)),
        )

    def _follow(self, progress: Progress) -> None:
        self._again.follow(progress)
        _follow(self._store, self._model, self._old)


class _Again:
    """A model's fold from the oldest events left; where the first are gone, from the oldest state that knows nothing of
    what was erased, or else from the oldest. Later refolds are passed over: they held what was erased since."""

    def __init__(
        self, store: Store, model: StoredModel, sources: tuple[int, ...] | None = None, *, in_doubt: bool = False
    ) -> None:
        self._store, self._model = store, model
        self._sources = sources or sources_of(store, model)
        self._since = None if in_doubt else clean_since(store, model.id)
        self.kept_states = self.lost_states = 0
        self.remembers = False
        """Whether it goes on from a state that may have learned from what was erased."""
        self.fold, self.begins = self._beginning()
        self.fold.redrawing = self._redrawing()
        wanted = each_event(store, kinds=(Kind.ROLLED_BACK,), model=model.id)
        self._wanted = {place_of(event) for event in wanted}
        self._states: dict[int, bytes] = {}

    def _beginning(self) -> tuple[Fold, str]:
        if fold := _as_made(self._store, self._model):
            return fold, "the beginning"
        kept = self._store.snapshots(self._model.id)
        oldest_first = sorted(kept, key=lambda snapshot: (self._is_doubtful(snapshot.offset), snapshot.offset))
        if fold := _first_readable(self._store, self._model, oldest_first):
            # What has closed no page yet has learned nothing.
            self.remembers = bool(fold.fates) and self._is_doubtful(fold.offset)
            return fold, f"version {fold.version}"
        raise SettingsError(f"refold: {self._model.name} has neither its first events nor a readable snapshot left")

    def _is_doubtful(self, place: int) -> bool:
        """Whether a state that was kept there may have learned from what was erased: any from before the refold since
        which the model is clean, for pages that were compacted away may have been anybody's."""
        return self._since is None or (self._since > 0 and place < self._since)

    def _redrawing(self) -> Redrawing | None:
        """Of pages that were drawn by weights which may have learned from what was erased."""
        erased = self._store.events(0, 1, kinds=(Kind.ERASED,), model=self._sources)
        return Redrawing(erased[0].offset, clean_since(self._store, self._model.id)) if erased else None

    @property
    def redrawn(self) -> int:
        """How many pages would have had another order."""
        return self.fold.redrawing.pages if self.fold.redrawing else 0

    def follow(self, progress: Progress, until: int | None = None) -> None:
        """Fold what is in the log by now, or up to an offset."""
        last, redrawing = self._store.last_offset(), self.fold.redrawing
        kinds = (*FOLDED, Kind.SHOWN) if redrawing else FOLDED
        for event in each_event(self._store, self.fold.offset, kinds=kinds, model=self._sources):
            if until is not None and event.offset > until:
                break
            if redrawing and event.kind == Kind.SHOWN:
                with suppress(*UNREADABLE):  # nobody learns from it, either
                    redrawing.see(self.fold, event)
                continue
            self._remember(event.offset)
            self._apply(event)
            progress(event.offset, last)

    def _remember(self, upcoming: int) -> None:
        """Keep the state if a later roll back returns to it: the newest before that event's place."""
        for offset in [offset for offset in self._wanted if 0 <= offset < upcoming]:
            self._wanted.discard(offset)
            self._states[offset] = self.fold.state()

    def _apply(self, event: Event) -> None:
        if event.model == self._model.id and event.kind in ANEW:
            match event.kind:
                case Kind.REFOLDED:
                    self.fold.offset = event.offset
                case Kind.ROLLED_BACK:
                    self._roll_back(event)
                case Kind.PROMOTED:
                    self._promote(event)
            return
        try:
            take_in(self._model.id, self.fold, event, closed_impression(self._store, event))
        except StateError:  # an event that cannot be read, as verifying has told
            self.fold.offset = event.offset

    def _roll_back(self, event: Event) -> None:
        """Return to the state that is now at that place; if it is not known which, to the one that was."""
        if (place := place_of(event)) in self._states:
            state = Restored(restored_by(event).version, self._states[place], place)
            self.fold.apply(event._replace(body=encode(state)))
            return
        try:
            self.fold.apply(event)
            self.kept_states += 1
            self.remembers |= self._is_doubtful(place)
        except StateError:
            self.lost_states += 1

    def _promote(self, event: Event) -> None:
        """Go on from what the challenger has learned from the pages that are left; if that cannot be told, from what it
        had learned when it was promoted."""
        promoted: Promoted = decode(event.kind, event.body)
        try:
            challenger = StoredModel(promoted.model, "", promoted.settings, 0)
            sources = promoted.model, self._model.id
            again = _Again(self._store, challenger, sources, in_doubt=self._since is None)
            again.follow(silent, until=promoted.offset)
            state, remembers = again.fold.state(), again.remembers
        except SettingsError:
            self.kept_states += 1
            state, remembers = promoted.state, self._is_doubtful(promoted.offset)
        try:
            self.fold.apply(event._replace(body=encode(msgspec.structs.replace(promoted, state=state))))
            self.remembers |= remembers
        except StateError:
            self.lost_states += 1


def _as_made(store: Store, model: StoredModel) -> Fold | None:
    """The model before its first event, if all of its events are in the log."""
    if (begins := beginning_of(store, model)) is None:
        return None
    fold = begun(store, model)
    fold.offset = begins
    return fold


def _first_readable(store: Store, model: StoredModel, snapshots: Iterable[Snapshot]) -> Fold | None:
    """The first of these states that is not damaged."""
    for snapshot in snapshots:
        kept = store.snapshot(model.id, snapshot.version)
        with suppress(StateError):
            if kept is not None:
                return Fold.restored(settings_of(model), kept.state, kept.offset)
    return None


def _newest(store: Store, model: StoredModel) -> Fold:
    """The newest state that can be read; where none can, the one that the model began with."""
    fold = _first_readable(store, model, store.snapshots(model.id)) or _as_made(store, model)
    assert fold is not None, "the new state had to begin somewhere, too"
    return fold


def _follow(store: Store, model: StoredModel, fold: Fold) -> None:
    """Bring a state up to the end of the log. A return to one that cannot be read is passed over: a refold follows."""
    for event in each_event(store, fold.offset, kinds=FOLDED, model=sources_of(store, model)):
        try:
            take_in(model.id, fold, event, closed_impression(store, event))
        except StateError:
            fold.version += 1


def _kept(store: Store, model: StoredModel, offset: int, at: int) -> int | None:
    """The version of a snapshot that holds the new state: written here, or by the service that is learning."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        version, newest = store.newest_versions().get(model.id, (-1, -1))
        if newest >= offset:
            return version
        lease = store.lease(f"model-{model.id}")
        if lease is not None:
            try:
                return _save(store, model, at)
            finally:
                lease.release()
        time.sleep(0.05)
    return None


def _save(store: Store, model: StoredModel, at: int) -> int | None:
    fold, (newest, expects) = _newest(store, model), store.newest_versions().get(model.id, (-1, -1))
    _follow(store, model, fold)
    # A state that could not be read may have been of a later version than what the log gives without it.
    fold.version = max(fold.version, newest + 1)
    snapshot = Snapshot(model.id, fold.version, fold.offset, at, fold.state())
    with store.transaction() as transaction:
        kept = transaction.save_snapshot(snapshot, expects)
    return fold.version if kept else None


def _forget_older(store: Store, model: StoredModel, offset: int, forget: bool) -> int:
    """Forget the states that are damaged and, if somebody agreed, those that may have learned from what was erased."""
    older = [snapshot for snapshot in store.snapshots(model.id) if snapshot.offset < offset]
    doomed = {snapshot.version for snapshot in older if _first_readable(store, model, [snapshot]) is None}
    if forget:
        doomed |= set(_remembering(store, model, offset))
    store.forget_snapshots(model.id, doomed)
    return len(doomed)


def _remembering(store: Store, model: StoredModel, refolded: int) -> list[int]:
    """Versions from before a refold that may have learned from what was erased, but for the one with which a model
    begins. If the refold has, too, the oldest is needed: nothing that is left knows less."""
    since, kept = clean_since(store, model.id), store.snapshots(model.id)
    if since is None:
        return [snapshot.version for snapshot in kept[:-1] if snapshot.offset < refolded]
    return [snapshot.version for snapshot in kept if snapshot.version > 0 and snapshot.offset < since]
