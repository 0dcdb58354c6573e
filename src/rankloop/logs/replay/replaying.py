"""One replay from beginning to end: learn from the older part of a log, ask the newer one, then learn from that too.

The log is split by time, at a closing: what was closed up to it is learned from, and only pages that were closed after
it are evaluated, so no estimate is made on clicks that its state has learned from. The live model is evaluated as it
was at that moment. Its newest state is evaluated too, because people ask, and marked: it has seen the answers.
"""

import os
from typing import Any

import msgspec
import numpy as np

from rankloop.errors import SettingsError
from rankloop.learners import to_settings
from rankloop.live.events import Event, Kind
from rankloop.live.loading import closed_impression, settings_of
from rankloop.live.models import cosine
from rankloop.live.settings import ModelSettings
from rankloop.live.shadow import earned_in, examination_of, policy_of
from rankloop.live.stores import each_event
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import Snapshot, StoredModel
from rankloop.logs.access import find_model, models_there
from rankloop.logs.exported import Progress, silent
from rankloop.logs.replay.concluding import LIVE_THEN, REPLAYED, Conclusion, conclude
from rankloop.logs.replay.estimating import Candidate, Evaluation, Evaluator
from rankloop.logs.replay.folding import Replay, in_force, live_at, open_log, snapshot_of
from rankloop.logs.replay.planning import CHANGEABLE, other_settings
from rankloop.logs.replay.revaluing import revalued, with_late
from rankloop.offpolicy import Rules
from rankloop.settings import require_number, require_whole_number

CHUNK = 1_000
LIVE_NOW = "live, newest"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay is made and judged.

    Attributes:
        model: which one; None if there is but one.
        learner: another method; None: the model's own.
        changes: settings in the place of the model's, such as `learning_rate=0.03`.
        begin: the version of a snapshot to begin with; None: where the settings say.
        evaluate: the share of closed impressions, the newest, that estimates are made on; 0: none.
        at_most: how many of them, evenly spaced, are evaluated.
        eta: people are assumed to examine rank k with probability (1/k)^η; None: as the model's learner assumes.
        clip: the largest weight of the clipped estimates.
        minimum_effective: impressions' worth of evidence below which there is no estimate.
    """

    model: str | None = None
    learner: str | None = None
    changes: tuple[str, ...] = ()
    begin: int | None = None
    evaluate: float = 0.3
    at_most: int = 10_000
    eta: float | None = None
    clip: float = 10.0
    minimum_effective: float = 100.0

    def __post_init__(self) -> None:
        require_number("replay", "evaluate", self.evaluate, at_least=0, at_most=0.95)
        require_whole_number("replay", "at-most", self.at_most, at_least=2)

    def rules(self) -> list[Rules]:
        """The three ways to treat weights."""
        least = self.minimum_effective
        return [
            Rules(minimum_effective=least),
            Rules(method="clipped", clip=self.clip, minimum_effective=least),
            Rules(method="self-normalised", minimum_effective=least),
        ]


class Replayed(msgspec.Struct, frozen=True):
    """What would have been learned, next to what was.

    Attributes:
        model: its name.
        settings: what was replayed.
        own_settings: whether those are the model's own.
        begins: `the start`, or the version of the snapshot that it began with.
        closings: closed impressions in the log.
        learned_before_split: how many of the fates "learned" lie before the split.
        split_at: when the part that is evaluated begins, in milliseconds since 1970; None without one.
        fates: what became of the closed impressions, in the replay.
        passed_over: decisions about the live model that mean nothing to another one (roll backs, refolds).
        features: names of the weights: a linear ranker's are called as its features.
        weights: at the end of the log.
        live_weights: the live model's newest.
        distance: between the two; None if their rankers are of different kinds.
        cosine: of the angle between them; None if one is zero, or if their rankers are of different kinds.
        same_bits: whether the two states are the same in every bit.
        conclusion: what can be made of all this, in words.
        evaluation: estimates; None if none were asked for or nothing is left to evaluate.
    """

    model: str
    settings: dict[str, Any]
    own_settings: bool
    begins: str
    closings: int
    learned_before_split: int
    split_at: int | None
    fates: dict[str, int]
    passed_over: dict[str, int]
    features: list[str]
    weights: list[float]
    live_weights: list[float]
    distance: float | None
    cosine: float | None
    same_bits: bool
    conclusion: Conclusion
    evaluation: Evaluation | None


def replay(log: str | os.PathLike[str], options: Options, progress: Progress = silent) -> Replayed:
    """Fold a log with other settings, and estimate what that would have earned."""
    with open_log(log, progress) as store:
        return replay_store(store, options, progress)


def replay_store(store: Reader, options: Options, progress: Progress = silent, *, most: int | None = None) -> Replayed:
    """The same of a log that is open, for use in one thread; refused if more than `most` pages were closed in it."""
    replaying = _Replaying(store, _chosen(store, options.model), options)
    if most is not None and replaying.closed > most:
        raise SettingsError(
            f"replay: {replaying.closed:,} closed pages are more than the {most:,} that a page replays; run "
            f"rankloop replay LOG on the log, or on a copy of it"
        )
    return replaying.run(progress)


class _Replaying:
    def __init__(self, store: Reader, model: StoredModel, options: Options) -> None:
        self._store, self._model, self._options = store, model, options
        self._own = settings_of(model)
        changed = options.learner is not None or options.changes
        self._settings = (
            other_settings(in_force(store, model), options.learner, options.changes) if changed else self._own
        )
        closings = each_event(store, kinds=(Kind.CLOSED,), model=model.id, at_once=CHUNK)
        self._closings = [event.offset for event in closings]
        begin = None if options.begin is None else snapshot_of(store, model, options.begin)
        self._begins = "the start" if begin is None else f"version {begin.version}"
        self._split = self._last_learned(begin)
        self._replay = Replay(store, model, self._settings if changed else None, begin)

    @property
    def closed(self) -> int:
        """Pages that were closed in the log."""
        return len(self._closings)

    def _last_learned(self, begin: Snapshot | None) -> int:
        """The offset of the last closing before the part that is evaluated."""
        after = [offset for offset in self._closings if begin is None or offset > begin.offset]
        if not after:
            since = "" if begin is None else f" after version {begin.version}"
            raise SettingsError(f"replay: nothing was closed in the log of {self._model.name}{since}")
        place = len(after) - round(self._options.evaluate * len(after))
        return after[max(0, place - 1)]

    def run(self, progress: Progress) -> Replayed:
        replayed, last = self._replay, self._store.last_offset()
        replayed.follow(self._split, progress)
        learned = replayed.fold.fates["learned"]
        live = Replay(self._store, self._model, begin=self._store.newest_snapshot(self._model.id))
        live.follow(last, progress)
        evaluation, split_at = None, None
        if self._split < self._closings[-1]:
            evaluation, split_at = self._evaluate(live, progress)
        replayed.follow(last, progress)
        mine, theirs = replayed.fold.ranker.weights, live.fold.ranker.weights
        settings = replayed.fold.settings
        comparable = settings.learner.scoring_ranker == live.fold.settings.learner.scoring_ranker
        return Replayed(
            model=self._model.name,
            settings=_changeable(settings),
            own_settings=replayed.is_own,
            begins=self._begins,
            closings=len(self._closings),
            learned_before_split=learned,
            split_at=split_at,
            fates=dict(replayed.fold.fates),
            passed_over=dict(replayed.passed_over),
            features=settings.weight_names,
            weights=mine.tolist(),
            live_weights=theirs.tolist(),
            distance=float(np.linalg.norm(mine - theirs)) if comparable else None,
            cosine=cosine(mine, theirs) if comparable else None,
            same_bits=replayed.is_own and replayed.fold.state() == live.fold.state(),
            conclusion=conclude(replayed, evaluation),
            evaluation=evaluation,
        )

    def _evaluate(self, live: Replay, progress: Progress) -> tuple[Evaluation, int | None]:
        then, replayed = live_at(self._store, self._model, self._split).fold, self._replay.fold
        candidates = [
            Candidate(LIVE_THEN, then.view(), policy_of(then.settings)),
            Candidate(LIVE_NOW, live.fold.view(), policy_of(live.fold.settings), fair=False),
            Candidate(REPLAYED, replayed.view(), policy_of(replayed.settings)),
        ]
        theta = examination_of(then.settings, then.view().model, self._options.eta)
        evaluator = Evaluator(self._own, candidates, theta, live.fold.drawers, earned_in(replayed.settings))
        held_back = [offset for offset in self._closings if offset > self._split]
        chosen = held_back
        if len(held_back) > self._options.at_most:
            chosen = [held_back[i] for i in np.linspace(0, len(held_back) - 1, self._options.at_most).astype(int)]
        for place, offset in enumerate(chosen):
            event = self._store.event(offset)
            assert event is not None, "the log is read as it was at one moment"
            closing = event
            if self._own.has_actions:
                closing = with_late(event, self._store.ended(self._model.id, event.number))
            evaluator.take(revalued(closing, self._own, self._settings), closed_impression(self._store, event))
            progress(place + 1, len(chosen))
        first: Event | None = self._store.event(held_back[0])
        return evaluator.conclude(self._options.rules()), first.at if first else None


def _chosen(store: Reader, name: str | None) -> StoredModel:
    models = store.models()
    served = [model for model in models if settings_of(model).challenges is None]
    if name is None and len(served) == 1:
        return served[0]
    if name is None:
        raise SettingsError(f"replay: say which model with --model; {models_there(models)}")
    model = find_model(store, name)
    if (challenged := settings_of(model).challenges) is not None:
        raise SettingsError(f"replay: {name!r} is a challenger, and shows no pages; replay those of {challenged!r}")
    return model


def _changeable(settings: ModelSettings) -> dict[str, Any]:
    """What can differ in a replay."""
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    return {
        "learner": to_settings(settings.learner),
        **{name: plain[name] for name in CHANGEABLE},
    }
