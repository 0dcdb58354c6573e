"""Examination from the policy's own randomness: neighbours that might as well have stood the other way round.

Let a and b stand at ranks k and k + 1 of a page that a Plackett–Luce policy drew, A and B be their e^{s/T}, and R the
sum over what was left after both. Given all else, the policy showed (a, b) rather than (b, a) with probability
q = (A + R)/(A + B + 2R). Weighed by 1 − q, the two orders count the same, so for people whose examination depends on
the rank alone

    θ_{k+1}/θ_k = Σ c_{k+1} (1 − q)  ÷  Σ c_k (1 − q)            (sums over pages)

is consistent, whatever the documents' attraction. No query needs to repeat, and no page is shuffled for it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp, whole_blocks
from rankloop.policies.plackett_luce import checked_clicks, checked_page, checked_scores, log_remaining
from rankloop.settings import require_whole_number
from rankloop.statistics.intervals import half_width

Array = NDArray[np.float64]


class SwapCurve(NamedTuple):
    """What the swaps say, rank by rank, relative to the first: a curve and its interval, NaN where nothing is known."""

    curve: Array
    low: Array
    high: Array


class Swaps:
    """Sums over pages from which examination is estimated.

    >>> swaps = Swaps(page_size=2)
    >>> for clicks in ([1, 0], [0, 1], [1, 0], [1, 0], [0, 1]):
    ...     swaps.add([0.0, 0.0, 0.0], page=[2, 0], clicks=clicks)
    >>> swaps.examination().curve.round(3)
    array([1.   , 0.667])
    """

    def __init__(self, page_size: int) -> None:
        self.moments = empty_moments(require_whole_number("swaps", "page_size", page_size, at_least=1))

    def add(self, scores: ArrayLike, page: ArrayLike, clicks: ArrayLike, temperature: float = 1.0) -> None:
        """Take in a page, with the scores that drew it."""
        z = checked_scores(scores, temperature)
        shown = checked_page(page, len(z))
        if len(shown) > pairs_of(self.moments) + 1:
            raise SettingsError(f"swaps: pages show at most {pairs_of(self.moments) + 1} documents; got {len(shown)}")
        clicked = checked_clicks(clicks, len(shown))
        count_swaps(self.moments, np.arange(len(shown)), noted_swaps(z, shown), clicked)

    def examination(self, confidence: float = 0.95) -> SwapCurve:
        """The curve relative to rank 1, with an interval for each rank."""
        return examination_of(self.moments, confidence)


def noted_swaps(z: Array, page: NDArray[np.int64]) -> NDArray[np.float32]:
    """(ranks, 1): the chance that each document and the one below it had stood the other way round."""
    notes = np.zeros((len(page), 1), np.float32)
    note_swaps(z, page, np.empty(whole_blocks(len(z))), np.empty(len(page) + 1), notes)
    return notes


def empty_moments(page_size: int) -> Array:
    """(1 + 2P, 1 + 2P) for P neighbouring pairs: the number of pages, sums, and sums of products.

    Columns 1 … P are c_k (1 − q), the following P are c_{k+1} (1 − q).
    """
    size = 2 * (page_size - 1) + 1
    return np.zeros((size, size))


def pairs_of(moments: Array) -> int:
    """How many pairs of neighbours a page has."""
    return (len(moments) - 1) // 2


def examination_of(moments: Array, confidence: float = 0.95) -> SwapCurve:
    """The curve from the sums. Its interval: the delta method on log θ, whose influence is a sum along the chain."""
    pairs = pairs_of(moments)
    upper, lower = moments[0, 1 : pairs + 1], moments[0, pairs + 1 :]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(lower) - np.log(upper)
        # Each page moves log(lower/upper) by its share of the one sum less its share of the other.
        slope = np.hstack([-np.diag(1.0 / upper), np.diag(1.0 / lower)])
        chain = np.tril(np.ones((pairs, pairs))) @ slope
        variance = np.einsum("ki,ij,kj->k", chain, moments[1:, 1:], chain)
        curve = np.concatenate([[0.0], np.cumsum(log_ratio)])
        reach = half_width(1.0, confidence) * np.sqrt(np.concatenate([[0.0], variance]))
    known = np.isfinite(curve) & np.isfinite(reach)
    curve, reach = np.where(known, curve, np.nan), np.where(known, reach, np.nan)
    return SwapCurve(np.exp(curve), np.exp(curve - reach), np.exp(curve + reach))


@kernel
def note_swaps(z, page, scratch, remaining, notes):
    """1 − q for each document and the one below it, in the first column; what stands last has none below it.

    1 − q = (B + R)/(A + B + 2R): sums only, relative to what remained when the upper one was placed.
    """
    k = page.size
    log_remaining(z, page, scratch, remaining[: k + 1])
    for t in range(k - 1):
        a = exp(z[page[t]] - remaining[t])
        b = exp(z[page[t + 1]] - remaining[t])
        rest = exp(remaining[t + 2] - remaining[t])
        notes[t, 0] = np.float32((b + rest) / (a + b + 2.0 * rest))
    notes[k - 1, 0] = np.float32(0.0)


@kernel
def count_swaps(moments, ranks, notes, clicks):
    """Let a page into the sums. `ranks`: where its documents stand; only neighbours on the screen are compared."""
    pairs = (moments.shape[0] - 1) // 2
    moments[0, 0] += 1.0
    k = ranks.size
    for t in range(k):
        if clicks[t] == 0.0:
            continue
        for side in range(2):
            # As the upper one of a pair (with what is below), then as the lower one (with what is above).
            first = t - side
            if first < 0 or first + 1 >= k or ranks[first + 1] != ranks[first] + 1:
                continue
            i = 1 + ranks[first] + side * pairs
            value = clicks[t] * notes[first, 0]
            moments[0, i] += value
            for u in range(k):
                if clicks[u] == 0.0:
                    continue
                for other in range(2):
                    second = u - other
                    if second < 0 or second + 1 >= k or ranks[second + 1] != ranks[second] + 1:
                        continue
                    j = 1 + ranks[second] + other * pairs
                    moments[i, j] += value * clicks[u] * notes[second, 0]
