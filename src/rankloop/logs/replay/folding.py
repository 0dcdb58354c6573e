"""Through a log with the fold of the live learner: with a model's own settings the result is the same bits."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rankloop.errors import SettingsError
from rankloop.live.events import FOLDED, Event, Impression, Kind, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.learning import closed_impression, settings_of
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import each_event, is_server
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import Snapshot, StoredModel
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import MAGIC, Progress, silent
from rankloop.logs.importing import begins_with, import_log

RETURNS = (Kind.ROLLED_BACK, Kind.REFOLDED)
"""What puts a state of the live model in the place of its own: it means nothing to another one."""


@contextmanager
def open_log(log: str | os.PathLike[str], progress: Progress = silent) -> Iterator[Reader]:
    """A log to read, as it is at this moment: a store's address, or a file that was exported."""
    if is_server(str(log)) or not (Path(log).is_file() and begins_with(Path(log), MAGIC)):
        with at_one_moment(str(log)) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="rankloop-replay-") as folder:
        copy = Path(folder) / "log.db"
        import_log(log, copy, progress=progress)
        with at_one_moment(copy) as store:
            yield store


class Replay:
    """A model's log, folded with other settings, up to wherever one wants.

    Args:
        store: a log, as `open_log` gives it.
        model: whose events to fold.
        settings: how; the model's own by default.
        begin: a snapshot to begin with, instead of where the settings say. With the model's own settings it is gone on
            from as it is; with others its weights are where the replay begins, and its scaling if that is the same.
    """

    def __init__(
        self,
        store: Reader,
        model: StoredModel,
        settings: ModelSettings | None = None,
        begin: Snapshot | None = None,
    ) -> None:
        self._store, self._model = store, model
        own = settings_of(model)
        self.settings = settings or own
        self.is_own = self.settings == own
        self.logged = own
        """The settings of the model that drew the pages."""
        self.passed_over: Counter[str] = Counter()
        """Decisions about the live model that mean nothing to this one, by name."""
        self.fold = self._begun(begin)
        self.fold.foreign = is_foreign(own, self.settings)
        self.fold.worth = 0.0

    def _begun(self, begin: Snapshot | None) -> Fold:
        if begin is None:
            return Fold(self.settings)
        then = Fold.restored(self.logged, begin.state, begin.offset)
        if self.is_own:
            return then
        old, new = self.logged.learner.scoring_ranker, self.settings.learner.scoring_ranker
        if old != new:
            raise SettingsError(
                f"replay: version {begin.version} has the weights of {old!r}, which {new!r} cannot begin with; "
                f"replay from the start"
            )
        fold = Fold(self.settings, then.ranker.weights.tolist())
        if self.settings.scaling == self.logged.scaling:
            fold.scaler.restore(then.scaler.state())
        fold.offset = begin.offset
        return fold

    def follow(self, until: int, progress: Progress = silent) -> None:
        """Fold everything up to an offset."""
        for event in each_event(self._store, self.fold.offset, kinds=FOLDED, model=self._model.id):
            if event.offset > until:
                break
            self._apply(event)
            progress(event.offset, until)
        self.fold.offset = max(self.fold.offset, until)
        progress(self.fold.offset, self.fold.offset)

    def _apply(self, event: Event) -> None:
        if event.kind in RETURNS and not self.is_own:
            self.passed_over[Kind(event.kind).name.lower()] += 1
            self.fold.offset = event.offset
            return
        self.fold.apply(event, self._noted(closed_impression(self._store, event)))

    def _noted(self, shown: Event | None) -> Event | None:
        """The page with the notes that this learner would have made of it."""
        new, old = self.settings.learner, self.logged.learner
        if shown is None or shown.kind != Kind.SHOWN or new.note_width() == old.note_width():
            return shown
        impression: Impression = decode(shown.kind, shown.body)
        _, free, documents = impression.drawn()
        notes = new.notes_of(impression.score_values()[free], documents)
        return shown._replace(body=encode(msgspec.structs.replace(impression, notes=notes.tobytes())))


def is_foreign(own: ModelSettings, other: ModelSettings) -> bool:
    """Whether one model's pages were drawn by a policy that the other never had (another method's, or one of another
    temperature), and the other cares."""
    old, new = own.learner, other.learner
    same = type(old) is type(new) and old.policy_temperature == new.policy_temperature
    return not (same or new.off_policy)


def snapshot_of(store: Reader, model: StoredModel, version: int) -> Snapshot:
    """A kept state to begin with; refused with what there is."""
    snapshot = store.snapshot(model.id, version)
    if snapshot is None:
        kept = [str(other.version) for other in store.snapshots(model.id)]
        listed = ", ".join(kept[:20]) + (" …" if len(kept) > 20 else "")
        raise SettingsError(f"replay: there is no snapshot of version {version}; kept are {listed or 'none'}")
    return snapshot


def live_at(store: Reader, model: StoredModel, offset: int) -> Replay:
    """The live model as it was at a place in its log."""
    older = [kept for kept in store.snapshots(model.id) if kept.offset <= offset]
    begin = store.snapshot(model.id, older[0].version) if older else None
    live = Replay(store, model, begin=begin)
    live.follow(offset)
    return live
