"""Offline evaluation: nDCG@10 of the deterministic ranking on held-out queries, for many rankers in one pass.

A learning curve needs the ranker of every thousandth impression measured on all test queries. Reading the test split
once for all of them, and not once for each, is what keeps evaluation cheaper than learning.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.collection import Split
from rankloop.kernels import kernel
from rankloop.kernels.matrix import padded
from rankloop.metrics import CUTOFF, NothingRelevant, discounts, mean_ndcg
from rankloop.rankers.contract import Ranker, score_several
from rankloop.rankers.linear import LINEAR


def evaluate(
    weights: ArrayLike, split: Split, *, ranker: Ranker = LINEAR, nothing_relevant: NothingRelevant = "skip"
) -> NDArray[np.float64] | float:
    """Mean nDCG@10 of rankers on a split: sort by score, ties by lower row.

    `weights` is (features,) for one linear ranker, which gives a number, or (rankers, features), which gives an array;
    for another kind of `ranker`, its weights, flat. Queries with no relevant candidate are left out of the mean
    (`"skip"`) or count 0 (`"zero"`).

    >>> from rankloop.data.collection import Split
    >>> split = Split.of(features=[[0.0], [1.0]], grades=[1, 0], queries=[1, 1])
    >>> round(evaluate([1.0], split), 4), evaluate([-1.0], split)
    (0.6309, 1.0)
    """
    return mean_ndcg(ndcg_per_query(weights, split, ranker), split.ideal_dcg, nothing_relevant)


def ndcg_per_query(weights: ArrayLike, split: Split, ranker: Ranker = LINEAR) -> NDArray[np.float64]:
    """(rankers, queries) nDCG@10, or (queries,) for one ranker; 0 where nothing is relevant."""
    W = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    rankers = ranker.several(W, split.features.shape[1])
    ndcg = np.zeros((split.queries, len(W)))
    scores = np.zeros((split.longest, padded(len(W))), np.float32)
    rows = split.arrays
    _evaluate(
        rows.features, rows.offsets, rows.grades, rows.ideal_dcg, rankers, scores,
        discounts(CUTOFF), ndcg,
    )  # fmt: skip
    return ndcg[:, 0] if np.ndim(weights) == 1 else ndcg.T


@kernel
def _evaluate(features, offsets, grades, ideal, rankers, scores, discount, ndcg):
    count = ndcg.shape[1]
    top = np.zeros((count, discount.size), np.int64)
    filled = np.zeros(count, np.int64)
    for q in range(ideal.size):
        if ideal[q] <= 0.0:
            continue
        begin, end = offsets[q], offsets[q + 1]
        rows = scores[: end - begin]
        score_several(rankers, features[begin:end], rows)
        filled[:] = 0
        for i in range(end - begin):
            for r in range(count):
                if filled[r] < discount.size or rows[i, r] > rows[top[r, discount.size - 1], r]:
                    filled[r] = insert(rows, r, i, top[r], filled[r])
        for r in range(count):
            gained = 0.0
            for k in range(filled[r]):
                gained += (2.0 ** grades[begin + top[r, k]] - 1.0) * discount[k]
            ndcg[q, r] = gained / ideal[q]


@kernel
def insert(scores, r, i, top, filled):
    """Put row i where its score belongs among the best; a later row stays behind an equal earlier one."""
    if filled < top.size:
        filled += 1
    slot = filled - 1
    while slot > 0 and scores[top[slot - 1], r] < scores[i, r]:
        top[slot] = top[slot - 1]
        slot -= 1
    top[slot] = i
    return filled
