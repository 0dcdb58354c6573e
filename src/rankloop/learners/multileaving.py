"""Comparing rankers on one page: probabilistic multileaving (two rankers: interleaving) and team draft.

Probabilistic multileaving (Schuth et al., 2015): each ranker prefers documents with P(d) ∝ 1/rank³ over its own
ranking, original ranks kept and renormalised over what remains. For each rank of the page a ranker is drawn uniformly,
with replacement, and a document from that ranker's preference. A click's credit is the posterior over which ranker
placed the document; because rankers are drawn independently, it factorises over ranks.

A ranking is a row of distinct integer keys, one per document, larger is better (`order_keys`): comparing keys settles
ties as well, and a document's rank is one plus the number of larger keys, so nothing needs to be sorted.

How likely a page was is told given the rankings that filled it: search directions and the order of ties belong to the
comparison, and with them fixed the product over ranks is exact.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.draws import INTERLEAVING, TIES, below, bits, stream_key, uniform
from rankloop.kernels.selection import sortable32
from rankloop.policies.plackett_luce import checked_clicks, checked_page


def credit(rankings: ArrayLike, page: ArrayLike, clicks: ArrayLike) -> NDArray[np.float64]:
    """The credit of each ranker for a page: Σ over clicks of the posterior that it placed the document.

    `rankings` is (rankers, documents): each row lists all documents, best first. Credits sum to the clicks.

    >>> credit([[0, 1, 2], [2, 1, 0]], page=[0, 1], clicks=[1, 0]).round(3)
    array([0.964, 0.036])
    """
    orders = np.asarray(rankings, dtype=np.int64)
    everything = np.arange(orders.shape[-1])
    shown = checked_page(page, len(everything))
    clicked = checked_clicks(clicks, len(shown))
    if orders.ndim != 2 or (np.sort(orders, axis=1) != everything).any():
        raise SettingsError("each ranking must list every document exactly once, best first")
    keys = np.empty_like(orders)
    for ranker, order in enumerate(orders):
        keys[ranker, order] = -everything
    posterior = np.empty((len(shown), len(orders)), np.float32)
    ranks, removed = np.empty(len(orders), np.int64), np.zeros(len(orders))
    total = cubes_up_to(len(everything))
    for t, document in enumerate(shown):
        assign(keys, document, total, ranks, removed, posterior[t])
    return clicked @ posterior


def multileaved_log_probability(ranks: NDArray[np.int64], documents: int) -> float:
    """log π(page) = Σ_t log mean_c P_c(d_t | what remains), given the rankings that were multileaved.

    `ranks` is (page, rankers): where each ranker had the documents of the page, from 1 on, as `multileave` leaves them
    in its scratch. What remains is summed from the bottom of the page up, so nothing cancels.

    >>> page = np.array([[1, 3], [2, 2]])  # the first ranker's two best; the second ranks the other way round
    >>> round(math.exp(multileaved_log_probability(page, documents=3)), 4)
    0.1969
    """
    everyone = np.arange(ranks.shape[1])
    mass = 1.0 / np.arange(1.0, documents + 1) ** 3
    unplaced = np.repeat(mass[:, None], len(everyone), axis=1)
    unplaced[ranks - 1, everyone] = 0.0
    placed = mass[ranks - 1]
    remaining = unplaced[::-1].sum(axis=0) + placed[::-1].cumsum(axis=0)[::-1]
    return float(np.log((placed / remaining).mean(axis=1)).sum())


def drafted_log_probability(keys: NDArray[np.int64], page: NDArray[np.int64]) -> float:
    """log π(page) of a team draft, given the two rankings: for each round, the mean over who picks first.

    >>> keys = np.array([[3, 2, 1], [1, 2, 3]])  # larger is better: 0, 1, 2 against 2, 1, 0
    >>> round(math.exp(drafted_log_probability(keys, np.array([0, 2, 1]))), 4)
    0.5
    """
    rankings = [np.argsort(-row).tolist() for row in keys]
    shown: list[int] = page.tolist()
    total = 0.0
    for start in range(0, len(shown), 2):
        turns = shown[start : start + 2]
        ways = sum(_drafts(rankings[first], rankings[1 - first], shown[:start], turns) for first in (0, 1))
        total += math.log(ways / 2) if ways else -math.inf
    return total


def _drafts(first: list[int], second: list[int], taken: list[int], turns: list[int]) -> bool:
    """Whether one round, begun by `first`, places the documents of `turns`."""
    placed = list(taken)
    for ranking, document in zip((first, second), turns, strict=False):
        if next(d for d in ranking if d not in placed) != document:
            return False
        placed.append(document)
    return True


@kernel
def cubes_up_to(n):
    """Σ_{k ≤ n} 1/k³, from the small terms up."""
    total = 0.0
    for k in range(n, 0, -1):
        total += 1.0 / (np.float64(k) * k * k)
    return total


@kernel
def order_keys(scores, seed, impression, keys):
    """keys[c, i]: distinct integers in the order of ranker c's scores[i, c], equal scores in random order.

    The upper half is the score as an integer that sorts like the float, the lower half a random number of its own for
    each document (a bijection of its index, so two documents never share one).
    """
    start = np.uint32(bits(stream_key(seed, TIES, impression), 0) >> np.uint64(32))
    for i in range(scores.shape[0]):
        tie = np.int64(scramble(np.uint32(i) + start))
        for c in range(keys.shape[0]):
            keys[c, i] = (np.int64(sortable32(scores[i, c])) << np.int64(32)) | tie


@kernel
def scramble(x):
    """A bijection on 32 bits that leaves no visible order (Wellons' lowbias32)."""
    x = np.uint32(x)
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32((x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@kernel
def multileave(keys, seed, impression, ranks, removed, scratch, page, posterior):
    """Fill the page, and for each rank the posterior over the rankers that may have placed its document.

    `ranks` (page, rankers), `removed` (rankers) and `scratch` (documents) are used as scratch.
    """
    key = stream_key(seed, INTERLEAVING, impression)
    rankers, documents = keys.shape
    total = cubes_up_to(documents)
    removed[:] = 0.0
    for t in range(page.size):
        ranker = below(key, 2 * t, rankers)
        target = uniform(key, 2 * t + 1) * (total - removed[ranker])
        rank = draw_rank(target, ranks, t, ranker, documents)
        page[t] = document_at(keys[ranker], rank, scratch)
        assign(keys, page[t], total, ranks[t], removed, posterior[t])


@kernel
def draw_rank(target, ranks, placed, ranker, documents):
    """The rank at which the mass 1/rank³ of what remains, summed from the top, reaches `target`."""
    mass, rank, last = 0.0, 0, 1
    while rank < documents and mass < target:
        rank += 1
        free = True
        for t in range(placed):
            if ranks[t, ranker] == rank:
                free = False
        if free:
            last = rank
            mass += 1.0 / (np.float64(rank) * rank * rank)
    return last


@kernel
def document_at(keys, rank, scratch):
    """The document at a rank: quickselect for its key, then the document that owns it."""
    scratch[:] = keys
    low, high, wanted = 0, keys.size - 1, rank - 1
    while low < high:
        pivot = scratch[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while scratch[i] > pivot:
                i += 1
            while scratch[j] < pivot:
                j -= 1
            if i <= j:
                scratch[i], scratch[j] = scratch[j], scratch[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    document = 0
    while keys[document] != scratch[wanted]:
        document += 1
    return document


@kernel
def assign(keys, document, total, ranks, removed, posterior):
    """The posterior over rankers for a document that was just placed, which then leaves their preferences."""
    evidence = 0.0
    for c in range(posterior.size):
        ranks[c] = rank_of(keys[c], document)
        mass = 1.0 / (np.float64(ranks[c]) * ranks[c] * ranks[c])
        share = mass / (total - removed[c])
        removed[c] += mass
        posterior[c] = share
        evidence += share
    for c in range(posterior.size):
        posterior[c] /= evidence


@kernel
def rank_of(keys, document):
    """One plus the number of documents with a larger key."""
    own, larger = keys[document], 0
    for i in range(keys.size):
        larger += keys[i] > own
    return 1 + larger


@kernel
def team_draft(keys, seed, impression, page, posterior):
    """Team draft (Radlinski et al., 2008; of more than two: Schuth et al., 2014): rankers take turns, in a random order
    that is drawn anew for each round, and each places its best remaining document.

    `posterior` is 1 for the ranker whose team the document is on.
    """
    key = stream_key(seed, INTERLEAVING, impression)
    rankers = keys.shape[0]
    for t in range(page.size):
        turn = t % rankers
        ranker = next_in_turn(below(key, t, rankers - turn), posterior[t - turn : t])
        best = -1
        for i in range(keys.shape[1]):
            if best >= 0 and keys[ranker, i] <= keys[ranker, best]:
                continue
            taken = False
            for s in range(t):
                if page[s] == i:
                    taken = True
            if not taken:
                best = i
        page[t] = best
        posterior[t, :] = 0.0
        posterior[t, ranker] = 1.0


@kernel
def next_in_turn(place, placed):
    """The ranker at a place among those who have not had their turn in this round; `placed` are its teams so far."""
    for ranker in range(placed.shape[1]):
        waits = True
        for t in range(placed.shape[0]):
            if placed[t, ranker] == 1.0:
                waits = False
        if waits:
            if place == 0:
                return ranker
            place -= 1
    return -1
