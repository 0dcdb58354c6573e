"""Two methods query by query: which queries one of them is worse on, and whether the difference is chance.

A study's records keep what each test query got at the end of a run. Here runs that share a seed and a fold are
compared query by query, and a query counts once, by its mean over those runs. A test over queries speaks of queries
like these, for these runs; that over runs, in a study's tables, speaks of further runs.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.metrics.names import Metric, metric
from rankloop.statistics import Interval, interval, paired_comparison
from rankloop.studies.records import Record, Results, read_queries

_CALLED = {"label": "method"}
_SAME = 1e-6  # values are kept in single precision


class ComparedQueries(NamedTuple):
    """One method against another on the test queries of a collection.

    Attributes:
        queries: fold and number of each query that has anything relevant.
        ours, theirs: (queries,), the mean over runs.
        pairs: how many pairs of runs there are.
    """

    metric: Metric
    label: str
    against: str
    collection: str
    user: str
    queries: list[tuple[int | None, int]]
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    pairs: int

    @property
    def differences(self) -> NDArray[np.float64]:
        """(queries,), ours − theirs."""
        return self.ours - self.theirs

    @property
    def interval(self) -> Interval:
        """The mean difference over queries, with its 95 % t-interval."""
        return interval(self.differences)

    @property
    def p(self) -> float:
        """The paired two-tailed t-test over queries."""
        return paired_comparison(self.ours, self.theirs).p

    @property
    def tally(self) -> tuple[int, int, int]:
        """On how many queries we are better, equal and worse."""
        differences = self.differences
        better, worse = int((differences > _SAME).sum()), int((differences < -_SAME).sum())
        return better, len(differences) - better - worse, worse

    def worst(self, number: int = 10) -> NDArray[np.int64]:
        """Which queries we lose most on, the worst first; only those that we lose on."""
        order = np.argsort(self.differences, kind="stable")[:number]
        return order[self.differences[order] < -_SAME]


def compare_queries(
    results: Results, folder: Path, label: str, against: str, *, name: str | None = None, **place: Any
) -> list[ComparedQueries]:
    """One method against another, query by query, wherever both were run; `place` narrows it (`user="noisy"`).

    `name` is a metric of the study, nDCG unless given.
    """
    made = []
    wanted = {key: value for key, value in place.items() if value is not None}
    for what, word in (*wanted.items(), ("label", label), ("label", against)):
        if word not in (known := results.axis(what)):
            raise SettingsError(f"no {_CALLED.get(what, what)} {word!r}; choose from {', '.join(map(repr, known))}")
    for grid in results.axis("grid", **wanted):
        for collection in results.axis("collection", **wanted | {"grid": grid}):
            for user in results.axis("user", **wanted | {"grid": grid, "collection": collection}):
                here = {"grid": grid, "collection": collection, "user": user}
                ours, theirs = (results.select(label=one, **here) for one in (label, against))
                if found := _paired(ours, theirs):
                    made.append(_compared(folder, found, _metric(results, name)))
    if not made:
        there = ", ".join(map(repr, results.axis("label", **wanted))) or "no runs"
        raise SettingsError(
            f"no runs of {label!r} and {against!r} share a place, a seed and a fold; what was asked for has {there}"
        )
    return made


def _metric(results: Results, name: str | None) -> Metric:
    return metric(name or results.records[0].metric, results.study.page_size)


def _paired(ours: list[Record], theirs: list[Record]) -> list[tuple[Record, Record]]:
    rivals = {(record.seed, record.fold): record for record in theirs}
    return [(record, rivals[place]) for record in ours if (place := (record.seed, record.fold)) in rivals]


def _compared(folder: Path, pairs: list[tuple[Record, Record]], wanted: Metric) -> ComparedQueries:
    values: dict[tuple[int | None, int], list[tuple[float, float]]] = defaultdict(list)
    for ours, theirs in pairs:
        ids, mine = _values(folder, ours, wanted)
        same, other = _values(folder, theirs, wanted)
        if not np.array_equal(ids, same):
            raise SettingsError(f"{ours.label} and {theirs.label} were not measured on the same queries")
        for query, a, b in zip(ids.tolist(), mine.tolist(), other.tolist(), strict=True):
            if not np.isnan(a):
                values[ours.fold, query].append((a, b))
    means = np.array([np.mean(seen, axis=0) for seen in values.values()]).reshape(-1, 2)
    first, second = pairs[0]
    return ComparedQueries(
        metric=wanted, label=first.label, against=second.label, collection=first.collection, user=first.user,
        queries=list(values), ours=means[:, 0], theirs=means[:, 1], pairs=len(pairs),
    )  # fmt: skip


def _values(folder: Path, record: Record, wanted: Metric) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    kept = read_queries(folder, record)
    if wanted.name not in kept.metrics:
        raise SettingsError(
            f"no query results by {wanted} were kept, only by {', '.join(kept.metrics) or 'nothing'}; "
            f"set `metrics` in the study file"
        )
    return kept.query_ids, kept.values[kept.metrics.index(wanted.name)]
