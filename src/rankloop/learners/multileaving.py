"""Comparing rankers on one page: probabilistic multileaving (two rankers: interleaving) and team draft.

Probabilistic multileaving (Schuth et al., 2015): each ranker prefers documents with P(d) ∝ 1/rank³ over its own
ranking, original ranks kept and renormalised over what remains. For each rank of the page a ranker is drawn uniformly,
with replacement, and a document from that ranker's preference. A click's credit is the posterior over which ranker
placed the document; because rankers are drawn independently, it factorises over ranks.

A ranking is a column of distinct integer keys, larger is better (`order_keys`): comparing keys settles ties as well,
and a document's rank is one plus the number of larger keys, so nothing needs to be sorted.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import as_int32
from rankloop.kernels.draws import INTERLEAVING, TIES, below, bits, stream_key, uniform


def credit(rankings: ArrayLike, page: ArrayLike, clicks: ArrayLike) -> NDArray[np.float64]:
    """The credit of each ranker for a page: Σ over clicks of the posterior that it placed the document.

    `rankings` is (rankers, documents): each row lists all documents, best first. Credits sum to the clicks.

    >>> credit([[0, 1, 2], [2, 1, 0]], page=[0, 1], clicks=[1, 0]).round(3)
    array([0.964, 0.036])
    """
    orders = np.asarray(rankings, dtype=np.int64)
    shown, clicked = np.asarray(page, dtype=np.int64), np.asarray(clicks, dtype=np.float64)
    everything = np.arange(orders.shape[-1])
    if orders.ndim != 2 or (np.sort(orders, axis=1) != everything).any():
        raise SettingsError("each ranking must list every document exactly once, best first")
    if shown.shape != clicked.shape:
        raise SettingsError(f"clicks must have one value per shown document: {len(shown)}")
    keys = np.empty((orders.shape[1], orders.shape[0]), np.int64)
    for ranker, order in enumerate(orders):
        keys[order, ranker] = -everything
    posterior = np.empty((len(shown), len(orders)), np.float32)
    ranks, removed = np.empty(len(orders)), np.zeros(len(orders))
    total = cubes_up_to(len(everything))
    for t, document in enumerate(shown):
        assign(keys, document, total, ranks, removed, posterior[t])
    return clicked @ posterior


@kernel
def cubes_up_to(n):
    """Σ_{k ≤ n} 1/k³, from the small terms up."""
    total = 0.0
    for k in range(n, 0, -1):
        total += 1.0 / (np.float64(k) * k * k)
    return total


@kernel
def order_keys(scores, seed, impression, keys):
    """keys[i, c]: distinct integers in the order of ranker c's scores, equal scores in random order.

    The upper half is the score as an integer that sorts like the float, the lower half a random number of its own for
    each document (a bijection of its index, so two documents never share one).
    """
    start = np.uint32(bits(stream_key(seed, TIES, impression), 0) >> np.uint64(32))
    for i in range(scores.shape[0]):
        tie = np.int64(scramble(np.uint32(i) + start))
        for c in range(scores.shape[1]):
            pattern = as_int32(scores[i, c] + np.float32(0.0))  # −0 becomes 0: they are equal scores
            pattern ^= (pattern >> np.int32(31)) & np.int32(0x7FFFFFFF)
            keys[i, c] = (np.int64(pattern) << np.int64(32)) | tie


@kernel
def scramble(x):
    """A bijection on 32 bits that leaves no visible order (Wellons' lowbias32)."""
    x = np.uint32(x)
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32((x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@kernel
def multileave(keys, seed, impression, ranks, removed, column, page, posterior):
    """Fill the page, and for each rank the posterior over the rankers that may have placed its document.

    `ranks` (page, rankers), `removed` (rankers) and `column` (documents) are scratch.
    """
    key = stream_key(seed, INTERLEAVING, impression)
    documents, rankers = keys.shape
    total = cubes_up_to(documents)
    removed[:] = 0.0
    for t in range(page.size):
        ranker = below(key, 2 * t, rankers)
        target = uniform(key, 2 * t + 1) * (total - removed[ranker])
        rank = draw_rank(target, ranks, t, ranker, documents)
        for i in range(documents):
            column[i] = keys[i, ranker]
        page[t] = document_at(column, keys, ranker, rank)
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
def document_at(column, keys, ranker, rank):
    """The document at a rank: quickselect for the key, then the document that owns it. `column` is used up."""
    low, high, wanted = 0, column.size - 1, rank - 1
    while low < high:
        pivot = column[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while column[i] > pivot:
                i += 1
            while column[j] < pivot:
                j -= 1
            if i <= j:
                column[i], column[j] = column[j], column[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    value = column[wanted]
    for i in range(keys.shape[0]):
        if keys[i, ranker] == value:
            return i
    return 0


@kernel
def assign(keys, document, total, ranks, removed, posterior):
    """The posterior over rankers for a document that was just placed, which then leaves their preferences."""
    documents, rankers = keys.shape
    own = keys[document]
    ranks[:] = 1.0
    for i in range(documents):
        row = keys[i]
        for c in range(rankers):
            ranks[c] += row[c] > own[c]
    evidence = 0.0
    for c in range(rankers):
        mass = 1.0 / (ranks[c] * ranks[c] * ranks[c])
        share = mass / (total - removed[c])
        removed[c] += mass
        posterior[c] = share
        evidence += share
    for c in range(rankers):
        posterior[c] /= evidence


@kernel
def team_draft(keys, seed, impression, page, posterior):
    """Team draft for two rankers (Radlinski et al., 2008): by turns of random order, each places its best remaining.

    `posterior` is 1 for the ranker whose team the document is on.
    """
    key = stream_key(seed, INTERLEAVING, impression)
    first = 0
    for t in range(page.size):
        if t % 2 == 0:
            first = below(key, t, 2)
        ranker = first if t % 2 == 0 else 1 - first
        best = -1
        for i in range(keys.shape[0]):
            if best >= 0 and keys[i, ranker] <= keys[best, ranker]:
                continue
            taken = False
            for s in range(t):
                if page[s] == i:
                    taken = True
            if not taken:
                best = i
        page[t] = best
        posterior[t, ranker] = 1.0
        posterior[t, 1 - ranker] = 0.0
