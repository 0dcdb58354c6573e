"""DCG and nDCG, with the field's conventions, in plain functions.

DCG@k  = Σ_{i ≤ k} (2^grade_i − 1) / log2(i + 1)
nDCG@k = DCG@k / DCG@k of the best possible ranking of all the query's candidates
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.settings import require_whole_number

CUTOFF = 10
MAX_GRADE = 30  # 2^grade must stay an exact, sensible gain
GRADES = 256  # what a grade's byte can say: tables by grade have room for all of it


def gains(grades: ArrayLike) -> NDArray[np.float64]:
    """2^grade − 1 for each grade.

    >>> gains([0, 1, 2, 3, 4])
    array([ 0.,  1.,  3.,  7., 15.])
    """
    values = np.asarray(grades, dtype=np.float64)
    if not ((values >= 0) & (values <= MAX_GRADE)).all():
        raise SettingsError(f"grades must lie between 0 and {MAX_GRADE}; got {values.ravel().tolist()}")
    return np.exp2(values) - 1.0


def require_grades(grades: ArrayLike) -> NDArray[np.uint8]:
    """The grades as a collection keeps them; refuse anything but whole numbers from 0 to 30.

    >>> require_grades([0, 1.5])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: grades must be whole numbers from 0 to 30; got [0.0, 1.5]
    """
    values = np.asarray(grades, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= MAX_GRADE) & (values == np.floor(values))).all():
        raise SettingsError(f"grades must be whole numbers from 0 to {MAX_GRADE}; got {values.tolist()}")
    return values.astype(np.uint8)


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


def ideal_dcg(grades: NDArray[np.uint8], offsets: NDArray[np.int64], k: int = CUTOFF) -> NDArray[np.float64]:
    """(queries,), the DCG@k of each query's best possible ranking.

    >>> ideal_dcg(np.array([0, 1, 0], np.uint8), np.array([0, 2, 3])).tolist()
    [1.0, 0.0]
    """
    ideal = np.zeros(len(offsets) - 1)
    best_sums(grades, offsets, np.ldexp(1.0, np.arange(GRADES)) - 1.0, discounts(k), ideal)
    return ideal


@kernel
def best_sums(grades, offsets, gain, weight, best):
    """Σ gain(grade) · weight(rank) of each query's best possible ranking, for gains that grow with the grade."""
    counts = np.zeros(GRADES, np.int64)
    for q in range(best.size):
        counts[:] = 0
        for i in range(offsets[q], offsets[q + 1]):
            counts[grades[i]] += 1
        rank, total = 0, 0.0
        for grade in range(GRADES - 1, 0, -1):
            for _ in range(counts[grade]):
                if rank < weight.size:
                    total += gain[grade] * weight[rank]
                    rank += 1
        best[q] = total
