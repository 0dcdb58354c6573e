"""How good a ranking is: DCG, nDCG and the online performance of a learner, with the field's conventions.

    DCG@k  = Σ_{i ≤ k} (2^grade_i − 1) / log2(i + 1)
    nDCG@k = DCG@k / DCG@k of the best possible ranking of all the query's candidates

A query without any relevant candidate has no nDCG. Two conventions are in use: leave it out of a mean
(`"skip"`, the default offline), or count it as 0 (`"zero"`, the rule online). Functions that average take
the convention by name.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.settings import require_choice, require_whole_number

CUTOFF = 10
MAX_GRADE = 30  # 2^grade must stay an exact, sensible gain
ONLINE_DISCOUNT = 0.9995

NothingRelevant = Literal["skip", "zero"]


def gains(grades: ArrayLike) -> NDArray[np.float64]:
    """2^grade − 1 for each grade.

    >>> gains([0, 1, 2, 3, 4])
    array([ 0.,  1.,  3.,  7., 15.])
    """
    values = np.asarray(grades, dtype=np.float64)
    if not ((values >= 0) & (values <= MAX_GRADE)).all():
        raise SettingsError(f"grades must lie between 0 and {MAX_GRADE}; got {values.ravel().tolist()}")
    return np.exp2(values) - 1.0


def discounts(k: int) -> NDArray[np.float64]:
    """1 / log2(rank + 1) for ranks 1 … k: λ of the paper.

    >>> discounts(3).round(3)
    array([1.   , 0.631, 0.5  ])
    """
    return 1.0 / np.log2(np.arange(2, k + 2))


def dcg(grades: ArrayLike, k: int = CUTOFF) -> float:
    """DCG@k of a ranking, given the grades of its documents from the top.

    >>> round(dcg([3, 0, 1]), 4)
    7.5
    """
    require_whole_number("dcg", "k", k, at_least=1)
    top = gains(grades)[:k]
    return float(top @ discounts(len(top)))


def ndcg(page_grades: ArrayLike, candidate_grades: ArrayLike, k: int = CUTOFF) -> float:
    """nDCG@k of a page, given its grades from the top and those of all the query's candidates.

    0 where no candidate is relevant.

    >>> round(ndcg([0, 3], [3, 0, 0, 1]), 4)
    0.5788
    """
    ideal = dcg(np.sort(np.asarray(candidate_grades))[::-1], k)
    return dcg(page_grades, k) / ideal if ideal > 0 else 0.0


def online_performance(page_ndcg: ArrayLike, discount: float = ONLINE_DISCOUNT) -> float:
    """Σ_i τ^i · nDCG(page i): what the people who were there saw, early impressions counting more.

    With τ = 0.9995 it is 2000 at most.

    >>> round(online_performance([1.0] * 100_000), 3)
    2000.0
    """
    seen = np.asarray(page_ndcg, dtype=np.float64)
    if not np.isfinite(seen).all():
        raise SettingsError("online_performance: every page needs a finite nDCG")
    # Not a dot product: BLAS shares a long one among threads, and the sum's last bits would follow their number.
    return float(np.sum(seen * np.power(discount, np.arange(len(seen)))))


def mean_ndcg(
    per_query: NDArray[np.float64],
    ideal: NDArray[np.float64],
    nothing_relevant: NothingRelevant = "skip",
) -> NDArray[np.float64] | float:
    """The mean over queries (the last axis) under one of the two conventions.

    >>> mean_ndcg(np.array([1.0, 0.0]), ideal=np.array([3.0, 0.0]))
    1.0
    >>> mean_ndcg(np.array([1.0, 0.0]), ideal=np.array([3.0, 0.0]), nothing_relevant="zero")
    0.5
    """
    require_choice("metrics", "nothing_relevant", nothing_relevant, ("skip", "zero"))
    kept = ideal > 0 if nothing_relevant == "skip" else np.ones(len(ideal), bool)
    if not kept.any():
        return per_query.sum(axis=-1) * math.nan
    # Row by row: the order of a sum, and so its last bit, must not depend on how many rankers are averaged.
    if per_query.ndim == 1:
        return float(per_query[kept].mean())
    return np.array([row[kept].mean() for row in per_query])


def ideal_dcg(grades: NDArray[np.uint8], offsets: NDArray[np.int64], k: int = CUTOFF) -> NDArray[np.float64]:
    """(queries,), the DCG@k of each query's best possible ranking.

    >>> ideal_dcg(np.array([0, 1, 0], np.uint8), np.array([0, 2, 3])).tolist()
    [1.0, 0.0]
    """
    ideal = np.zeros(len(offsets) - 1)
    _ideal_dcg(grades, offsets, discounts(k), ideal)
    return ideal


@kernel
def _ideal_dcg(grades, offsets, discount, ideal):
    counts = np.zeros(256, np.int64)
    for q in range(ideal.size):
        counts[:] = 0
        for i in range(offsets[q], offsets[q + 1]):
            counts[grades[i]] += 1
        rank, total = 0, 0.0
        for grade in range(255, 0, -1):
            for _ in range(counts[grade]):
                if rank < discount.size:
                    total += (2.0**grade - 1.0) * discount[rank]
                    rank += 1
        ideal[q] = total
