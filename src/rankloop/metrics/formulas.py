"""What each metric computes, compiled: any number of metrics of one ranking, from the grades of its documents.

A metric is a formula, a gain for each grade and a weight for each rank, divided by what makes it comparable:

    ndcg, ndcg-linear   Σ gain · 1/log2(rank + 1), by the same sum for the best ranking of all candidates
    p                   Σ gain, by the cut-off k; gain 1 where relevant
    mrr                 1/rank of the first relevant document
    err                 Σ_r 1/r · R_r · Π_{i<r} (1 − R_i), R = (2^grade − 1)/2^max
    map                 Σ over relevant documents of the precision at their rank, by the number of relevant candidates

max is the highest grade of the collection's scale, not of the query. All sums end at the cut-off.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.metrics.names import Metric, metric
from rankloop.metrics.ndcg import GRADES, best_sums, discounts, require_grades

WEIGHTED, FIRST, CASCADE, PRECISIONS = range(4)
_FORMULAS = {
    "ndcg": WEIGHTED,
    "ndcg-linear": WEIGHTED,
    "p": WEIGHTED,
    "mrr": FIRST,
    "err": CASCADE,
    "map": PRECISIONS,
}


class Measures(NamedTuple):
    """Metrics as compiled code takes them: a row for each."""

    formula: NDArray[np.int64]
    cutoff: NDArray[np.int64]
    gain: NDArray[np.float64]
    """(metrics, grades)"""
    weight: NDArray[np.float64]
    """(metrics, ranks)"""
    norm: NDArray[np.float64]
    """(metrics, queries), what a value is divided by; 0 where nothing is relevant."""

    @classmethod
    def of(
        cls,
        chosen: Sequence[Metric],
        grades: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        highest_grade: int | None = None,
    ) -> "Measures":
        """For queries whose candidates have these grades; `highest_grade` of the scale, where that is known."""
        longest = int(np.diff(offsets).max())
        seen = int(grades.max())
        top = grade_scale(max(seen, highest_grade or 0))
        cutoffs = [longest if one.cutoff is None else one.cutoff for one in chosen]
        gain = np.array([_gains(one, seen, top) for one in chosen])
        weight = np.zeros((len(chosen), max(cutoffs)))
        norm = np.zeros((len(chosen), len(offsets) - 1))
        for row, (one, cutoff) in enumerate(zip(chosen, cutoffs, strict=True)):
            weight[row, :cutoff] = 1.0 if one.kind == "p" else discounts(cutoff)
            if one.kind in ("ndcg", "ndcg-linear"):
                best_sums(grades, offsets, gain[row], weight[row, :cutoff], norm[row])
            else:
                relevant = np.add.reduceat(grades >= one.relevant_from, offsets[:-1], dtype=np.float64)
                norm[row] = relevant if one.kind == "map" else (relevant > 0) * (cutoff if one.kind == "p" else 1.0)
        formula = np.array([_FORMULAS[one.kind] for one in chosen])
        return cls(formula, np.array(cutoffs, np.int64), gain, weight, norm)

    @property
    def depth(self) -> int:
        """How many ranks are looked at."""
        return int(self.cutoff.max())

    def has_relevant(self, row: int) -> NDArray[np.bool_]:
        """(queries,), whether there is anything relevant to that metric."""
        relevant: NDArray[np.bool_] = self.norm[row] > 0
        return relevant


def grade_scale(highest: int) -> int:
    """The highest grade of the usual scale (0 to 2, 0 to 4) that has room for a grade.

    >>> grade_scale(1), grade_scale(3), grade_scale(6)
    (2, 4, 6)
    """
    return 2 if highest <= 2 else max(4, highest)


def value(
    name: str | Metric,
    ranking: ArrayLike,
    candidates: ArrayLike | None = None,
    *,
    highest_grade: int | None = None,
) -> float:
    """A metric of one ranking: its grades from the top, and those of all candidates if it does not show them all.

    `highest_grade` is that of the scale, which ERR needs; otherwise 2 or 4, or what occurs.

    >>> round(value("err@10", [2, 0, 1]), 4), value("map", [0, 1, 1]), value("p@5", [1, 1], candidates=[1, 1, 0, 0])
    (0.7708, 0.5833333333333333, 0.4)
    """
    ranked = require_grades(ranking)
    all_grades = ranked if candidates is None else require_grades(candidates)
    if not len(all_grades):
        return 0.0
    one = metric(name)
    measures = Measures.of([one], all_grades, np.array([0, len(all_grades)]), highest_grade)
    return float(measure(measures, 0, 0, ranked.astype(np.int64)))


def _gains(one: Metric, seen: int, top: int) -> NDArray[np.float64]:
    """(grades,), what a document of each grade is worth."""
    grades = np.arange(GRADES)
    exponential = np.ldexp(1.0, grades) - 1.0
    if one.kind == "ndcg":
        return exponential
    if one.kind == "ndcg-linear":
        return grades.astype(np.float64)
    if one.kind == "err":
        if one.grade is not None and one.grade < seen:
            raise SettingsError(f"metrics: {one} is for grades up to {one.grade}, and there are labels of grade {seen}")
        return exponential / np.ldexp(1.0, one.grade or top)
    return (grades >= one.relevant_from).astype(np.float64)


@kernel
def measure(measures, row, query, grades):
    """One metric of a ranking of a query, by the grades from the top; 0 where nothing is relevant."""
    norm = measures.norm[row, query]
    if norm <= 0.0:
        return 0.0
    formula = measures.formula[row]
    ranks = min(grades.size, measures.cutoff[row])
    total = 0.0
    if formula == WEIGHTED:
        for t in range(ranks):
            total += measures.gain[row, grades[t]] * measures.weight[row, t]
    elif formula == FIRST:
        for t in range(ranks):
            if measures.gain[row, grades[t]] > 0.0:
                total = 1.0 / (t + 1)
                break
    elif formula == CASCADE:
        looking = 1.0
        for t in range(ranks):
            satisfied = measures.gain[row, grades[t]]
            total += looking * satisfied / (t + 1)
            looking *= 1.0 - satisfied
    else:
        found = 0.0
        for t in range(ranks):
            if measures.gain[row, grades[t]] > 0.0:
                found += 1.0
                total += found / (t + 1)
    return total / norm
