"""Is a log what it should be? Fold it again, and hold every kept snapshot against the result, bit by bit.

A model's fold begins at its creation. Where events were erased or compacted away it cannot be followed, and goes on
from the next snapshot; so everything that can still be computed is, and the report says from where.
"""

import sys
from pathlib import Path

import msgspec
import numpy as np

from rankloop.errors import RankloopError
from rankloop.live.errors import StateError
from rankloop.live.events import FOLDED, Event, Kind
from rankloop.live.fold import Fold
from rankloop.live.loading import begun, closed_impression, take_in
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import Open, Snapshot, StoredModel
from rankloop.logs.access import COMPACTED, clean_since, existing, remembering_events
from rankloop.logs.exported import Progress, silent
from rankloop.logs.structure import ModelRow, Structure
from rankloop.logs.unchanged import Unchanged, each_with_digest

CHUNK = 256


class ModelVerified(msgspec.Struct, frozen=True):
    """What was found of one model.

    Attributes:
        name: the model's.
        folded: how many events were folded.
        snapshots: how many are kept.
        checked: how many of them could be computed again.
        different: how many of those came out differently.
        begins: from where they were computed: `the beginning`, `version 12`, or `nowhere`.
        remembers: whether its weights may have learned from what was erased since.
        after_erasure: how many could not be computed again, because pages before them were erased.
        remembering_events: rollbacks, refolds and promotions in the log whose states may have learned from what was
            erased.
    """

    name: str
    folded: int
    snapshots: int
    checked: int
    different: int
    begins: str
    remembers: bool
    after_erasure: int
    remembering_events: int


class Verified(msgspec.Struct, frozen=True):
    """What was found of a log; `problems` are sentences, and none of them is what one hopes for.

    Attributes:
        events: how many were read.
        unchecked: how many of them have no digest, because they are older than those.
        last_offset: the place of the newest.
        models: what was found of each.
        problems: in sentences.
    """

    events: int
    unchecked: int
    last_offset: int
    models: list[ModelVerified]
    problems: list[str]


def verify(address: str | Path, progress: Progress = silent, only: str | None = None) -> Verified:
    """Check a log, as it is at this moment, beside whoever writes to it; the states of all models, or of one."""
    with existing(address) as store:
        if damage := store.damage():
            return Verified(0, 0, 0, [], damage)
        with store.at_one_moment() as moment:
            return _Verification(moment, only).run(progress)


class _Verification:
    """One walk over a log."""

    def __init__(self, store: Reader, only: str | None) -> None:
        self._store = store
        rows = [ModelRow(*row) for row in store.export_rows("models")]
        self._structure = Structure(rows, int(store.fact(COMPACTED) or 0))
        self._unchanged = Unchanged(store, {row.id: row.name for row in rows})
        known = {row.name: row.id for row in rows if row.deleted is None}
        self._checks = {
            row.id: _Check(store, row, settings, known.get(settings.challenges or ""))
            for row in rows
            if row.deleted is None
            and only in (None, row.name)
            and (settings := self._structure.settings[row.id]) is not None
        }
        self._listeners: dict[int, list[_Check]] = {}
        for check in self._checks.values():
            for source in check.sources:
                self._listeners.setdefault(source, []).append(check)

        self._due = 0
        """The next snapshot to look at, of whatever model."""

    def run(self, progress: Progress) -> Verified:
        last, count = self._store.last_offset(), 0
        for event, digest in each_with_digest(self._store, at_once=CHUNK):
            count += 1
            self._unchanged.take(event, digest)
            self._take(event)
            if count % CHUNK == 0:
                progress(event.offset, last)
        for check in self._checks.values():
            check.compare(up_to=last)
            check.end(last)
        self._structure.end(last, (Open(*row) for row in self._store.export_rows("open_impressions")))
        problems = [
            *self._unchanged.problems,
            *self._structure.problems,
            *(problem for check in self._checks.values() for problem in check.problems),
        ]
        found = [check.result() for check in self._checks.values()]
        return Verified(count, self._unchanged.unchecked, last, found, problems)

    def _take(self, event: Event) -> None:
        expected = self._structure.next
        if event.offset != expected or event.offset > self._due:
            for check in self._checks.values():
                check.compare(up_to=min(event.offset, expected) - 1)
                if event.offset != expected:
                    check.skip_to(event.offset)
            self._due = min((check.due() for check in self._checks.values()), default=sys.maxsize)
        sound = self._structure.take(event)
        for check in self._listeners.get(event.model, ()):
            check.take(event, sound)


class _Check:
    """One model's fold, next to its snapshots."""

    def __init__(self, store: Reader, row: ModelRow, settings: ModelSettings, challenged: int | None) -> None:
        self._store = store
        self.sources = (row.id,) if challenged is None else (row.id, challenged)
        """Whose events it is folded from: a challenger's begin with those of the model that it challenges."""
        self._model = row
        self._settings = settings
        self._kept = sorted(store.snapshots(row.id), key=lambda snapshot: snapshot.offset)
        self._place = 0
        self._fold: Fold | None = None
        self._begins = "nowhere"
        self._folded = self._checked = self._different = self._after_erasure = 0
        self._erased = False
        """Whether the fold ended with a page that was erased."""
        self._problems: list[str] = []
        self._unreadable: list[str] = []
        """Returns to states that cannot be read; a later refold makes up for them."""

    @property
    def problems(self) -> list[str]:
        return [*self._problems, *self._unreadable]

    def take(self, event: Event, sound: bool) -> None:
        if event.kind == Kind.REFOLDED and sound:
            self._unreadable.clear()
        if not sound or event.kind == Kind.ERASED:
            # From here on the state is not known, until a snapshot has it.
            self._fold, self._erased = None, event.kind == Kind.ERASED
        elif event.kind == Kind.CREATED:
            if event.model == self.sources[-1]:
                self._fold = begun(self._store, StoredModel(*msgspec.structs.astuple(self._model)[:4]))
                self._fold.offset = event.offset
                self._begins = "the beginning"
        elif self._fold is not None and event.kind in FOLDED:
            self._apply(self._fold, event)

    def _apply(self, fold: Fold, event: Event) -> None:
        # Read outside: a store that fails says nothing about the log.
        shown = closed_impression(self._store, event)
        try:
            fate = take_in(self._model.id, fold, event, shown)
        except (RankloopError, ValueError, KeyError, msgspec.DecodeError) as error:
            problems = self._unreadable if isinstance(error, StateError) else self._problems
            problems.append(f"event {event.offset} of {self._model.name} cannot be folded ({error})")
            self._fold = None
            return
        self._folded += 1
        if fate == "missing":
            self._problems.append(f"event {event.offset} of {self._model.name} closes a page that is not in the log")

    def due(self) -> int:
        """The offset of the next snapshot to look at."""
        return self._kept[self._place].offset if self._place < len(self._kept) else sys.maxsize

    def compare(self, up_to: int) -> None:
        """Hold the snapshots up to an offset against the fold."""
        while self.due() <= up_to:
            snapshot = self._store.snapshot(self._model.id, self._kept[self._place].version)
            self._place += 1
            if snapshot is None:
                continue
            if self._fold is None:
                self._after_erasure += self._erased
                self._fold = self._restored(snapshot)
                self._begins = f"version {snapshot.version}" if self._fold else self._begins
            elif self._fold.is_kept_as(snapshot.state) and self._fold.version == snapshot.version:
                self._checked += 1
            else:
                self._checked += 1
                self._different += 1
                self._report(self._fold, snapshot)

    def end(self, last: int) -> None:
        """The log ends here: no state can have learned from what comes after."""
        if self._place < len(self._kept):
            newest = self._kept[-1]
            problem = f"was computed from event {newest.offset}, and the log ends at {last}"
            self._problems.append(f"version {newest.version} of {self._model.name} {problem}: its end is missing")

    def skip_to(self, offset: int) -> None:
        """Events before this one are missing: only a state at their very end can be gone on from."""
        self._fold, self._erased = None, False
        while self.due() < offset - 1:
            self._place += 1
        self.compare(up_to=offset - 1)

    def _restored(self, snapshot: Snapshot) -> Fold | None:
        try:
            return Fold.restored(self._settings, snapshot.state, snapshot.offset)
        except RankloopError as error:
            self._problems.append(f"version {snapshot.version} of {self._model.name} cannot be read ({error})")
            return None

    def _report(self, fold: Fold, snapshot: Snapshot) -> None:
        kept = self._restored(snapshot)
        if kept is None:
            return
        problem = f"version {snapshot.version} of {self._model.name} is not what the log folds to: "
        apart = np.abs(kept.ranker.weights - fold.ranker.weights)
        if apart.max() > 0:
            worst = int(apart.argmax())
            name, weight = self._settings.weight_names[worst], float(kept.ranker.weights[worst])
            problem += f"the weight of {name} is {weight!r}, and the log gives {float(fold.ranker.weights[worst])!r}"
        else:
            problem += "the weights are the same, but not what else the state holds"
        self._problems.append(problem)

    def result(self) -> ModelVerified:
        return ModelVerified(
            self._model.name, self._folded, len(self._kept), self._checked, self._different, self._begins,
            clean_since(self._store, self._model.id) is None, self._after_erasure,
            remembering_events(self._store, self._model.id, self.sources),
        )  # fmt: skip
