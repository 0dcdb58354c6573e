"""Comparisons that may be looked at at any time, of pages that come from people: sums by part of the people.

Pages of one person are no independent observations. There may be millions of people; they are kept in 128 parts, each
person in one, which are as independent of each other as people are. Nor may one person decide: of a part's pages no
more count than ten and three times what the others have on average.

A margin lies between −1 and 1 and says by how much one of two sides won a page. If neither is preferred, it is as
likely to be m as −m, whatever came before. Then exp(λ Σm − λ² Σm²/2) is a supermartingale for every λ (de la Peña,
1999), and the normal mixture of these is below 1/α at all times at once with probability 1 − α. So where each page is
another person's, no number of pages is too small. Where people differ, the interval is as wide as they differ.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.statistics.intervals import anytime_confidence, anytime_half_width

Array = NDArray[np.float64]

PARTS = 128
"""Of all people."""
FEWEST = 20
"""Parts in which there must be somebody: the variance between fewer is anybody's guess."""
FREE, TIMES = 10.0, 3.0
"""A part counts for no more than so many, and so many times the others' average."""


def limited(sums: Array, parts: int | None = None) -> Array:
    """What counts of each part's sum: it is held against the others', so what a part has does not raise its limit.

    There is somebody in so many parts; by default in those with a sum.

    >>> limited(np.array([5.0, 100.0, 7.0])).tolist()
    [5.0, 28.0, 7.0]
    """
    parts = int(np.count_nonzero(sums)) if parts is None else parts
    counted: Array = np.minimum(sums, FREE + TIMES * (sums.sum() - sums) / max(parts - 1, 1))
    return counted


def variance_between(values: Array, pages: Array) -> float:
    """Of Σ values / Σ pages, a ratio of sums over parts: parts are independent of each other, pages in them are not."""
    parts, total = int(np.count_nonzero(pages)), float(pages.sum())
    residuals = values - values.sum() / total * pages
    return parts / (parts - 1) * float(residuals @ residuals) / total**2 if parts > 1 else 0.0


class Margin(NamedTuple):
    """The mean margin of a page with its confidence sequence, and how sure one is, at all times, that it is not 0."""

    mean: float
    low: float
    high: float
    sure: float

    @property
    def is_decided(self) -> bool:
        """Whether the sequence has left 0 out."""
        return self.low > 0 or self.high < 0


class Margins:
    """Sums of margins: pages, margins and their squares, by part of the people, (3, parts)."""

    def __init__(self, kept: bytes = b"") -> None:
        self.sums: Array = np.zeros((3, PARTS))
        if kept:
            self.sums[:] = np.frombuffer(kept).reshape(3, PARTS)

    def note(self, who: int, margin: float, sign: int = 1) -> None:
        """One more page, of somebody: `who` is any number that is theirs alone; with a `sign` of −1, one less."""
        self.sums[:, who % PARTS] += (sign, sign * margin, sign * (margin * margin))

    @property
    def parts(self) -> int:
        """In which there is anybody."""
        return int(np.count_nonzero(self.sums[0]))

    def found(self, confidence: float = 0.95, tests: int = 1) -> Margin | None:
        """What the pages say; None if they say nothing. As one of several `tests`, so sure of all of them together."""
        pages, margins, squares = self.sums
        if not squares.any():
            return None
        counted = limited(pages)
        share = counted / np.maximum(pages, 1.0)
        total, margins = float(counted.sum()), margins * share
        mean = float(margins.sum()) / total
        # Not about their mean: a few pages with the same margin are not sure of it.
        spent = max(float(squares @ share**2), variance_between(margins, counted) * total**2)
        error = math.sqrt(spent) / total
        half = anytime_half_width(error, spent, 1 - (1 - confidence) / tests)
        sure = max(0.0, 1 - tests * (1 - anytime_confidence(abs(mean) / error, spent)))
        return Margin(mean, max(-1.0, mean - half), min(1.0, mean + half), sure)
