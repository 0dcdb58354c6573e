"""How many times as large one mean is as another, with an interval: by the delta method, or Fieller's for pairs."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop.statistics.intervals import half_width, require_confidence
from rankloop.statistics.means import UNKNOWN, Difference, difference, indexed, is_one_sample


class Ratio(NamedTuple):
    """A ratio of two means and its confidence interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


def log_ratio(values: ArrayLike, reference: ArrayLike, *, paired: bool, **folds: Any) -> Difference:
    """The logarithm of a ratio of means, with its standard error by the delta method; NaN unless both are positive.

    What else `difference` takes (folds, what to generalise to) holds here, too.
    """
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if not len(a) or not len(b) or not (a.mean() > 0 and b.mean() > 0):
        return UNKNOWN
    # To first order log(mean a) varies as mean(a)/E[a]: relative values have the standard error that is wanted.
    relative = difference(a / a.mean(), b / b.mean(), paired=paired, **folds)
    return Difference(math.log(float(a.mean()) / float(b.mean())), relative.standard_error, relative.degrees)


def as_ratio(log: Difference, confidence: float = 0.95) -> Ratio:
    """A log ratio as the ratio that it is, with its interval."""
    half = log.half_width(confidence)
    return Ratio(math.exp(log.estimate), math.exp(log.estimate - half), math.exp(log.estimate + half))


def ratio(values: ArrayLike, reference: ArrayLike, *, paired: bool, confidence: float = 0.95, **folds: Any) -> Ratio:
    """The ratio of two means with its interval, by the delta method on the logarithm.

    >>> print(ratio([1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0], paired=False))
    0.5 (0.442 to 0.565)
    """
    return as_ratio(log_ratio(values, reference, paired=paired, **folds), confidence)


def fieller(
    values: ArrayLike, reference: ArrayLike, folds: Sequence[Any] | None = None, confidence: float = 0.95
) -> Ratio:
    """The ratio of two means of paired values with Fieller's interval, which is right however small the samples are.

    It holds every ρ for which mean(values − ρ · reference) cannot be told from 0. Where the reference's mean cannot be
    told from 0 itself, nothing bounds the ratio. Folds are fixed, as in `interval`.

    >>> print(fieller([1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0]))
    0.5 (0.465 to 0.53)
    """
    require_confidence(confidence)
    a, b = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if len(a) != len(b):
        raise ValueError(f"paired samples must have the same size; got {len(a)} and {len(b)}")
    if not len(a):
        return Ratio(math.nan, math.nan, math.nan)
    mean_a, mean_b = float(a.mean()), float(b.mean())
    estimate = mean_a / mean_b if mean_b else math.nan
    if len(a) < 2:
        return Ratio(estimate, math.nan, math.nan)
    places = indexed(folds, len(a))
    counts = np.bincount(places)
    centre = np.zeros(len(a), np.int64) if is_one_sample(counts) else places
    degrees = len(a) - len(np.unique(centre))
    rest_a, rest_b = (one - (np.bincount(centre, one) / np.bincount(centre))[centre] for one in (a, b))
    squared = half_width(1.0, confidence, degrees) ** 2 / (degrees * len(a))
    below = mean_b**2 - squared * float(rest_b @ rest_b)
    middle = mean_a * mean_b - squared * float(rest_a @ rest_b)
    above = mean_a**2 - squared * float(rest_a @ rest_a)
    if below <= 0:
        return Ratio(estimate, -math.inf, math.inf)
    half = math.sqrt(max(0.0, middle**2 - below * above))
    return Ratio(estimate, (middle - half) / below, (middle + half) / below)
