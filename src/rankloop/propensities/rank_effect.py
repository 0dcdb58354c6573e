"""Do people look by rank alone? The policy's own randomness can tell.

Take a page R, and R* with the documents at ranks k and l exchanged, k < m < l. The document at rank m and its rank are
the same on both, so people who look by rank alone click it equally often. Weighed by ρ = P(R*)/(P(R) + P(R*)), which a
Plackett–Luce policy knows, both pages count the same, so for such people

    E[ ρ · sign(s_k − s_l) · (c_m − a) ] = 0         for any constant a,

whatever the documents' attraction. Under a cascade the better document above leaves fewer people to reach m, and the
sum turns negative, provided that the scores s say something about attraction. People who never stop by what they click
(the perfect cascade), or who stop anywhere alike (the almost random one), look by rank alone, and are not found out.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp, whole_blocks
from rankloop.policies.plackett_luce import (
    checked_clicks,
    checked_page,
    checked_scores,
    log_remaining,
    remaining_without,
    swap_weight,
)
from rankloop.settings import require_whole_number


class Verdict(NamedTuple):
    """The test's outcome: z is near 0 for people who look by rank alone, and far below it for cascades.

    Attributes:
        z: the sum over pages, in standard errors.
        p: the probability of a |z| this large if people look by rank alone.
        pages: how many pages it rests on.
    """

    z: float
    p: float
    pages: int


class RankEffect:
    """Sums over pages for the test. Add pages in the order in which they were shown.

    >>> effect = RankEffect(page_size=3)
    >>> effect.add([2.0, 0.5, 0.0, -1.0], page=[0, 2, 1], clicks=[1, 0, 0])
    >>> effect.verdict().pages
    1
    """

    def __init__(self, page_size: int) -> None:
        self.clicks = np.zeros((2, require_whole_number("rank effect", "page_size", page_size, at_least=1)))
        """How often each rank was shown, and clicked: what is expected of the next page."""
        self.sums = np.zeros(3)
        """Of the pages' statistics, of their squares, and how many pages."""

    def add(self, scores: ArrayLike, page: ArrayLike, clicks: ArrayLike, temperature: float = 1.0) -> None:
        """Take in a page, with the scores that drew it."""
        z = checked_scores(scores, temperature)
        shown = checked_page(page, len(z))
        size = self.clicks.shape[1]
        if len(shown) > size:
            raise SettingsError(f"rank effect: pages show at most {size} documents; got {len(shown)}")
        add_page(self.sums, self.clicks, z, shown, checked_clicks(clicks, len(shown)), *scratch(len(z), len(shown)))

    def verdict(self) -> Verdict:
        """What the pages so far say. Given what came before, each page's statistic has mean 0, so z is normal."""
        total, squares, pages = self.sums.tolist()
        z = total / math.sqrt(squares) if squares > 0 else 0.0
        return Verdict(z, 2.0 * NormalDist().cdf(-abs(z)), int(pages))


def scratch(candidates: int, page_size: int) -> tuple[NDArray[np.float64], ...]:
    """Room for `add_page`."""
    return np.empty(whole_blocks(candidates)), np.empty(page_size + 1), np.empty((4, page_size))


@kernel
def add_page(sums, clicks_by_rank, z, page, clicks, masses, remaining, rows):
    """Let a page into the sums."""
    k = page.size
    log_remaining(z, page, masses, remaining[: k + 1])
    own, kept, rest, pull = rows[0], rows[1], rows[2], rows[3]
    for t in range(k):
        own[t] = exp(z[page[t]] - remaining[t])
        kept[t] = exp(remaining[t + 1] - remaining[t])
        pull[t] = 0.0
    for lower in range(2, k):
        remaining_without(own, kept, lower, rest)
        for upper in range(lower - 1):
            apart = z[page[upper]] - z[page[lower]]
            if apart != 0.0:
                weight = swap_weight(z, page, remaining, rest, upper, lower)
                signed = weight if apart > 0.0 else -weight
                for m in range(upper + 1, lower):
                    pull[m] += signed
    statistic = 0.0
    for m in range(k):
        shown, clicked = clicks_by_rank[0, m], clicks_by_rank[1, m]
        # The rank's mean so far: of the past only, so it is a constant as far as this page is concerned.
        expected = clicked / shown if shown > 0.0 else 0.0
        statistic += pull[m] * (clicks[m] - expected)
        clicks_by_rank[0, m] += 1.0
        clicks_by_rank[1, m] += clicks[m]
    sums[0] += statistic
    sums[1] += statistic * statistic
    sums[2] += 1.0
