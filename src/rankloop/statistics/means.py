"""Means with intervals; whether two methods differ, or are alike; by how much; and Holm's correction over many tests.

Everything rests on Student's t. Runs on the same fold are not independent, so every answer says what it generalises to:

- **this collection**: its folds are fixed and seeds are random. The spread is that of runs within folds; more seeds
  make the answer surer.
- **similar collections**: folds are random, too. A fold counts once, by its mean; more seeds alone do not help.

Degenerate samples get a defined answer: a single run has no spread, so its p-values and intervals are NaN; values
without any spread give certain answers; NaN among the values makes the answer NaN.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.statistics.intervals import half_width, require_confidence

GeneraliseTo = Literal["this-collection", "similar-collections"]
"""What a test or an interval speaks of."""

THIS: GeneraliseTo = "this-collection"
SIMILAR: GeneraliseTo = "similar-collections"

# Rounding leaves differences of this size, relative to the values, where there is none.
_ROUNDING = 1e-12

_Array = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % t-interval (NaN for a single run)."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half_width:.2g}"


def interval(
    values: ArrayLike,
    folds: Sequence[Any] | None = None,
    *,
    generalise_to: GeneraliseTo = THIS,
    confidence: float = 0.95,
) -> Interval:
    """The mean over runs and the half-width of its t-interval; `folds` says which fold each run was on.

    >>> mean, half = interval([1.0, 2.0, 3.0])
    >>> mean, round(half, 3)
    (2.0, 2.484)

    Two folds that differ a lot, and runs that hardly do: the mean on these folds is known well, that on others is not.

    >>> runs, folds = [1.0, 1.2, 5.0, 5.2], [1, 1, 2, 2]
    >>> print(interval(runs, folds), "|", interval(runs, folds, generalise_to="similar-collections"))
    3.1 ± 0.3 | 3.1 ± 25
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = _mean(sample, indexed(folds, len(sample)), generalise_to)
    return Interval(mean.estimate, half_width(mean.standard_error, confidence, mean.degrees))


class Difference(NamedTuple):
    """An estimate with its standard error: all that t-tests, equivalence tests and intervals need.

    `standard_error` is NaN when there were too few values; with 0 (values without spread) every answer is certain.
    """

    estimate: float
    standard_error: float
    degrees: float

    def p(self, against: float = 0.0) -> float:
        """Two-tailed p of the estimate being `against`."""
        return 2 * _beyond(abs(self._t(against)), self.degrees)

    def p_above(self, against: float) -> float:
        """One-tailed p; small when the truth lies above `against`."""
        return _beyond(self._t(against), self.degrees)

    def p_below(self, against: float) -> float:
        """One-tailed p; small when the truth lies below `against`."""
        return _beyond(-self._t(against), self.degrees)

    def p_within(self, low: float, high: float) -> float:
        """Two one-sided tests (TOST); small when the truth lies between `low` and `high`."""
        return max(self.p_above(low), self.p_below(high))

    def p_outside(self, low: float, high: float) -> float:
        """One-tailed p of the side that is farther out; small when the truth lies below `low` or above `high`."""
        return min(self.p_below(low), self.p_above(high))

    def half_width(self, confidence: float = 0.95) -> float:
        """Half the width of the t-interval around the estimate."""
        require_confidence(confidence)
        return half_width(self.standard_error, confidence, self.degrees) if self.standard_error else 0.0

    def _t(self, against: float) -> float:
        distance = self.estimate - against
        if self.standard_error == 0:
            return 0.0 if abs(distance) <= _ROUNDING else math.copysign(math.inf, distance)
        return distance / self.standard_error


UNKNOWN = Difference(math.nan, math.nan, math.nan)
"""Where there is nothing to compare."""


def _beyond(t: float, degrees: float) -> float:
    """How probable it is that Student's t lies beyond."""
    from scipy import stats  # whoever wants intervals only starts without it

    return float(stats.t.sf(t, degrees))


def _mean(sample: _Array, places: NDArray[np.int64], generalise_to: GeneraliseTo) -> Difference:
    """A mean with its standard error; `places` numbers the folds.

    Folds fixed: the variance within folds, assumed equal, has a degree of freedom less for each fold. Where a fold
    has a single run, it cannot be told from the runs' own spread: all runs are taken as one sample, whose spread holds
    that between folds, too, so the answer errs on the safe side.
    """
    runs, counts = len(sample), np.bincount(places)
    if not runs:
        return UNKNOWN
    means = np.bincount(places, sample) / counts
    if require_generalisation(generalise_to) == SIMILAR:
        if len(means) < 2:
            return Difference(float(means.mean()), math.nan, math.nan)
        return Difference(float(means.mean()), float(means.std(ddof=1)) / math.sqrt(len(means)), len(means) - 1.0)
    estimate = float(sample.mean())
    variance, degrees = _spread(sample, places, counts, means)
    return Difference(estimate, math.sqrt(variance / runs), degrees)


def _spread(sample: _Array, places: NDArray[np.int64], counts: NDArray[np.int64], means: _Array) -> tuple[float, float]:
    """The variance of a run whose fold is given, and its degrees of freedom."""
    if len(sample) < 2:
        return math.nan, math.nan
    if is_one_sample(counts):
        return float(sample.var(ddof=1)), len(sample) - 1.0
    degrees = float(len(sample) - len(counts))
    return float(((sample - means[places]) ** 2).sum()) / degrees, degrees


def is_one_sample(counts: NDArray[np.int64]) -> bool:
    """Whether all runs are taken as one: there is a single fold, or a fold with a single run."""
    return bool(len(counts) == 1 or counts.min() < 2)


def difference(
    values: ArrayLike,
    reference: ArrayLike,
    *,
    paired: bool,
    folds: Sequence[Any] | None = None,
    reference_folds: Sequence[Any] | None = None,
    generalise_to: GeneraliseTo = THIS,
) -> Difference:
    """The difference of two means: paired when the runs share seeds in this order, else Welch's.

    Paired runs share their `folds`; of others the reference has its own, and only folds that both have are compared.

    >>> d = difference([2.0, 3.0, 4.1], [1.0, 2.0, 3.0], paired=True)
    >>> round(d.estimate, 3), round(d.p(), 4)
    (1.033, 0.001)
    >>> round(d.p_within(0.5, 1.5), 4)
    0.0025
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if paired and len(a) != len(b):
        raise ValueError(f"paired samples must have the same size; got {len(a)} and {len(b)}")
    if not len(a) or not len(b):
        return UNKNOWN
    if paired:
        found = _mean(a - b, indexed(folds, len(a)), generalise_to)
    else:
        found = _welch(a, b, folds, reference_folds, generalise_to)
    rounding = _ROUNDING * max(float(np.abs(a).max()), float(np.abs(b).max()))
    if found.standard_error <= rounding:  # spread that is rounding alone is none, and so is a difference
        return Difference(found.estimate if abs(found.estimate) > rounding else 0.0, 0.0, found.degrees)
    return found


def _welch(
    a: _Array, b: _Array, folds: Sequence[Any] | None, others: Sequence[Any] | None, generalise_to: GeneraliseTo
) -> Difference:
    """Two independent samples, fold by fold: what folds have in common cancels, whatever their shares."""
    names = [0] * len(a) if folds is None else list(folds)
    theirs = [0] * len(b) if others is None else list(others)
    shared = [name for name in dict.fromkeys(names) if name in set(theirs)]
    if not shared:
        return UNKNOWN
    place = {name: index for index, name in enumerate(shared)}
    (a, i), (b, j) = _placed(a, names, place), _placed(b, theirs, place)
    n, m = np.bincount(i), np.bincount(j)
    means, others_means = np.bincount(i, a) / n, np.bincount(j, b) / m
    if require_generalisation(generalise_to) == SIMILAR:
        return _mean(means - others_means, np.arange(len(shared)), SIMILAR)
    weights = (n + m) / (len(a) + len(b))
    estimate = float(weights @ (means - others_means))
    if len(a) < 2 or len(b) < 2:
        return Difference(estimate, math.nan, math.nan)
    squares, below = 0.0, 0.0
    for sample, places, counts, centres in ((a, i, n, means), (b, j, m, others_means)):
        variance, degrees = _spread(sample, places, counts, centres)
        square = variance * float((weights**2 / counts).sum())
        squares += square
        below += square**2 / degrees
    # Welch and Satterthwaite's degrees of freedom.
    degrees = squares**2 / below if below > 0 else float(len(a) + len(b) - 2)
    return Difference(estimate, math.sqrt(squares), degrees)


def _placed(sample: _Array, names: list[Any], place: dict[Any, int]) -> tuple[_Array, NDArray[np.int64]]:
    kept = [index for index, name in enumerate(names) if name in place]
    return sample[kept], np.array([place[names[index]] for index in kept], dtype=np.int64)


def indexed(folds: Sequence[Any] | None, runs: int) -> NDArray[np.int64]:
    """Folds by number, in the order in which they appear; without folds there is one."""
    if folds is None:
        return np.zeros(runs, dtype=np.int64)
    if len(folds) != runs:
        raise ValueError(f"folds must name the fold of each run; got {len(folds)} for {runs} runs")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(fold, len(numbers)) for fold in folds], dtype=np.int64)


def require_generalisation(word: str) -> GeneraliseTo:
    """What to generalise to; refuse anything but the two words."""
    if word == THIS:
        return THIS
    if word == SIMILAR:
        return SIMILAR
    raise SettingsError(f"generalise-to must be {THIS!r} or {SIMILAR!r}; got {word!r}")


class Comparison(NamedTuple):
    """One method against another on runs that are pairs; two-tailed p."""

    difference: Difference
    pairs: int
    folds: int

    @property
    def p(self) -> float:
        """Of there being no difference."""
        return self.difference.p()

    @property
    def mark(self) -> str:
        """The paper's marks, from the paired test."""
        return mark(self.difference.estimate, self.p)

    def __str__(self) -> str:
        shown = f"{self.difference.estimate:+.4g} ± {self.difference.half_width():.2g}".replace("-", "−")
        return f"{shown}, p = {self.p:.2g}, {self.pairs} pairs"


def paired_comparison(
    a: ArrayLike,
    b: ArrayLike,
    folds: Sequence[Any] | None = None,
    seeds: Sequence[Any] | None = None,
    *,
    generalise_to: GeneraliseTo = THIS,
) -> Comparison:
    """Two methods on the same queries: `a[i]` and `b[i]` are runs that share a seed and a fold.

    >>> print(paired_comparison([2.0, 3.0, 4.1], [1.0, 2.0, 3.0], seeds=[1, 2, 3]))
    +1.033 ± 0.14, p = 0.001, 3 pairs
    """
    found = difference(a, b, paired=True, folds=folds, generalise_to=generalise_to)
    pairs = len(np.asarray(a))
    places = indexed(folds, pairs)
    if seeds is not None and len(set(zip(places.tolist(), seeds, strict=True))) < pairs:
        raise ValueError("seeds must differ on a fold: the same pair of runs must not count twice")
    return Comparison(found, pairs, len(set(places.tolist())))


def mark(estimate: float, p: float) -> str:
    """The paper's marks: △ p < 0.05 and ▲ p < 0.01 for a gain, ▽ and ▼ for a loss.

    >>> mark(1.0, 0.03), mark(-1.0, 0.001), mark(1.0, 0.2)
    ('△', '▼', '')
    """
    if not p < 0.05:
        return ""
    strong = p < 0.01
    return ("▲" if strong else "△") if estimate > 0 else ("▼" if strong else "▽")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction; a NaN (no test was made) stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for step, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - step) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def hedges_g(values: ArrayLike, reference: ArrayLike) -> float:
    """Hedges' g: the difference in units of the pooled standard deviation, corrected for small samples.

    >>> round(hedges_g([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]), 3)
    0.798
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if len(a) < 2 or len(b) < 2:
        return math.nan
    degrees = len(a) + len(b) - 2
    pooled = math.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / degrees)
    return _standardised(difference(a, b, paired=False), pooled, degrees)


def d_z(values: ArrayLike, reference: ArrayLike) -> float:
    """The mean of paired differences in units of their standard deviation, corrected for small samples.

    >>> round(d_z([2.0, 3.0, 4.1, 5.5], [1.0, 2.0, 3.0, 4.0]), 3)
    3.496
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    paired = difference(a, b, paired=True)
    if len(a) < 3:
        return math.nan  # two pairs say nothing about their spread once it is corrected
    return _standardised(paired, float((a - b).std(ddof=1)), len(a) - 1)


def _standardised(difference: Difference, deviation: float, degrees: int) -> float:
    """Without any spread: 0 if there is no difference either, else infinite. The factor is Hedges' exact one."""
    if difference.standard_error == 0:
        return 0.0 if difference.estimate == 0 else math.copysign(math.inf, difference.estimate)
    correction = math.exp(math.lgamma(degrees / 2) - math.lgamma((degrees - 1) / 2)) / math.sqrt(degrees / 2)
    return difference.estimate / deviation * correction
