"""Pages in blocks: what is certain decides the order of blocks, what is not is shown in uniform order inside them.

Two candidates are uncertain if their scores lie too close for what is known about their difference. The blocks are the
connected components of uncertain pairs; components that contradict each other (one is above the other here, below it
there) are merged. All certain pairs point from the higher score to the lower, so a cycle of components is always made
of two whose scores overlap, and the merged blocks are *runs of the candidates sorted by score*: a block ends where no
uncertain pair reaches across. That is what is computed; a literal graph is held against it in the tests.
"""

import math

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import dot, exp
from rankloop.kernels.draws import POLICY, below, stream_key
from rankloop.kernels.matrix import multiply_into
from rankloop.kernels.selection import sortable32

APART = np.float32(100.0)
"""Between the scores of two blocks: the lower one comes first once in e^100 times, which is never."""
_ROUNDING = 1.0001
_ROWS = np.int64(0xFFFFFFFF)


@kernel
def sort_by_score(scores, keys, order):
    """Fill `order` with the candidates, highest score first; of equal scores the earlier candidate."""
    n = order.size
    for i in range(n):
        keys[i] = (np.int64(sortable32(scores[i])) << np.int64(32)) | (_ROWS - i)
    keys[:n].sort()
    for k in range(n):
        order[k] = _ROWS - (keys[n - 1 - k] & _ROWS)


@kernel
def is_certain(gap, square, exploration):
    """Whether σ(gap) − α‖x‖ > ½, for a gap ≥ 0 between scores and the squared width ‖x‖² of its uncertainty."""
    e = exp(-gap)
    return 0.5 * (1.0 - e) / (1.0 + e) > exploration * math.sqrt(max(square, 0.0))


@kernel
def squared_width(covariance, X, i, j, difference, product):
    """(x_i − x_j)ᵀ P (x_i − x_j), in single precision; `difference` (1, features) and `product` are scratch."""
    for f in range(X.shape[1]):
        difference[0, f] = X[i, f] - X[j, f]
    product[:] = np.float32(0.0)
    multiply_into(difference, covariance, product)
    return np.float64(dot(difference[0], product[0, : X.shape[1]]))


@kernel
def prepare_widths(covariance, X, mean, centred, products, own):
    """What the widths of all pairs are made of: candidates about their mean, P times them, and their own squares."""
    n, features = X.shape
    mean[:] = np.float32(0.0)
    for i in range(n):
        for f in range(features):
            mean[f] += X[i, f]
    for i in range(n):
        for f in range(features):
            centred[i, f] = X[i, f] - mean[f] / np.float32(n)
    products[:] = np.float32(0.0)
    multiply_into(centred, covariance, products)
    for i in range(n):
        own[i] = np.float64(dot(centred[i], products[i, :features]))


@kernel
def widest_below(order, own, tail):
    """tail[k]: the largest own width among the candidates from place k down."""
    widest = 0.0
    for k in range(order.size - 1, -1, -1):
        widest = max(widest, math.sqrt(max(own[order[k]], 0.0)))
        tail[k] = widest


@kernel
def reach(place, end, order, scores, centred, products, own, tail, exploration):
    """The farthest place below `end` whose candidate cannot be told from the one at `place`; `end` if there is none.

    A difference is no wider than both candidates' own widths together: if even so the nearest of those below is
    certain, all are, and none needs to be looked at.
    """
    n, features = order.size, centred.shape[1]
    i = order[place]
    score = np.float64(scores[i])
    most = math.sqrt(max(own[i], 0.0)) + tail[end + 1]
    if is_certain(score - np.float64(scores[order[end + 1]]), most * most * _ROUNDING, exploration):
        return end
    for below_it in range(n - 1, end, -1):
        j = order[below_it]
        square = own[i] + own[j] - 2.0 * np.float64(dot(centred[i], products[j, :features]))
        if not is_certain(score - np.float64(scores[j]), square, exploration):
            return below_it
    return end


@kernel
def end_of_block(first, order, scores, centred, products, own, tail, exploration):
    """The last place of the block that begins at `first`: no pair within reaches beyond it.

    The candidate of which least is known reaches farthest, so it is asked first, and again while the block grows: often
    that is all of them. Then everybody is.
    """
    n = order.size
    end, asked = first, -1
    while end < n - 1:
        widest = first
        for k in range(first, end + 1):
            if own[order[k]] > own[order[widest]]:
                widest = k
        if widest == asked:
            break
        asked = widest
        end = reach(widest, end, order, scores, centred, products, own, tail, exploration)
    k = first
    while k <= end and end < n - 1:
        end = reach(k, end, order, scores, centred, products, own, tail, exploration)
        k += 1
    return end


@kernel
def draw_from_block(order, first, end, seed, impression, page):
    """Fill the page from rank `first` on with the block's candidates in uniform order."""
    key = stream_key(seed, POLICY, impression)
    for k in range(first, min(end + 1, page.size)):
        drawn = k + below(key, k, end + 1 - k)
        order[k], order[drawn] = order[drawn], order[k]
        page[k] = order[k]


@kernel
def show_in_blocks(work, covariance, X, exploration, seed, impression, page):
    """Fill the page, block by block until it is full, and leave scores that say so.

    Early on nothing is certain: if the best and the worst are not, all are one block, and no more is looked at. The
    scores left behind are equal inside a block and `APART` between blocks: a Plackett–Luce policy with these scores
    draws the very same pages, so their probabilities and those of ranks are exact.
    """
    n = X.shape[0]
    scores, order, level = work.base.scores, work.order[:n], work.level[:n]
    sort_by_score(scores, work.base.keys, order)
    best, worst = order[0], order[n - 1]
    square = squared_width(covariance, X, best, worst, work.difference, work.product)
    level[:] = np.float32(0.0)
    if n == 1 or not is_certain(np.float64(scores[best]) - np.float64(scores[worst]), square, exploration):
        draw_from_block(order, 0, n - 1, seed, impression, page)
    else:
        centred, products, own = work.centred[:n], work.products[:n], work.own[:n]
        prepare_widths(covariance, X, work.base.direction, centred, products, own)
        widest_below(order, own, work.tail[:n])
        first = 0
        while first < page.size:
            end = end_of_block(first, order, scores, centred, products, own, work.tail[:n], exploration)
            draw_from_block(order, first, end, seed, impression, page)
            for place in range(end + 1, n):
                level[order[place]] -= APART
            first = end + 1
    scores[:n] = level
