"""Settings by grid search on the validation split, the way the paper chose its learning rates.

The test split is never read: a search runs on a collection in which the validation split has taken its place. Offline
objectives learn on the training queries and are measured on the validation queries. The online objective measures the
pages that people see while a method learns, so there the people's queries come from the validation split as well; the
pages that a study reports, those of the training queries, have then not been used for tuning. All candidates share
seeds, and so the sequence of queries.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from rankloop import users
from rankloop.data import Collection, load
from rankloop.data.worlds import WORLDS
from rankloop.engines.processes import each_done
from rankloop.errors import DataError, DivergenceError, SettingsError
from rankloop.gpu import Request
from rankloop.learners import Learner, from_settings, require_learner, to_settings
from rankloop.metrics import names
from rankloop.metrics.names import Metric
from rankloop.runs.batches import (
    Device,
    engine_name,
    load_of,
    placed,
    planned,
    reasons_in_words,
    reasons_of,
    require_device,
)
from rankloop.runs.run import Run
from rankloop.settings import is_number, require_choice, require_seed, require_whole_number
from rankloop.simulation import simulate
from rankloop.statistics import Interval, interval
from rankloop.studies.mistakes import in_one_sentence
from rankloop.studies.specification import Source, source_of
from rankloop.studies.tuning.space import chosen_of, learners_of, search_space
from rankloop.studies.tuning.values import described
from rankloop.users import User

OBJECTIVES = {
    "online": "Σ 0.9995^i · {metric} of the pages shown, to people who ask the validation queries",
    "offline": "{metric} on the validation queries after the last impression",
    "speed": "{metric} on the validation queries, mean over the learning curve",
}
Objective = Literal["online", "offline", "speed"]


@dataclass(frozen=True)
class Candidate:
    """One point of the grid: its learner, the searched settings in it, and what each repeat gave.

    A run whose weights grew beyond all numbers gives NaN, and its candidate is never the best.
    """

    learner: Any
    chosen: dict[str, Any]
    values: tuple[float, ...]

    @property
    def interval(self) -> Interval:
        """Mean and half-width of the 95 % t-interval over the repeats."""
        return interval(self.values)

    @property
    def mean(self) -> float:
        """The mean over the repeats; NaN if one diverged."""
        return self.interval.mean

    def __str__(self) -> str:
        return described(self.chosen)


@dataclass(frozen=True)
class TuningResult:
    """Every candidate, in the order of the search, and what was measured.

    `source` is how a study loads the collection; None where it lay in memory and has no name.
    """

    candidates: tuple[Candidate, ...]
    objective: str
    user: User
    data: str
    source: Source | None
    impressions: int
    repeats: int
    seed: int
    metric: Metric
    engine: str = ""
    """What computed it, if not the CPU: the device's code."""
    beside: str = ""
    """What ran on the CPU though a device was asked for, and why."""

    @property
    def measured(self) -> str:
        """What was compared, in words."""
        return OBJECTIVES[self.objective].format(metric=self.metric.title)

    @cached_property
    def best(self) -> Candidate:
        """The candidate with the highest mean; of equal ones the first."""
        return max(self.candidates, key=lambda one: -math.inf if math.isnan(one.mean) else one.mean)

    @property
    def at_edge(self) -> list[str]:
        """Searched settings whose best value is the largest or smallest tried, where one beyond it is possible."""
        return [name for name in self.best.chosen if self._could_go_on(name)]

    def _could_go_on(self, name: str) -> bool:
        best = self.best.chosen[name]
        tried = {candidate.chosen[name] for candidate in self.candidates} if is_number(best) else {best}
        ordered = sorted(tried)
        if len(ordered) < 2 or best not in (ordered[0], ordered[-1]):
            return False
        inner = ordered[1] if best == ordered[0] else ordered[-2]
        beyond = best * best / inner if ordered[0] > 0 else 2 * best - inner
        try:
            from_settings(to_settings(self.best.learner) | {name: type(best)(beyond)})
        except SettingsError:
            return False
        return True


def tune(
    learner: Learner,
    user: User | str | dict[str, Any],
    data: Collection | Source | str,
    *,
    search: Mapping[str, Sequence[Any]] | None = None,
    impressions: int = 10_000,
    repeats: int = 5,
    seed: int = 1,
    objective: Objective = "online",
    metric: str = "ndcg",
    workers: int | None = None,
    on: Literal["local", "gpu"] = "local",
    progress: Callable[[str], None] | None = None,
) -> TuningResult:
    """Try every combination of the searched settings and measure each on the validation split.

    Args:
        learner: the method, with the settings that are not searched.
        user: who clicks, as `simulate` or a study file says it.
        data: a collection, or as a study names one: then each process opens it itself, and repeats are spread over
            its folds.
        search: values to try by setting, such as `{"learning_rate": [0.01, 0.1]}`; None: learning rates from 0.0003
            to 0.3 in half decades.
        impressions, repeats: of each candidate.
        seed: of the first repeat; the others count on.
        objective: what is compared: `online`, `offline` or `speed` (the mean of the offline curve).
        metric: what rankings are measured by; online only what pages show.
        workers: processes; None: all cores. The result does not depend on it.
        on: `local`, or `gpu`: what has device code runs there, the rest in processes beside it.
        progress: called with a word on each finished run.

    >>> import rankloop as rl
    >>> result = tune(rl.ROLTR(), "noisy", rl.load("tiny"), search={"learning_rate": [1e-6, 0.01]}, impressions=500,
    ...               repeats=2, workers=1)
    >>> print(result.best)
    learning_rate=0.01
    """
    require_learner("tune", learner)
    if require_choice("tune", "on", on, ("local", "gpu")) == "gpu":
        require_device("tune, on gpu")
    cores = _check(impressions, repeats, seed, objective, workers)
    measure = _metric(metric, objective)
    space = search_space(learner, search)
    learners = learners_of(learner, space)
    place = data if isinstance(data, Collection) else source_of(data, "tune")
    different = min(repeats, len(place.folds)) if isinstance(place, Source) and place.folds else 1
    folds = [_measured(opened(place, repeat), objective) for repeat in range(different)]
    somebody = users.person("tune", user)
    for one in learners:
        # Compiles, and finds what does not fit the data, before anything takes long. A late update changes nothing yet.
        with in_one_sentence():
            simulate(one, somebody, folds[0], 1, seed, evaluate_every=0, delay=1)
    trials = [
        _Trial(number, repeat, one, somebody, impressions, seed + repeat, objective, measure.name)
        for number, one in enumerate(learners)
        for repeat in range(repeats)
    ]
    values = np.full((len(learners), repeats), np.nan)
    shared = folds[0] if isinstance(place, Collection) else place
    requests = [_request(trial, folds[trial.repeat % different]) for trial in trials] if on == "gpu" else []
    mine, others = placed(requests)
    beside = [(trials[index], shared) for index in sorted({*range(len(trials))} - {*mine})]
    with Device() as device:
        batches = _started(device, [(trials[index], requests[index]) for index in mine])
        for trial, value in chain(each_done(_value, beside, cores), _finished(batches)):
            values[trial.candidate, trial.repeat] = value
            if progress is not None:
                progress(described(chosen_of(trial.learner, space)))
    if np.isnan(values).any(axis=1).all():
        raise SettingsError("tune: the weights of every candidate diverged; try smaller learning rates")
    measured = zip(learners, values.tolist(), strict=True)
    return TuningResult(
        candidates=tuple(Candidate(one, chosen_of(one, space), tuple(runs)) for one, runs in measured),
        objective=objective,
        user=somebody,
        data=folds[0].name,
        source=place if isinstance(place, Source) else _named(place),
        impressions=impressions,
        repeats=repeats,
        seed=seed,
        metric=measure,
        engine=engine_name() if mine else "",
        beside=reasons_in_words(reasons_of(others)),
    )


def _metric(name: str, objective: str) -> Metric:
    made = names.metric(name, where="tune")
    if objective == "online" and not made.is_seen_on_pages:
        raise SettingsError(f"tune: no page shows what {made} needs; choose a cut-off, or another objective")
    return made


def _check(impressions: int, repeats: int, seed: int, objective: str, workers: int | None) -> int:
    """Refuse what makes no sense; how many processes to use."""
    require_whole_number("tune", "impressions", impressions, at_least=1)
    require_whole_number("tune", "repeats", repeats, at_least=1)
    require_seed("tune", require_seed("tune", seed) + repeats - 1)
    require_choice("tune", "objective", objective, OBJECTIVES)
    return os.cpu_count() or 1 if workers is None else require_whole_number("tune", "workers", workers, at_least=1)


class _Trial(NamedTuple):
    """One run of the search."""

    candidate: int
    repeat: int
    learner: Any
    user: User
    impressions: int
    seed: int
    objective: str
    metric: str


def _request(trial: _Trial, data: Collection) -> Request:
    every = {"online": 0, "offline": trial.impressions, "speed": points_every(trial.impressions)}[trial.objective]
    settings = {"evaluate_every": every, "metrics": trial.metric, "by_query": "none"}
    return Request(trial.learner, trial.user, data, trial.impressions, trial.seed, settings)


def _value(trial: _Trial, data: Collection | Source) -> tuple[_Trial, float]:
    here = data if isinstance(data, Collection) else _measured(opened(data, trial.repeat), trial.objective)
    learner, user, here, impressions, seed, settings = _request(trial, here)
    try:
        with np.errstate(over="ignore"), in_one_sentence():
            return trial, _score(trial, simulate(learner, user, here, impressions, seed, **settings))
    except DivergenceError:
        return trial, math.nan


def _score(trial: _Trial, run: Run) -> float:
    curves = run.by(trial.metric)
    if trial.objective == "online":
        return curves.online
    return curves.offline if trial.objective == "offline" else float(curves.offline_curve[:, 1].mean())


_Batches = dict[Future[list[Run | Exception]], list[_Trial]]


def _started(device: Device, asked: Sequence[tuple[_Trial, Request]]) -> _Batches:
    """All of it is under way on the device, in batches, while processes do the rest."""
    batches = ([asked[index] for index in batch] for batch in planned([load_of(one) for _, one in asked]))
    return {device.submit([one for _, one in batch]): [trial for trial, _ in batch] for batch in batches}


def _finished(batches: _Batches) -> Iterator[tuple[_Trial, float]]:
    for batch in as_completed(batches):
        for trial, made in zip(batches[batch], batch.result(), strict=True):
            if isinstance(made, Exception) and not isinstance(made, DivergenceError):
                raise made
            yield trial, math.nan if isinstance(made, Exception) else _score(trial, made)


def points_every(impressions: int) -> int:
    """Impressions between two points of a learning curve: a thousand, fewer in short runs."""
    return min(1000, max(1, impressions // 20))


def opened(data: Collection | Source, repeat: int) -> Collection:
    """The collection that a repeat runs on: repeats are spread over the folds, as in a study."""
    if isinstance(data, Collection):
        return data
    return load(data.data, fold=data.fold_of(repeat), scale=data.scale)


def _measured(data: Collection, objective: str) -> Collection:
    """The collection with its validation split in the place of the test split, and online of the training split."""
    if data.vali is None:
        raise DataError(f"{data.name} has no validation split to tune on; tuning never uses the test split")
    if not (data.vali.ideal_dcg > 0).any():
        raise DataError(f"{data.name}: no query of the validation split has a relevant candidate to tune on")
    return replace(data, train=data.vali if objective == "online" else data.train, test=data.vali, vali=None)


def _named(data: Collection) -> Source | None:
    """How a study loads this collection, if its name is enough."""
    world = WORLDS.get(data.name)
    if world is not None and world.queries["train"] != data.train.queries:
        return None
    try:
        same = load(data.name, fold=data.fold).content_hash == data.content_hash
    except DataError:
        return None
    return Source(data=data.name, folds=None if data.fold is None else (data.fold,)) if same else None
