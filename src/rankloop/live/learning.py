"""The learner: follows the log, folds what was closed, publishes the new state and keeps snapshots.

One process learns for a model at a time: it holds the model's lease, and a snapshot is only kept if it builds on the
newest one, so even a learner that lost its lease without noticing cannot undo another's work. If it falls behind or
dies, ranking goes on with the last state.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rankloop.live import tracing
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import FOLDED, Event
from rankloop.live.fold import Fold, stand_in
from rankloop.live.loading import load, parent_of, read_page, take_in
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import Snapshot, StoredModel
from rankloop.live.views import View

log = logging.getLogger("rankloop.learner")

BATCH = 256
GATHER_SECONDS = 0.01
"""How long what was closed may gather before it is learned from together, unless somebody waits for it."""
POLL = 0.05
"""How often a shared log is looked at, in seconds; one's own writes are noticed at once."""
SLICE = 64
"""Events that a challenger catches up with before others have their turn."""
SNAPSHOT_SECONDS = 1.0
END_SECONDS = 10.0
"""How long a learner that is to end may take; what it has not kept by then is learned again from the log."""
LAG = 10_000
"""An idle model's snapshot is moved up the log when it is this many events behind, so that a restart is quick."""
KEPT = 20
"""How many of the newest snapshots are kept; beyond them, ever fewer."""
SPACING = 0.1
"""How far apart older snapshots are kept, as a share of their age: of four an hour, some 120 stay of a year."""

TURNED = {
    True: "its order gets fewer clicks than the control's, beyond chance: most people see the incoming order now",
    False: "its order no longer gets fewer clicks than the incoming one: people see it again",
}


OUTLYING = (
    "had a value more than a thousand deviations from all others: a mistake, or another unit? It was brought in; "
    "rankloop_outlying_pages_total counts such pages"
)


class Learner:
    """Learns for every model whose lease it holds, in a thread of its own."""

    def __init__(self, store: Store, publish: Callable[[int, View], None], now: Callable[[], int]) -> None:
        self._store = store
        self._publish = publish
        self._now = now
        self._folds: dict[int, Fold] = {}
        self._saved: dict[int, int] = {}
        self._changed: set[int] = set()
        self._leases: dict[int, Any] = {}
        self._damaged: dict[int, tuple[int, int]] = {}
        """Models whose newest snapshot, of this version and offset, cannot be read."""
        self._challenged: dict[int, int] = {}
        """Of each challenger that is learned here, the model whose pages it learns from."""
        self._behind: set[int] = set()
        """Challengers that are still on older pages: they catch up beside what comes in."""
        self._position = 0
        self._snapshot_at = 0.0
        self._wake = threading.Event()
        self._hurried = threading.Event()
        self._stopped = False
        self.error: str | None = None
        self._thread = threading.Thread(target=self._run, name="rankloop-learner", daemon=True)

    def start(self) -> None:
        """Begin to follow the log."""
        self._thread.start()

    def wake(self) -> None:
        """There is something new in the log."""
        self._wake.set()

    def hurry(self) -> None:
        """Somebody waits for what is in the log to be learned."""
        self._hurried.set()
        self._wake.set()

    def keep(self) -> None:
        """Somebody waits for what was learned to be kept."""
        self._snapshot_at = 0.0
        self.hurry()

    def stop(self) -> None:
        """Keep what was learned, and end."""
        self._stopped = True
        self.hurry()
        if self._thread.ident:
            self._thread.join(END_SECONDS)

    @property
    def alive(self) -> bool:
        """Whether anybody is learning here."""
        return self._thread.is_alive()

    def folds(self) -> dict[int, Fold]:
        """The states that this process is learning, by model."""
        return dict(self._folds)

    def _run(self) -> None:
        while not self._stopped:
            if self._wake.wait(POLL if self._store.shared else 1.0):
                # What comes within a moment is looked up together; under load that is most of the work.
                self._hurried.wait(GATHER_SECONDS)
            self._hurried.clear()
            self._wake.clear()
            try:
                self._adopt()
                while self._step() and not self._stopped:
                    self._save_when_due()
                self._save_when_due()
                self.error = None
            except StoreError as error:
                # Ranking goes on with the last state; the log keeps what is to be learned.
                if self.error is None:
                    log.warning("learning waits: %s", error)
                self._begin_again(str(error))
            except Exception as error:
                if self.error is None:
                    log.exception("learning failed; it begins again from the last snapshot")
                # Perhaps another process does better.
                for model in list(self._leases):
                    self._let_go(model)
                self._begin_again(f"learning failed and is tried again: {error!r}")
        self._end()

    def _begin_again(self, error: str) -> None:
        """Forget states that may hold half a batch; the newest snapshot and the log have all of it."""
        self.error = error
        self._folds.clear()
        self._behind.clear()
        self._position = 0
        time.sleep(0.2)

    def _end(self) -> None:
        try:
            self._save()
        except StoreError as error:
            log.warning("the last snapshot was not written (%s); the log has all of it", error)
        for lease in self._leases.values():
            lease.release()

    def _adopt(self) -> None:
        """Take the lease of every model that nobody learns for, and go on from its newest snapshot."""
        stored = {model.id: model for model in self._store.models()}
        for gone in set(self._leases) - set(stored):
            self._let_go(gone)
        newest = self._store.newest_versions() if self._damaged else {}
        for model in stored.values():
            if model.id in self._damaged and newest.get(model.id) == self._damaged[model.id]:
                continue
            if model.id in self._leases and not self._leases[model.id].alive():
                self._let_go(model.id)
            if model.id not in self._leases:
                lease = self._store.lease(f"model-{model.id}")
                if lease is None:
                    continue
                self._leases[model.id] = lease
            if model.id not in self._folds:
                self._load(model)

    def _let_go(self, model: int) -> None:
        self._leases.pop(model).release()
        self._folds.pop(model, None)
        self._challenged.pop(model, None)
        self._behind.discard(model)

    def _load(self, model: StoredModel) -> None:
        try:
            fold, saved = load(self._store, model)
            parent = parent_of(self._store, fold.settings)
        except StateError as error:
            self._set_aside(model.id, error)
            return
        self._damaged.pop(model.id, None)
        self._folds[model.id], self._saved[model.id] = fold, saved
        if parent is not None:
            self._challenged[model.id] = parent.id
        if model.id in self._challenged and len(self._folds) > 1:
            # A challenger begins with the oldest pages that are left. The others do not wait for it.
            if fold.offset < self._position:
                self._behind.add(model.id)
        else:
            self._position = min(self._position, fold.offset) if len(self._folds) > 1 else fold.offset
        if saved < 0:
            self._changed.add(model.id)
        self._publish(model.id, fold.view())

    def _set_aside(self, model: int, damage: StateError) -> None:
        """Let go of a model whose state cannot be read: a refold, which goes by the log, can then put a new one in its
        place."""
        log.warning("%s; the other models learn on", damage)
        self._damaged[model] = self._store.newest_versions()[model]
        self._let_go(model)

    def _step(self) -> bool:
        """Fold the next events, if there are any; whether there is more to do."""
        events = self._store.events(self._position, BATCH, kinds=FOLDED) if self._folds else []
        changed: set[int] = set()
        for event in events:
            shown = read_page(self._store, event)
            for number in (event.model, *(own for own, other in self._challenged.items() if other == event.model)):
                fold = self._folds.get(number)
                if fold is None or number in self._behind or event.offset <= fold.offset:
                    continue
                if self._apply(number, fold, event, shown):
                    changed.add(number)
        if events:
            self._position = events[-1].offset
            for number, fold in self._folds.items():
                if number not in self._behind:
                    fold.offset = max(fold.offset, self._position)
        self._changed |= changed
        if self._store.shared and changed:
            # Others rank from snapshots, so they are written as soon as there is something to see.
            self._save()
        self._publish_all(changed)
        return len(events) == BATCH or self._catch_up()

    def _publish_all(self, changed: set[int]) -> None:
        for model in changed:
            if model in self._folds:
                self._publish(model, self._folds[model].view())

    def _catch_up(self) -> bool:
        """Let challengers learn from a few older pages, and rest as long as that took; whether there are more."""
        began = time.monotonic()
        for number in sorted(self._behind):
            fold = self._folds[number]
            sources = (number, self._challenged[number])
            events = self._store.events(fold.offset, SLICE, kinds=FOLDED, model=sources)
            events = [event for event in events if event.offset <= self._position]
            for event in events:
                if not self._apply(number, fold, event, read_page(self._store, event)):
                    break
            else:
                if len(events) < SLICE:
                    fold.offset = max(fold.offset, self._position)
                    self._behind.discard(number)
            self._changed.add(number)
            self._publish_all({number})
        if self._behind and not self._stopped:
            # Pages go first: whatever is new ends the rest.
            self._wake.wait(time.monotonic() - began)
        return bool(self._behind)

    def _apply(self, number: int, fold: Fold, event: Event, shown: "Event | StateError | None") -> bool:
        """Take one event in; False if that cannot be done, such as a return to a state that cannot be read: then its
        model waits for a refold. Nothing that goes wrong with a challenger keeps others from learning."""
        guarded, outlying = fold.guarded, set(fold.outliers)
        try:
            with tracing.learning(event.model, event.number):
                if isinstance(shown, StateError):
                    raise shown
                take_in(number, fold, event, shown)
        except StateError as error:
            self._give_up(number, fold, event, error)
            return False
        except StoreError:
            raise
        except Exception as error:
            if number not in self._challenged:
                raise
            log.exception("challenger %r cannot learn from event %d", fold.settings.name, event.offset)
            sentence = f"model {fold.settings.name!r}: it cannot learn from event {event.offset} ({error!r}); drop it"
            self._give_up(number, fold, event, StateError(sentence))
            return False
        if fold.guarded != guarded:
            log.warning("model %r: %s", fold.settings.name, TURNED[fold.guarded])
        for feature in fold.outliers.keys() - outlying:
            log.warning("model %r: feature %r %s", fold.settings.name, feature, OUTLYING)
        return True

    def _give_up(self, number: int, fold: Fold, event: Event, error: StateError) -> None:
        self._set_aside(number, error)
        self._publish(number, stand_in(fold.settings, fold.version, event.offset, str(error)))

    def _save_when_due(self) -> None:
        if time.monotonic() - self._snapshot_at >= SNAPSHOT_SECONDS:
            self._snapshot_at = time.monotonic()
            self._save()

    def _save(self) -> None:
        """Snapshots of what has changed, and of what is far behind; each is one record with its place in the log."""
        for model, fold in list(self._folds.items()):
            if model not in self._changed and fold.offset - self._saved[model] <= LAG:
                continue
            snapshot = Snapshot(model, fold.version, fold.offset, self._now(), fold.state())
            with self._store.transaction() as transaction:
                kept = transaction.save_snapshot(snapshot, expects=self._saved[model])
            self._changed.discard(model)
            if not kept:
                log.warning("model %d is learned elsewhere; this process lets go of it", model)
                self._let_go(model)
                continue
            self._saved[model] = fold.offset
            self._thin(model)

    def _thin(self, model: int) -> None:
        doomed = superfluous(self._store.snapshots(model))
        if len(doomed) >= KEPT:
            self._store.forget_snapshots(model, doomed)


def superfluous(snapshots: Sequence[Snapshot]) -> list[int]:
    """Versions, of snapshots from newest to oldest, that history can do without.

    The newest stay, and the oldest: where the model began. One between them can go if those around it are then still
    close together for their age, so the past is dense where people roll back to, and never grows much.
    """
    doomed = []
    newest, last = snapshots[0].at if snapshots else 0, 0
    for place, snapshot in enumerate(snapshots):
        older = snapshots[place + 1].at if place + 1 < len(snapshots) else None
        if place < KEPT or older is None or last - older > SPACING * (newest - older):
            last = snapshot.at
        else:
            doomed.append(snapshot.version)
    return doomed
