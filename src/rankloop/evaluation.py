"""Offline evaluation: nDCG@10 of the deterministic ranking on held-out queries, for many rankers in one pass.

A learning curve needs the ranker of every thousandth impression measured on all test queries. Reading the test split
once for all of them, and not once for each, is what keeps evaluation cheaper than learning.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.matrix import multiply_into, padded
from rankloop.metrics import CUTOFF, NothingRelevant, discounts, mean_ndcg


def evaluate(
    weights: ArrayLike, split: Split, *, nothing_relevant: NothingRelevant = "skip"
) -> NDArray[np.float64] | float:
    """Mean nDCG@10 of linear rankers on a split: sort by score, ties by lower row.

    `weights` is (features,) for one ranker, which gives a number, or (rankers, features), which gives an array. Queries
    with no relevant candidate are left out of the mean (`"skip"`) or count 0 (`"zero"`).

    >>> from rankloop.data.collection import Split
    >>> split = Split.of(features=[[0.0], [1.0]], grades=[1, 0], queries=[1, 1])
    >>> round(evaluate([1.0], split), 4), evaluate([-1.0], split)
    (0.6309, 1.0)
    """
    return mean_ndcg(ndcg_per_query(weights, split), split.ideal_dcg, nothing_relevant)


def ndcg_per_query(weights: ArrayLike, split: Split) -> NDArray[np.float64]:
    """(rankers, queries) nDCG@10, or (queries,) for one ranker; 0 where nothing is relevant."""
    W = np.atleast_2d(np.asarray(weights, dtype=np.float64)).astype(np.float32)
    features = split.features.shape[1]
    if W.shape[1] != features or not np.isfinite(W).all():
        raise SettingsError(f"weights must be finite, one per feature ({features}); got shape {np.shape(weights)}")
    ndcg = np.zeros((split.queries, len(W)))
    columns = np.zeros((features, padded(len(W))), np.float32)
    columns[:, : len(W)] = W.T
    scores = np.zeros((split.longest, columns.shape[1]), np.float32)
    rows = split.arrays
    _evaluate(
        rows.features, rows.offsets, rows.grades, rows.ideal_dcg, columns, scores,
        discounts(CUTOFF), ndcg,
    )  # fmt: skip
    return ndcg[:, 0] if np.ndim(weights) == 1 else ndcg.T


@kernel
def _evaluate(features, offsets, grades, ideal, W, scores, discount, ndcg):
    rankers = ndcg.shape[1]
    top = np.zeros((rankers, discount.size), np.int64)
    filled = np.zeros(rankers, np.int64)
    for q in range(ideal.size):
        if ideal[q] <= 0.0:
            continue
        begin, end = offsets[q], offsets[q + 1]
        rows = scores[: end - begin]
        rows[:] = 0.0
        multiply_into(features[begin:end], W, rows)
        filled[:] = 0
        for i in range(end - begin):
            for r in range(rankers):
                if filled[r] < discount.size or rows[i, r] > rows[top[r, discount.size - 1], r]:
                    filled[r] = insert(rows, r, i, top[r], filled[r])
        for r in range(rankers):
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
