"""Through a log with the fold of the live learner: with a model's own settings the result is the same bits."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankloop.errors import SettingsError
from rankloop.live.events import FOLDED, Event, Kind
from rankloop.live.fold import Fold
from rankloop.live.kept import decoded, settings_in
from rankloop.live.loading import begun, closed_impression, settings_of, sources_of, take_in
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import each_event, is_server
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import Snapshot, StoredModel
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import MAGIC, Progress, silent
from rankloop.logs.importing import begins_with, import_log
from rankloop.logs.replay.revaluing import revalued

RETURNS = (Kind.ROLLED_BACK, Kind.REFOLDED, Kind.PROMOTED)
"""What puts a state of the live model, or of its challenger, in the place of its own: it means nothing to another."""


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
        self._sources = sources_of(store, model)
        own = settings_of(model)
        self.settings = settings or own
        self.is_own = settings is None or settings == in_force(store, model)
        self.logged = own
        """The settings of the model that drew the pages."""
        self.passed_over: Counter[str] = Counter()
        """Decisions about the live model that mean nothing to this one, by name."""
        self.fold = self._begun(begin)
        self.fold.worth = 0.0

    def _begun(self, begin: Snapshot | None) -> Fold:
        if begin is None:
            return begun(self._store, self._model) if self.is_own else Fold(self.settings, drawn_by=self.logged)
        then = Fold.restored(self.logged, begin.state, begin.offset)
        if self.is_own:
            return then
        old, new = then.settings.learner.scoring_ranker, self.settings.learner.scoring_ranker
        if old != new:
            raise SettingsError(
                f"replay: version {begin.version} has the weights of {old!r}, which {new!r} cannot begin with; "
                f"replay from the start"
            )
        fold = Fold(self.settings, then.ranker.weights.tolist(), self.logged)
        if self.settings.scaling == then.settings.scaling:
            fold.scaler.restore(then.scaler.state())
        fold.drawers, fold.offset = then.drawers, begin.offset
        return fold

    def follow(self, until: int, progress: Progress = silent) -> None:
        """Fold everything up to an offset."""
        for event in each_event(self._store, self.fold.offset, kinds=FOLDED, model=self._sources):
            if event.offset > until:
                break
            self._apply(event)
            progress(event.offset, until)
        self.fold.offset = max(self.fold.offset, until)
        progress(self.fold.offset, self.fold.offset)

    def _apply(self, event: Event) -> None:
        if event.kind in RETURNS and not self.is_own:
            self.passed_over[Kind(event.kind).name.lower()] += 1
            self.fold.overhear(event)
            return
        event = revalued(event, self.logged, self.settings)
        take_in(self._model.id, self.fold, event, closed_impression(self._store, event))


def in_force(store: Reader, model: StoredModel) -> ModelSettings:
    """A model's settings now: those that it was made with, or of a challenger that took its place."""
    newest = store.newest_snapshot(model.id)
    return settings_in(settings_of(model), decoded(newest.state)) if newest else settings_of(model)


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
