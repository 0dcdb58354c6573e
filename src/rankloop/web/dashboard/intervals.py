"""How sure one can be of a mean or a share: 95 % intervals, computed from sums that were added up as pages closed."""

import math
from typing import NamedTuple

from rankloop.statistics.intervals import half_width, sample_variance, wilson


class Estimate(NamedTuple):
    """A value with its 95 % interval; None where there is too little to say it."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Sums(NamedTuple):
    """How many pages there were, what their clicks and the squares of these add up to, and their displacement."""

    shown: int = 0
    total: float = 0.0
    squares: float = 0.0
    displacement: float = 0.0

    @property
    def mean(self) -> float:
        """Per page; 0 without pages."""
        return self.total / self.shown if self.shown else 0.0

    @property
    def variance(self) -> float:
        """Of single pages (unbiased); 0 with fewer than two."""
        return sample_variance(self.shown, self.total, self.squares)


def mean(sums: Sums) -> Estimate:
    """The mean, with the normal interval mean ± 1.96·sd/√n. What is summed is never negative, so neither is its mean:
    an interval that would go on below 0 ends there.

    >>> mean(Sums(100, 50.0, 50.0))
    Estimate(value=0.5, low=0.4015..., high=0.5984...)
    """
    if sums.shown < 2:
        return Estimate(sums.mean if sums.shown else None)
    found = around(sums.mean, sums.variance / sums.shown)
    return found._replace(low=max(0.0, found.low or 0.0))


def around(value: float, variance: float) -> Estimate:
    """The normal interval around an estimate whose variance is known."""
    half = half_width(math.sqrt(variance))
    return Estimate(value, value - half, value + half)


def share(sums: Sums) -> Estimate:
    """A click-through rate, with Wilson's interval.

    Graded clicks lie between 0 and 1, so their variance is at most that of clicks of the same mean: the interval is
    then wider than it need be, never too narrow.

    >>> share(Sums(10, 0.0))
    Estimate(value=0.0, low=0.0, high=0.2775...)
    """
    return Estimate(sums.mean, *wilson(sums.mean, sums.shown)) if sums.shown else Estimate(None)
