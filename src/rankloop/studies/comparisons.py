"""Who is better than whom: every method against a baseline, and whether the best can be told from the rest.

Methods share seeds and folds, and so the sequence of queries: they are compared pair by pair, never as independent
samples. What the tests speak of (this collection, or similar ones) is the results' reading.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rankloop.errors import SettingsError
from rankloop.statistics import Comparison, Interval, holm, interval, mark, paired_comparison
from rankloop.statistics.summaries import Estimate, probability_of_improvement, probability_of_improvement_interval
from rankloop.studies.coverage import Coverage, learns_from_clicks
from rankloop.studies.records import Record, Results

BASELINE = "PDGD"
"""What the paper compares with."""
LEVEL = 0.05

TIED = "≈"
"""Stands beside means that cannot be told from the best."""


class Compared(NamedTuple):
    """One learner against the baseline on one collection with one user.

    `corrected_p` is Holm's over all comparisons of the grid in the same measure, and decides the mark; `better` is the
    probability that a run is better than one of the baseline on the same fold.
    """

    collection: str
    user: str
    label: str
    baseline: str
    test: Comparison
    better: Estimate
    corrected_p: float = math.nan

    @property
    def mark(self) -> str:
        """△ ▲ ▽ ▼ as in the paper, from the corrected p of the paired test."""
        return mark(self.test.difference.estimate, self.corrected_p)


def require_baseline(wanted: str | None, learners: Iterable[tuple[str, str]]) -> None:
    """Refuse a baseline that is neither a label nor a method among the learners."""
    names = dict.fromkeys(name for both in learners for name in both)
    if wanted is not None and wanted not in names:
        raise SettingsError(f"--against {wanted!r}: there are no such runs; choose from {', '.join(map(repr, names))}")


def baseline_of(coverage: Coverage, grid: str) -> str | None:
    """The label that a grid's learners are compared with: the one that was asked for, else PDGD where methods meet."""
    labels, wanted = coverage.labels(grid), coverage.results.reading.against
    if wanted in labels:
        return wanted
    if wanted is None and not coverage.compares_methods(grid):
        return None
    return next((label for label in labels if coverage.learner(grid, label) == (wanted or BASELINE)), None)


def against_baseline(coverage: Coverage, grid: str, field: str) -> list[Compared]:
    """Every learner of a grid against the baseline in one measure, wherever both were run."""
    baseline = baseline_of(coverage, grid)
    if baseline is None:
        return []
    made = []
    for collection in coverage.collections(grid):
        for user in coverage.users(grid):
            rivals = values_of(coverage.runs(grid, collection, user, baseline), field)
            for label in (label for label in coverage.labels(grid) if label != baseline):
                ours = values_of(coverage.runs(grid, collection, user, label), field)
                if ours and rivals:
                    test, better = in_pairs(coverage.results, ours, rivals), _better(coverage.results, ours, rivals)
                    made.append(Compared(collection, user, label, baseline, test, better))
    corrected = holm([one.test.p for one in made])
    return [one._replace(corrected_p=p) for one, p in zip(made, corrected, strict=True)]


Values = dict[tuple[int | None, int], float]
"""A measure by fold and seed."""


def values_of(runs: Sequence[Record], field: str) -> Values:
    """What runs have in a measure, by fold and seed; what is not a number is left out."""
    values = {(record.fold, record.seed): float(getattr(record, field)) for record in runs}
    return {place: value for place, value in values.items() if math.isfinite(value)}


def in_pairs(results: Results, ours: Values, theirs: Values) -> Comparison:
    """The paired test over the runs that share fold and seed, which an unfinished study may lack."""
    shared = [place for place in ours if place in theirs]
    return paired_comparison(
        [ours[place] for place in shared],
        [theirs[place] for place in shared],
        folds=[fold for fold, _ in shared],
        seeds=[seed for _, seed in shared],
        generalise_to=results.reading.generalise_to,
    )


def mean_of(results: Results, values: Values) -> Interval:
    """The mean with its t-interval, for what the results are read for."""
    folds = [fold for fold, _ in values]
    return interval(list(values.values()), folds, generalise_to=results.reading.generalise_to)


def _better(results: Results, ours: Values, theirs: Values) -> Estimate:
    samples = list(ours.values()), list(theirs.values())
    folds = [fold for fold, _ in ours], [fold for fold, _ in theirs]
    if results.reading.generalise_to != "this-collection":
        return Estimate(probability_of_improvement(*samples, *folds), math.nan, math.nan)
    return probability_of_improvement_interval(*samples, *folds)


class Standing(NamedTuple):
    """Who is best in one measure: one method that can be told from all others, or several that are tied."""

    best: str = ""
    tied: tuple[str, ...] = ()

    def mark(self, label: str) -> str:
        """The sign of a tie, where there is one."""
        return TIED if label in self.tied else ""


def standing(coverage: Coverage, grid: str, collection: str, user: str, field: str) -> Standing:
    """Who is best among those that learn from clicks.

    To be best is to beat each of the others, by the paired test: an intersection–union test, which needs no correction.
    """
    values = {}
    for label in coverage.labels(grid):
        runs = coverage.runs(grid, collection, user, label)
        found = values_of(runs, field)
        if found and len(found) == len(runs) and learns_from_clicks(coverage.learner(grid, label)):
            values[label] = found
    if len(values) < 2:
        return Standing()
    first = max(values, key=lambda label: mean_of(coverage.results, values[label]).mean)
    p = {
        label: in_pairs(coverage.results, values[first], others).p for label, others in values.items() if label != first
    }
    if all(map(math.isnan, p.values())):
        return Standing()  # a single run has no spread: nothing can be told
    rivals = [label for label, value in p.items() if value >= LEVEL]
    if not rivals and any(map(math.isnan, p.values())):
        return Standing()  # best of those with a test, and of one without
    return Standing(tied=(first, *rivals)) if rivals else Standing(best=first)
