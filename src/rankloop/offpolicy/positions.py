"""Where a policy puts a document: P(document at rank k) and how often it is examined.

Under Plackett–Luce there is no closed form beyond rank 1, but there is an exact integral. Give every document a clock
that rings after an exponential time with rate λ = exp(s/T): the order of the rings is a Plackett–Luce ranking. So d is
at rank k if exactly k − 1 of the others ring before it:

    P(d at k) = ∫ λ_d e^{−λ_d t} · P(k − 1 of the others have rung by t) dt

The inner probability is a Poisson-binomial, built by dynamic programming in O(candidates · ranks). Over u = log t the
integrand is smooth and dies at both ends, where the trapezoid rule converges exponentially. A sampled probability
would be a random denominator, and E[1/p̂] ≠ 1/p; this one is the same number every time, to about twelve digits.
"""

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp
from rankloop.policies import log_probability
from rankloop.policies.plackett_luce import checked_page, checked_scores
from rankloop.settings import require_number, require_whole_number, settle

_NODES = 16  # points in time that are worked on at once, side by side in vector registers
_EARLY = 28.0  # the integrand falls like e^u to the left of the next ring: what lies further left is below 1e-12
_FAR = 1_000.0  # across such a gap nobody ever changes places: the probability is below the smallest float
_OVER = 1e-30  # a rank that is still open with a smaller probability than this is settled


class PlackettLuce(msgspec.Struct, frozen=True, tag="plackett_luce", tag_field="kind"):
    """Documents are drawn one after the other with softmax(scores / temperature) over what remains.

    >>> PlackettLuce(temperature=0.5)
    PlackettLuce(temperature=0.5)
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        settle(self, temperature=require_number("PlackettLuce", "temperature", self.temperature, above=0))


class Greedy(msgspec.Struct, frozen=True, tag="greedy", tag_field="kind"):
    """The best scores first, always; of equal scores the lower index."""


Policy = PlackettLuce | Greedy

SOFTMAX = PlackettLuce()
"""Plackett–Luce as the scores are: temperature 1."""


def position_probabilities(
    scores: ArrayLike, ranks: int, policy: Policy = SOFTMAX, documents: ArrayLike | None = None
) -> NDArray[np.float64]:
    """P(document at rank): (documents, ranks), for some documents or (None) for all candidates.

    >>> position_probabilities([math.log(3.0), 0.0], ranks=2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> position_probabilities([1.0, 2.0, 0.5], ranks=2, policy=Greedy(), documents=[2, 1])
    array([[0., 0.],
           [1., 0.]])
    """
    temperature = policy.temperature if isinstance(policy, PlackettLuce) else 1.0
    z = checked_scores(scores, temperature)
    asked = np.arange(len(z)) if documents is None else checked_page(documents, len(z))
    ranks = require_whole_number("position_probabilities", "ranks", ranks, at_least=1)
    if ranks > len(z):
        raise SettingsError(f"position_probabilities: ranks must be at most the {len(z)} candidates; got {ranks}")
    if isinstance(policy, Greedy):
        return (asked[:, None] == np.argsort(-z, kind="stable")[:ranks]).astype(np.float64)
    if not isinstance(policy, PlackettLuce):
        raise SettingsError(f"policy must be PlackettLuce(temperature) or Greedy(); got {policy!r}")
    return _integrated(_brought_near(z), asked, ranks)


def expected_examination(
    scores: ArrayLike, examination: ArrayLike, policy: Policy = SOFTMAX, documents: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Σ_k θ_k P(document at k): the probability that a document is shown and looked at.

    >>> expected_examination([math.log(3.0), 0.0], examination=[1.0, 0.5])
    array([0.875, 0.625])
    """
    theta = np.array(examination, dtype=np.float64, ndmin=1)
    return position_probabilities(scores, len(theta), policy, documents) @ theta


def page_log_probability(scores: ArrayLike, page: ArrayLike, policy: Policy = SOFTMAX) -> float:
    """log P(page); for a greedy policy 0 or −∞.

    >>> page_log_probability([2.0, 1.0], [1, 0], Greedy())
    -inf
    """
    if isinstance(policy, PlackettLuce):
        return log_probability(scores, page, policy.temperature)
    z = checked_scores(scores)
    shown = checked_page(page, len(z))
    return 0.0 if np.array_equal(shown, np.argsort(-z, kind="stable")[: len(shown)]) else -math.inf


def _brought_near(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores less the largest, no further apart than matters: the integral ends soon, however large they are."""
    order = np.argsort(-z, kind="stable")
    with np.errstate(over="ignore"):
        gaps = np.diff(z[order])
    if len(gaps) == 0 or gaps.min() >= -_FAR:
        return np.asarray(z - z.max())
    near = np.zeros(len(z))
    near[order[1:]] = np.cumsum(np.maximum(gaps, -_FAR))
    return near


def _integrated(z: NDArray[np.float64], asked: NDArray[np.int64], ranks: int) -> NDArray[np.float64]:
    placed = np.zeros((len(asked), ranks))
    softmax = np.exp(z) / np.exp(z).sum()
    if ranks > 1:
        order = np.argsort(-z, kind="stable")
        # log Σ exp over what is left when the first documents are gone, from the bottom up.
        left = np.logaddexp.accumulate(z[order][::-1])[::-1]
        others = np.ones(len(z), np.bool_)
        others[asked] = False
        # The k-th ring is spread over about 1/√k in log time, and the step must be finer than that.
        step = min(0.25, 0.63 / math.sqrt(ranks))
        _integrate(z, z[order], np.ascontiguousarray(left), asked, np.flatnonzero(others), step, placed)
    placed[:, 0] = softmax[asked]
    return np.minimum(placed, 1.0)


@kernel
def _integrate(z, sorted_z, left, asked, others, step, placed):
    """Add the trapezoid sum over u = log t to `placed` (documents asked for, ranks)."""
    ranks = placed.shape[1]
    # rung[i]: the pmf of how many have rung among the others and the first i asked for; after: among those behind i.
    rung = np.empty((asked.size + 1, ranks, _NODES))
    after = np.empty((ranks, _NODES))
    elapsed, silent, has_rung = np.empty(_NODES), np.empty(_NODES), np.empty(_NODES)
    certain = math.log(2.0 * ranks + 60.0)  # so long after its time a clock has rung
    # Rank 1 is known, and the integrand of every later rank falls like e^{2u} before the first ring.
    node = math.floor((-left[0] - 0.5 * _EARLY) / step)
    gone, open_ranks = 0, 1.0
    while open_ranks > _OVER and gone < ranks:
        _count_rung(z, others, asked, node, step, rung, elapsed, silent, has_rung)
        _add_block(z, asked, node, step, rung, after, elapsed, silent, has_rung, placed)
        open_ranks = 0.0
        for j in range(ranks):
            open_ranks += rung[asked.size, j, _NODES - 1]
        node += _NODES
        while gone < ranks and node * step > certain - sorted_z[gone]:
            gone += 1
        if 0 < gone < ranks:  # where scores lie far apart nothing happens for long: skip it
            node = max(node, math.floor((-left[gone] - _EARLY) / step))


@kernel
def _count_rung(z, others, asked, node, step, rung, elapsed, silent, has_rung):
    rung[0] = 0.0
    rung[0, 0] = 1.0
    for d in others:
        _clock(z[d], node, step, elapsed, silent, has_rung)
        _count_one_more(rung[0], silent, has_rung)
    for i in range(asked.size):
        rung[i + 1] = rung[i]
        _clock(z[asked[i]], node, step, elapsed, silent, has_rung)
        _count_one_more(rung[i + 1], silent, has_rung)


@kernel
def _add_block(z, asked, node, step, rung, after, elapsed, silent, has_rung, placed):
    ranks = placed.shape[1]
    after[:] = 0.0
    after[0] = 1.0
    total = np.empty(_NODES)
    for i in range(asked.size - 1, -1, -1):
        _clock(z[asked[i]], node, step, elapsed, silent, has_rung)
        for k in range(1, ranks):
            total[:] = 0.0
            for j in range(k + 1):
                for b in range(_NODES):
                    total[b] += rung[i, j, b] * after[k - j, b]
            for b in range(_NODES):
                placed[i, k] += step * elapsed[b] * silent[b] * total[b]
        _count_one_more(after, silent, has_rung)


@kernel
def _clock(z, node, step, elapsed, silent, has_rung):
    """λt at each point in time, the probability e^{−λt} of silence and, without cancellation, 1 − e^{−λt}."""
    for b in range(_NODES):
        x = exp((node + b) * step + z)
        s = exp(-x)
        elapsed[b] = x
        silent[b] = s
        series = x * (1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4 * (1.0 - x / 5 * (1.0 - x / 6)))))
        has_rung[b] = series if x < 0.03 else 1.0 - s


@kernel
def _count_one_more(count, silent, has_rung):
    """The pmf of a number of rings, with one clock more."""
    for j in range(count.shape[0] - 1, 0, -1):
        for b in range(_NODES):
            count[j, b] = count[j, b] * silent[b] + count[j - 1, b] * has_rung[b]
    for b in range(_NODES):
        count[0, b] *= silent[b]
