"""Offline evaluation: the deterministic ranking on held-out queries, for many rankers and many metrics in one pass.

A learning curve needs the ranker of every thousandth impression measured on all test queries. Reading the test split
once for all of them, and not once for each, is what keeps evaluation cheaper than learning. The order of the documents
is found once for all metrics: the top of it by insertion, all of it by sorting where a metric asks for it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.collection import Split
from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.matrix import padded
from rankloop.kernels.selection import sortable32
from rankloop.metrics.averaging import NothingRelevant, mean_over_queries
from rankloop.metrics.formulas import Measures, measure
from rankloop.metrics.names import Metric, named
from rankloop.metrics.ndcg import CUTOFF
from rankloop.plugins import is_outside
from rankloop.rankers.contract import Ranker, score_several
from rankloop.rankers.linear import LINEAR

NDCG = f"ndcg@{CUTOFF}"
SHALLOW = 32  # down to this rank insertion is faster than sorting
_ROWS = np.int64(0xFFFFFFFF)


class Measured(NamedTuple):
    """Rankers on a split, query by query.

    Attributes:
        metrics: what was measured.
        values: (metrics, rankers, queries); 0 where nothing is relevant.
        has_relevant: (metrics, queries), whether a query has anything relevant to the metric.
    """

    metrics: tuple[Metric, ...]
    values: NDArray[np.float64]
    has_relevant: NDArray[np.bool_]

    def means(self, nothing_relevant: NothingRelevant = "skip") -> NDArray[np.float64]:
        """(metrics, rankers), the mean over queries, under one of the two conventions."""
        pairs = zip(self.values, self.has_relevant, strict=True)
        return np.array([mean_over_queries(rows, relevant, nothing_relevant) for rows, relevant in pairs])

    def last(self) -> "Measured":
        """The last ranker alone."""
        return self._replace(values=self.values[:, -1:])

    def by_query(self, nothing_relevant: NothingRelevant = "skip") -> NDArray[np.float32]:
        """(rankers, metrics, queries) in single precision; NaN for what the mean leaves out."""
        values = self.values.astype(np.float32)
        if nothing_relevant == "skip":
            values[~np.broadcast_to(self.has_relevant[:, None, :], values.shape)] = np.nan
        return np.ascontiguousarray(values.transpose(1, 0, 2))


def evaluate(
    weights: ArrayLike,
    split: Split,
    *,
    metric: str | Metric = NDCG,
    ranker: Ranker = LINEAR,
    nothing_relevant: NothingRelevant = "skip",
    highest_grade: int | None = None,
) -> NDArray[np.float64] | float:
    """The mean of a metric over the queries of a split: sort by score, ties by lower row.

    `weights` is (features,) for one linear ranker, which gives a number, or (rankers, features), which gives an array;
    for another kind of `ranker`, its weights, flat. Queries with no relevant candidate are left out of the mean
    (`"skip"`) or count 0 (`"zero"`). `highest_grade` is that of the scale, which ERR needs; otherwise 2 or 4, or the
    highest that occurs.

    >>> from rankloop.data.collection import Split
    >>> split = Split.of(features=[[0.0], [1.0]], grades=[1, 0], queries=[1, 1])
    >>> round(evaluate([1.0], split), 4), evaluate([-1.0], split), evaluate([1.0], split, metric="mrr")
    (0.6309, 1.0, 0.5)
    """
    found = measured(weights, split, metric, ranker=ranker, highest_grade=highest_grade)
    (mean,) = found.means(nothing_relevant)
    return float(mean[0]) if np.ndim(weights) == 1 else mean


def measured(
    weights: ArrayLike,
    split: Split,
    chosen: str | Metric | Iterable[str | Metric] = NDCG,
    *,
    ranker: Ranker = LINEAR,
    highest_grade: int | None = None,
) -> Measured:
    """Rankers by several metrics, query by query, in one pass over the split.

    >>> from rankloop.data.collection import Split
    >>> split = Split.of(features=[[0.0], [1.0]], grades=[1, 0], queries=[1, 1])
    >>> measured([[1.0], [-1.0]], split, ["mrr", "p@1"]).values[..., 0].tolist()
    [[0.5, 1.0], [0.0, 1.0]]
    """
    asked = named(chosen)
    W = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    rankers = _several(ranker, W, split.features.shape[1])
    rows = split.arrays
    measures = Measures.of(asked, rows.grades, rows.offsets, highest_grade)
    values = np.zeros((len(asked), split.queries, len(W)))
    scores = np.zeros((split.longest, padded(len(W))), np.float32)
    depth = min(measures.depth, split.longest)
    _evaluate(rows.features, rows.offsets, rows.grades, measures, rankers, scores, depth, values)
    return Measured(asked, values.transpose(0, 2, 1), measures.norm > 0)


def best_possible(split: Split, chosen: Any, highest_grade: int | None = None) -> Measured:
    """What the best order of every query gives: sorted by the grades themselves."""
    rows = split.arrays
    graded = Split(rows.grades[:, None].astype(np.float32), rows.offsets, rows.grades, rows.query_ids)
    return measured([1.0], graded, chosen, highest_grade=highest_grade)


def scores_of(weights: ArrayLike, X: NDArray[np.float32], ranker: Ranker = LINEAR) -> NDArray[np.float32]:
    """(rows,), one ranker's scores of X in the arithmetic of `evaluate`, so that not even a rounding changes an order.

    >>> scores_of([1.0, 2.0], np.ones((2, 2), np.float32)).tolist()
    [3.0, 3.0]
    """
    rankers = _several(ranker, np.atleast_2d(np.asarray(weights, dtype=np.float64)), X.shape[1])
    scores = np.zeros((len(X), padded(1)), np.float32)
    _score(rankers, X, scores)
    return scores[:, 0]


def _several(ranker: Ranker, W: NDArray[np.float64], features: int) -> Any:
    """Many rankers, ready to score. One from outside may not count its weights, and would read beyond them."""
    if is_outside(type(ranker)):
        count = int(ranker.parameters("zeros", features, 0).weights.size)
        if W.ndim != 2 or W.shape[1] != count or not np.isfinite(W).all():
            got = f"shape {W.shape}" if np.isfinite(W).all() else "a value that is not finite"
            raise SettingsError(f"weights of {ranker} must be finite, {count} for {features} features; got {got}")
    return ranker.several(W, features)


@kernel
def _score(rankers, X, scores):
    score_several(rankers, X, scores)


@kernel
def _evaluate(features, offsets, grades, measures, rankers, scores, depth, values):
    metrics, queries, count = values.shape
    shallow = depth <= SHALLOW
    top = np.zeros((count, depth), np.int64)
    filled = np.zeros(count, np.int64)
    keys = np.zeros(scores.shape[0], np.int64)
    ranked = np.zeros(depth, np.int64)
    for q in range(queries):
        if not (measures.norm[:, q] > 0.0).any():
            continue
        begin, end = offsets[q], offsets[q + 1]
        rows = scores[: end - begin]
        score_several(rankers, features[begin:end], rows)
        ranks = min(depth, end - begin)
        if shallow:
            filled[:] = 0
            for i in range(end - begin):
                for r in range(count):
                    if filled[r] < depth or rows[i, r] > rows[top[r, depth - 1], r]:
                        filled[r] = insert(rows, r, i, top[r], filled[r])
        else:
            for r in range(count):
                sort_column(rows, r, keys[: end - begin], top[r, :ranks])
        for r in range(count):
            for k in range(ranks):
                ranked[k] = grades[begin + top[r, k]]
            for m in range(metrics):
                values[m, q, r] = measure(measures, m, q, ranked[:ranks])


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


@kernel
def sort_column(scores, r, keys, top):
    """Fill `top` with the rows of the highest scores in order; a later row stays behind an equal earlier one."""
    for i in range(keys.size):
        keys[i] = (np.int64(sortable32(scores[i, r])) << np.int64(32)) | (_ROWS - i)
    keys.sort()
    for k in range(top.size):
        top[k] = _ROWS - (keys[keys.size - 1 - k] & _ROWS)
