"""Where learning ends: is a learner, after all its impressions, no worse than the reference by more than a margin?"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankloop.statistics import Difference, difference
from rankloop.studies.comparisons import values_of
from rankloop.studies.records import Record, read_queries
from rankloop.studies.regret.findings import End

LEVEL = 0.05
HOLDS, FAILS, UNRESOLVED = "holds", "fails", "unresolved"

Queries = Callable[[Record], NDArray[np.float64]]
"""What each test query got at the end of a run; NaN where nothing is relevant."""


class QueryValues:
    """The query results of a folder's records, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._read = folder, dict[str, NDArray[np.float64]]()

    def __call__(self, record: Record) -> NDArray[np.float64]:
        """What each test query got at the end of the run."""
        if record.key not in self._read:
            found = read_queries(self._folder, record)
            self._read[record.key] = found.values[found.metrics.index(record.metric)].astype(np.float64)
        return self._read[record.key]


def end_of(ours: Sequence[Record], theirs: Sequence[Record], margin: float, queries: Queries | None) -> End:
    """Is the end lower by no more than the margin? Two one-sided tests at 5 %: holds, fails, or unresolved.

    The difference is uncertain for two reasons: other seeds, and (where it is known what each query got) other
    queries like these. A collection of forty test queries cannot resolve .005, however many seeds there are.
    """
    a, b = values_of(ours, "offline_ndcg"), values_of(theirs, "offline_ndcg")
    shared = [place for place in a if place in b]
    found = difference([a[p] for p in shared], [b[p] for p in shared], paired=True, folds=[fold for fold, _ in shared])
    if queries is not None and shared:
        at = {(record.fold, record.seed): record for record in ours}
        other = {(record.fold, record.seed): record for record in theirs}
        found = with_queries(found, [(place[0], queries(at[place]) - queries(other[place])) for place in shared])
    half = found.half_width(1 - 2 * LEVEL)
    return End(
        impressions=ours[0].impressions,
        ndcg=float(np.mean([a[p] for p in shared])) if shared else math.nan,
        reference=float(np.mean([b[p] for p in shared])) if shared else math.nan,
        low=finite(found.estimate - half),
        high=finite(found.estimate + half),
        verdict=verdict(found, margin),
        seeds=len({seed for _, seed in shared}),
    )


def verdict(found: Difference, margin: float) -> str:
    """Of “lower by no more than the margin”."""
    if found.p_above(-margin) < LEVEL:
        return HOLDS
    return FAILS if found.p_below(-margin) < LEVEL else UNRESOLVED


def with_queries(found: Difference, rows: Sequence[tuple[int | None, NDArray[np.float64]]]) -> Difference:
    """A difference over seeds that is as uncertain as its queries make it, too.

    `rows` has each run's fold and its differences by query. Both variances hold the rest that belongs to run and query
    together, so the sum errs on the safe side; degrees of freedom are Satterthwaite's.
    """
    by_fold: dict[int | None, list[NDArray[np.float64]]] = {}
    for fold, values in rows:
        by_fold.setdefault(fold, []).append(values)
    variance, queries = 0.0, 0
    for runs in by_fold.values():
        means = np.mean(runs, axis=0)
        means = means[np.isfinite(means)]
        if len(means) < 2:
            return Difference(found.estimate, math.nan, math.nan)
        variance += (len(runs) / len(rows)) ** 2 * float(means.var(ddof=1)) / len(means)
        queries += len(means)
    degrees = float(queries - len(by_fold))
    seeds = found.standard_error**2
    if not math.isfinite(seeds):
        return Difference(found.estimate, math.nan, math.nan)
    total = seeds + variance
    if total == 0:
        return Difference(found.estimate, 0.0, degrees)
    spread = (seeds**2 / found.degrees if seeds else 0.0) + variance**2 / degrees
    return Difference(found.estimate, math.sqrt(total), total**2 / spread)


def finite(value: float) -> float | None:
    """JSON knows no other numbers."""
    return value if math.isfinite(value) else None
