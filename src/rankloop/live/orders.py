"""How alike two ways of scoring order the candidates of pages that people were really shown."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Impression

Scoring = Callable[[Impression], NDArray[Any]]
"""From a page that was shown to one score for each of its candidates."""


class Orders(msgspec.Struct, frozen=True):
    """How alike two orders of the candidates of logged pages are.

    Attributes:
        pages: how many were looked at.
        same_first: the share of pages that begin with the same document.
        same_page: the share of pages that are the same at every rank.
        shared: the share of a page's documents, wherever they stand, that both show.
        kendall: Kendall's τ of the two orders of all candidates, averaged over pages: 1 the same, −1 reversed.
    """

    pages: int
    same_first: float
    same_page: float
    shared: float
    kendall: float

    def __str__(self) -> str:
        return (
            f"on {self.pages:,} logged pages: the first result stays on {self.same_first:.1%}, the whole page on "
            f"{self.same_page:.1%}; {self.shared:.1%} of what is shown stays; Kendall's τ of all candidates "
            f"{self.kendall:.4f}"
        )


def compare_orders(pages: Sequence[Impression], one: Scoring, other: Scoring) -> Orders:
    """What two ways of scoring would show, without exploration, of the candidates of these pages."""
    from scipy import stats

    first, whole, shared, kendall = [], [], [], []
    for impression in pages:
        size = len(impression.page)
        a, b = (np.argsort(-scores(impression), kind="stable") for scores in (one, other))
        first.append(a[0] == b[0])
        whole.append((a[:size] == b[:size]).all())
        shared.append(len(np.intersect1d(a[:size], b[:size])) / size)
        # Ranks, not scores: a tie is broken by the incoming order for both.
        ranks = np.argsort(a), np.argsort(b)
        if len(a) < 3:  # one pair at most: SciPy divides by zero
            kendall.append(1.0 if first[-1] else -1.0)
        else:
            kendall.append(stats.kendalltau(*ranks, method="asymptotic").statistic)
    return Orders(len(pages), *(float(np.mean(found)) for found in (first, whole, shared, kendall)))
