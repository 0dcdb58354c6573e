"""Summaries over many runs that a few odd runs do not upset: interquartile mean, probability of improvement, profiles.

Definitions as in Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice" (2021). A
*task* is what runs are compared within, here a fold of a collection. Intervals come from a stratified bootstrap, which
draws runs anew within each task, so they speak of other seeds on the same folds. Few runs make a percentile interval
too narrow; its ends are taken farther out by as much (Hesterberg's expanded percentiles, 2015). Drawing folds anew is
refused: with five of them, 95 % intervals would miss the truth 16 times in 100. NaN among the values makes the answer
NaN.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.statistics.intervals import half_width, require_confidence, wilson
from rankloop.statistics.means import THIS, GeneraliseTo

DRAWS = 4000
"""Bootstrap samples behind an interval."""
FEWEST = 3
"""Runs that a task needs for an interval: of two, drawn anew, too little is to be learned about their spread."""

FEWEST_QUARTERS = 4
"""Runs that an interquartile mean needs: a quarter of three is none, and it would be the mean."""
FEWEST_RANGE = 5
"""Runs in all that its interval needs: drawn anew, runs never leave their range, and one time in eight all of four lie
on the same side of the truth (of five one in sixteen)."""

_Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number with its bootstrap interval, which is NaN where a task has fewer than three runs."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


def interquartile_mean(values: ArrayLike) -> float:
    """The mean of the middle half of all runs: a quarter of them, rounded down, is left out at either end.

    >>> interquartile_mean([1.0, 2.0, 3.0, 100.0])
    2.5
    """
    sample = np.asarray(values, dtype=np.float64).ravel()
    return float(_middle(sample)) if len(sample) else math.nan


def interquartile_mean_interval(
    values: ArrayLike,
    tasks: Sequence[Any] | None = None,
    *,
    generalise_to: GeneraliseTo = THIS,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The interquartile mean with its interval; `tasks` names the fold of each run.

    >>> print(interquartile_mean_interval([1.0, 1.1, 1.2, 1.3, 1.4, 9.0]))
    1.25 (1.025 to 7.1)
    """
    _require_this(generalise_to)
    strata = list(_strata(values, tasks).values())
    if sum(map(len, strata)) < FEWEST_RANGE:
        require_confidence(confidence)
        return Estimate(interquartile_mean(values), math.nan, math.nan)
    drawn = np.concatenate(_drawn(strata, seed), axis=1)
    return _interval(interquartile_mean(values), _middle(drawn), strata, confidence)


def probability_of_improvement(
    a: ArrayLike, b: ArrayLike, tasks: Sequence[Any] | None = None, other_tasks: Sequence[Any] | None = None
) -> float:
    """How often a run of A beats a run of B on the same task, ties counting half; the mean over tasks.

    Every run of A meets every run of B there: Mann and Whitney's U, divided by the number of meetings. `other_tasks`
    are those of B's runs, if they are not A's.

    >>> probability_of_improvement([2.0, 3.0], [1.0, 2.0])
    0.875
    """
    ours, theirs = _shared(a, b, tasks, other_tasks)
    return float(_wins([task[None] for task in ours], [task[None] for task in theirs])[0]) if ours else math.nan


def probability_of_improvement_interval(
    a: ArrayLike,
    b: ArrayLike,
    tasks: Sequence[Any] | None = None,
    other_tasks: Sequence[Any] | None = None,
    *,
    generalise_to: GeneraliseTo = THIS,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The probability of improvement with its interval; the runs of A and of B are drawn independently.

    Where all meetings of a task end alike, runs drawn anew do too, and show no spread. It is then Wilson's interval for
    as many meetings as there are without a run in common.

    >>> print(probability_of_improvement_interval([2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 2.5, 2.2]))
    0.8438 (0.25 to 1)
    >>> print(probability_of_improvement_interval([2.0, 3.0, 4.0], [1.0, 1.5, 1.8]))
    1 (0.4385 to 1)
    """
    _require_this(generalise_to)
    ours, theirs = _shared(a, b, tasks, other_tasks)
    drawn = _drawn([*ours, *theirs], seed)
    wins = _wins(drawn[: len(ours)], drawn[len(ours) :]) if ours else np.empty(0)
    smaller = [min(pair, key=len) for pair in zip(ours, theirs, strict=True)]
    found = _interval(probability_of_improvement(a, b, tasks, other_tasks), wins, smaller, confidence)
    if found.low == found.high:
        return Estimate(found.value, *wilson(found.value, _in_equal_parts(smaller), confidence))
    return found


def performance_profile(values: ArrayLike, thresholds: ArrayLike, tasks: Sequence[Any] | None = None) -> _Array:
    """For each threshold τ the share of runs above it, each task counting the same.

    >>> performance_profile([0.1, 0.2, 0.4], [0.0, 0.2, 0.5]).round(2).tolist()
    [1.0, 0.33, 0.0]
    """
    strata = _strata(values, tasks).values()
    profile: _Array = _above([task[None] for task in strata], np.asarray(thresholds, dtype=np.float64))[0]
    return profile


def performance_profile_band(
    values: ArrayLike,
    thresholds: ArrayLike,
    tasks: Sequence[Any] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[_Array, _Array]:
    """The pointwise interval of a profile: its lower and upper end at each threshold; NaN with too few runs.

    Where a threshold has all runs of a task on one side, runs drawn anew are too, and show no spread: it is then
    Wilson's interval for the number of runs.

    >>> [ends.round(2).tolist() for ends in performance_profile_band([0.1, 0.2, 0.4], [0.0, 0.5])]
    [[0.44, 0.0], [1.0, 0.56]]
    """
    require_confidence(confidence)
    strata = list(_strata(values, tasks).values())
    if min((len(task) for task in strata), default=0) < FEWEST:
        nothing = np.full(np.shape(thresholds), np.nan)
        return nothing, nothing
    drawn = _above(_drawn(strata, seed), np.asarray(thresholds, dtype=np.float64))
    low, high = _ends(drawn, strata, confidence)
    for share in np.unique(low[low == high]):
        alike = (low == high) & (low == share)
        low[alike], high[alike] = wilson(float(share), _in_equal_parts(strata), confidence)
    return low, high


def _middle(samples: _Array) -> _Array:
    """Of the last axis."""
    size = samples.shape[-1]
    cut = size // 4
    ordered = np.sort(samples, axis=-1)  # NaN comes last
    middle: _Array = ordered[..., cut : size - cut].mean(axis=-1)
    return np.where(np.isnan(ordered[..., -1]), np.nan, middle)


def _wins(ours: Sequence[_Array], theirs: Sequence[_Array]) -> _Array:
    """The mean over tasks of the share of meetings won; samples are (draws, runs) for each task."""
    wins: _Array = np.mean([_won(x, y) for x, y in zip(ours, theirs, strict=True)], axis=0)
    return wins


def _won(x: _Array, y: _Array) -> _Array:
    won: _Array = ((np.sign(x[:, :, None] - y[:, None, :]) + 1) / 2).mean(axis=(1, 2))
    return won


def _above(samples: Sequence[_Array], thresholds: _Array) -> _Array:
    """(draws, thresholds); samples are (draws, runs) for each task."""
    shares = [(task[:, :, None] > thresholds).mean(axis=1) for task in samples]
    known = [np.where(np.isnan(task).any(axis=1), np.nan, 1.0)[:, None] for task in samples]
    above: _Array = np.mean([share * one for share, one in zip(shares, known, strict=True)], axis=0)
    return above


def _strata(values: ArrayLike, tasks: Sequence[Any] | None) -> dict[Any, _Array]:
    sample = np.asarray(values, dtype=np.float64)
    if tasks is None:
        return {None: sample} if len(sample) else {}
    if len(tasks) != len(sample):
        raise ValueError(f"tasks must name the task of each run; got {len(tasks)} for {len(sample)} runs")
    places: dict[Any, list[int]] = {}
    for index, task in enumerate(tasks):
        places.setdefault(task, []).append(index)
    return {task: sample[indices] for task, indices in places.items()}


def _shared(
    a: ArrayLike, b: ArrayLike, tasks: Sequence[Any] | None, other_tasks: Sequence[Any] | None
) -> tuple[list[_Array], list[_Array]]:
    """Both methods' runs, task by task, on the tasks that both have."""
    ours, theirs = _strata(a, tasks), _strata(b, tasks if other_tasks is None else other_tasks)
    both = [task for task in ours if task in theirs]
    return [ours[task] for task in both], [theirs[task] for task in both]


def _drawn(strata: Iterable[_Array], seed: int) -> list[_Array]:
    """Each task's runs drawn anew, (draws, runs)."""
    generator = np.random.default_rng(seed)
    return [task[generator.integers(0, len(task), (DRAWS, len(task)))] for task in strata]


def _in_equal_parts(strata: Sequence[_Array]) -> int:
    """Runs, as many of each task, so that the mean over tasks is that over runs."""
    return len(strata) * min(map(len, strata))


def _interval(value: float, drawn: _Array, strata: Sequence[_Array], confidence: float) -> Estimate:
    require_confidence(confidence)
    if min((len(task) for task in strata), default=0) < FEWEST or not math.isfinite(value):
        return Estimate(value, math.nan, math.nan)
    low, high = _ends(drawn, strata, confidence)
    return Estimate(value, float(low), float(high))


def _ends(drawn: _Array, strata: Sequence[_Array], confidence: float) -> tuple[Any, Any]:
    """The percentiles that a sample of this size needs: t for the normal, and the variance's n / (n − tasks)."""
    runs, tasks = sum(map(len, strata)), len(strata)
    farther = half_width(math.sqrt(runs / (runs - tasks)), confidence, runs - tasks)
    tail = NormalDist().cdf(-farther)
    return tuple(np.quantile(drawn, (tail, 1 - tail), axis=0))


def _require_this(generalise_to: GeneraliseTo) -> None:
    if generalise_to != THIS:
        raise SettingsError(
            f"bootstrap intervals speak of {THIS}; for similar-collections folds would have to be drawn anew, and five "
            f"are too few: 95 % intervals would miss 16 times in 100. Use the t-interval on fold means"
        )
