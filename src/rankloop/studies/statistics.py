"""Means with intervals, and whether two methods differ: the t-statistics of the field, from scipy."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


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
    if n < 2:
        return Interval(float(sample.mean()), math.nan)
    spread = float(sample.std(ddof=1)) / math.sqrt(n)
    return Interval(float(sample.mean()), float(stats.t.ppf((1 + confidence) / 2, n - 1)) * spread)


def compare(values: ArrayLike, reference: ArrayLike) -> Comparison:
    """Welch's and the paired two-tailed t-test; pairs are runs that share a seed.

    >>> compare([2.0, 3.0, 4.1], [1.0, 2.0, 3.0]).paired_p < 0.01
    True
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if len(a) < 2 or len(b) < 2:
        return Comparison(float(a.mean() - b.mean()), math.nan, math.nan)
    difference = float(a.mean() - b.mean())
    # Without any spread a t-test divides by 0; the answer is certain all the same.
    certain = 1.0 if difference == 0 else 0.0
    welch = paired = certain
    if np.ptp(a) > 0 or np.ptp(b) > 0:
        welch = float(stats.ttest_ind(a, b, equal_var=False).pvalue)
    if len(a) != len(b):
        paired = math.nan
    elif np.ptp(a - b) > 0:
        paired = float(stats.ttest_rel(a, b).pvalue)
    return Comparison(difference, welch, paired)
