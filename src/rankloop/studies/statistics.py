"""Means with intervals; whether two methods differ, or are alike; by how much; and Holm's correction over many tests.

Everything rests on Student's t. Degenerate samples get a defined answer: a single run has no spread, so its p-values
and intervals are NaN; values without any spread give certain answers; NaN among the values makes the answer NaN.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rankloop.intervals import half_width


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % t-interval (NaN for a single run)."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half_width:.2g}"


class Comparison(NamedTuple):
    """Two-tailed p-values for a difference between two methods, and the difference itself."""

    difference: float
    welch_p: float
    paired_p: float

    @property
    def mark(self) -> str:
        """The paper's marks, from Welch's test: △ p < 0.05 and ▲ p < 0.01 for a gain, ▽ and ▼ for a loss."""
        if not self.welch_p < 0.05:
            return ""
        strong = self.welch_p < 0.01
        return ("▲" if strong else "△") if self.difference > 0 else ("▼" if strong else "▽")


def interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean over runs and the half-width of its t-interval.

    >>> mean, half = interval([1.0, 2.0, 3.0])
    >>> mean, round(half, 3)
    (2.0, 2.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    n = len(sample)
    mean = float(sample.mean()) if n else math.nan
    if n < 2:
        return Interval(mean, math.nan)
    spread = float(sample.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, half_width(spread, confidence, n - 1))


def compare(values: ArrayLike, reference: ArrayLike) -> Comparison:
    """Welch's and the paired two-tailed t-test; pairs are runs that share a seed.

    >>> compare([2.0, 3.0, 4.1], [1.0, 2.0, 3.0]).paired_p < 0.01
    True
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    welch = difference(a, b, paired=False)
    paired_p = difference(a, b, paired=True).p() if len(a) == len(b) else math.nan
    return Comparison(welch.estimate, welch.p(), paired_p)


# Rounding leaves differences of this size, relative to the values, where there is none.
_ROUNDING = 1e-12


class Difference(NamedTuple):
    """An estimate with its standard error: all that t-tests, equivalence tests and intervals need.

    `standard_error` is NaN when there were too few values; with 0 (values without spread) every answer is certain.
    """

    estimate: float
    standard_error: float
    degrees: float

    def p(self, against: float = 0.0) -> float:
        """Two-tailed p of the estimate being `against`."""
        t = self._t(against)
        return float(2 * stats.t.sf(abs(t), self.degrees))

    def p_above(self, against: float) -> float:
        """One-tailed p; small when the truth lies above `against`."""
        return float(stats.t.sf(self._t(against), self.degrees))

    def p_below(self, against: float) -> float:
        """One-tailed p; small when the truth lies below `against`."""
        return float(stats.t.sf(-self._t(against), self.degrees))

    def p_within(self, low: float, high: float) -> float:
        """Two one-sided tests (TOST); small when the truth lies between `low` and `high`."""
        return max(self.p_above(low), self.p_below(high))

    def half_width(self, confidence: float = 0.95) -> float:
        """Half the width of the t-interval around the estimate."""
        return half_width(self.standard_error, confidence, self.degrees) if self.standard_error else 0.0

    def _t(self, against: float) -> float:
        distance = self.estimate - against
        if self.standard_error == 0:
            return 0.0 if abs(distance) <= _ROUNDING else math.copysign(math.inf, distance)
        return distance / self.standard_error


class Ratio(NamedTuple):
    """A ratio of two means and its confidence interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


def difference(values: ArrayLike, reference: ArrayLike, *, paired: bool) -> Difference:
    """The difference of two means: paired when the runs share seeds in this order, else Welch's.

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
        return Difference(math.nan, math.nan, math.nan)
    estimate = float(a.mean() - b.mean())
    if len(a) < 2 or len(b) < 2:
        return Difference(estimate, math.nan, math.nan)
    if paired:
        squares, degrees = [float((a - b).var(ddof=1)) / len(a)], float(len(a) - 1)
    else:
        squares = [float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)]
        # Welch and Satterthwaite's degrees of freedom.
        below = sum(square**2 / (count - 1) for square, count in zip(squares, (len(a), len(b)), strict=True))
        degrees = sum(squares) ** 2 / below if below > 0 else float(len(a) + len(b) - 2)
    standard_error = math.sqrt(sum(squares))
    rounding = _ROUNDING * max(float(np.abs(a).max()), float(np.abs(b).max()))
    if standard_error <= rounding:  # spread that is rounding alone is none, and so is a difference
        return Difference(estimate if abs(estimate) > rounding else 0.0, 0.0, degrees)
    return Difference(estimate, standard_error, degrees)


def log_ratio(values: ArrayLike, reference: ArrayLike, *, paired: bool) -> Difference:
    """The logarithm of a ratio of means, with its standard error by the delta method; NaN unless both are positive."""
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if not len(a) or not len(b) or not (a.mean() > 0 and b.mean() > 0):
        return Difference(math.nan, math.nan, math.nan)
    # To first order log(mean a) varies as mean(a)/E[a]: relative values have the standard error that is wanted.
    relative = difference(a / a.mean(), b / b.mean(), paired=paired)
    return Difference(math.log(float(a.mean()) / float(b.mean())), relative.standard_error, relative.degrees)


def ratio(values: ArrayLike, reference: ArrayLike, *, paired: bool, confidence: float = 0.95) -> Ratio:
    """The ratio of two means with its interval, by the delta method on the logarithm.

    >>> print(ratio([1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0], paired=False))
    0.5 (0.442 to 0.565)
    """
    log = log_ratio(values, reference, paired=paired)
    half = log.half_width(confidence)
    return Ratio(math.exp(log.estimate), math.exp(log.estimate - half), math.exp(log.estimate + half))


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
