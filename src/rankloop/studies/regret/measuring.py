"""From the runs of a study to regret: ratios with intervals, ends with a test, settings chosen on other collections.

A cell is a collection and a kind of people. Regret is S − online, where S is what the skyline of the training queries
would have shown (`skyline`); learners are compared by the ratio of their mean regret to the reference's on the same
seeds, with Fieller's interval. A learner with several settings is given, on each collection, the one with the lowest
mean ratio on all *other* collections: no cell has a say in how it is met.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from rankloop.metrics.averaging import online_performance
from rankloop.settings import flat
from rankloop.statistics.ratios import Ratio, fieller
from rankloop.studies.comparisons import Values, values_of
from rankloop.studies.coverage import Coverage
from rankloop.studies.records import Results
from rankloop.studies.regret.ends import LEVEL, QueryValues, end_of, finite
from rankloop.studies.regret.findings import Average, Choice, End, Findings, Row, Skyline, Tried

LEAST = 0.01
"""Of S: where the reference's regret is less, a ratio would say nothing."""

Place = tuple[str, str]
"""A cell: collection and user."""


def skyline_online(ndcg: float, impressions: int) -> float:
    """S: a ranker that gets this nDCG with every page, as `online_ndcg` counts it."""
    return ndcg * online_performance(np.ones(impressions))


class Measured:
    """The regrets of a study's first grid, by cell, label and seed."""

    def __init__(self, results: Results, skylines: Iterable[Skyline], folder: Path | None = None) -> None:
        study = results.study
        assert study.regret is not None
        self.coverage, self.settings = Coverage(results), study.regret
        self.queries = None if folder is None else QueryValues(folder)
        self.skylines = {(one.collection, one.fold): one for one in skylines}
        self.grid = study.grids[0].name
        self.later = [grid.name for grid in study.grids[1:]]
        self.labels = self.coverage.labels(self.grid)
        self.families: dict[str, list[str]] = {}
        for label in self.labels:
            family = str(self.coverage.settings(self.grid, label).get("family") or label)
            self.families.setdefault(family, []).append(label)
        self.cells: list[Place] = [
            (collection, user)
            for collection in self.coverage.collections(self.grid)
            for user in self.coverage.users(self.grid)
            if self.coverage.runs(self.grid, collection, user, self.settings.against)
        ]
        self.regrets = {(cell, label): self._regrets(cell, label) for cell in self.cells for label in self.labels}

    def _regrets(self, cell: Place, label: str) -> Values:
        seen = values_of(self.coverage.runs(self.grid, *cell, label), "online_ndcg")
        known = {place: self.skylines.get((cell[0], place[0])) for place in seen}
        return {place: one.online - seen[place] for place, one in known.items() if one is not None}

    def pairs(self, cell: Place, label: str) -> tuple[list[float], list[float], list[int | None], list[int]]:
        """Regrets of a learner and of the reference on the runs that both have, with their folds and seeds."""
        ours, theirs = self.regrets[cell, label], self.regrets[cell, self.settings.against]
        shared = [place for place in ours if place in theirs]
        folds, seeds = [fold for fold, _ in shared], [seed for _, seed in shared]
        return [ours[place] for place in shared], [theirs[place] for place in shared], folds, seeds

    def is_near_zero(self, cell: Place) -> bool:
        """Whether the reference's regret is too small to divide by."""
        theirs = list(self.regrets[cell, self.settings.against].values())
        levels = [one.online for (collection, _), one in self.skylines.items() if collection == cell[0]]
        return not theirs or float(np.mean(theirs)) < LEAST * float(np.mean(levels))

    def ratio(self, cell: Place, label: str) -> Ratio | None:
        """The ratio of mean regrets; None where there is none to be had."""
        ours, theirs, folds, _ = self.pairs(cell, label)
        if not ours or self.is_near_zero(cell):
            return None
        return fieller(ours, theirs, folds)

    def mean_ratio(self, label: str, collection: str) -> float | None:
        """Over the people of a collection."""
        found = [self.ratio(cell, label) for cell in self.cells if cell[0] == collection]
        known = [one.estimate for one in found if one is not None]
        return float(np.mean(known)) if known else None


def measure(
    results: Results, skylines: Sequence[Skyline], folder: Path | None = None, left_out: Sequence[str] = ()
) -> Findings:
    """Everything that these runs say about regret; with their folder, ends are tested query by query."""
    there = Measured(results, skylines, folder)
    tried = [
        Tried(
            family, label, described(there, label), {one: there.mean_ratio(label, one) for one in collections_of(there)}
        )
        for family, labels in there.families.items()
        for label in labels
    ]
    chosen = {
        (family, collection): choose(family, collection, [one for one in tried if one.learner == family])
        for family in there.families
        for collection in collections_of(there)
    }
    rows = [
        _row(there, cell, family, chosen[family, cell[0]].setting)
        for cell in there.cells
        for family in there.families
        if there.regrets[cell, chosen[family, cell[0]].setting]
    ]
    several = {family for family, labels in there.families.items() if len(labels) > 1}
    runs = results.select(grid=there.grid)
    return Findings(
        against=there.settings.against,
        margin=there.settings.margin,
        impressions=max((run.impressions for run in runs), default=0),
        seeds=len({run.seed for run in runs}),
        skylines=tuple(skylines),
        rows=tuple(rows),
        averages=tuple(_average(there, family, chosen) for family in there.families),
        tried=tuple(one for one in tried if one.learner in several),
        choices=tuple(one for one in chosen.values() if one.learner in several),
        left_out=tuple(left_out),
    )


def collections_of(there: Measured) -> list[str]:
    """With cells that have a reference."""
    return list(dict.fromkeys(collection for collection, _ in there.cells))


def described(there: Measured, label: str) -> str:
    """A setting in words: what it says besides the method."""
    settings = flat(dict(there.coverage.settings(there.grid, label)))
    own = {name: value for name, value in settings.items() if name not in ("learner", "label", "family", "without")}
    said = [f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in own.items()]
    return ", ".join([str(settings["learner"]), *said])


def choose(learner: str, collection: str, tried: Sequence[Tried]) -> Choice:
    """The setting with the lowest mean ratio on all other collections; the first one where no other has a ratio."""
    means = {}
    for one in tried:
        elsewhere = [ratio for place, ratio in one.ratios.items() if place != collection and ratio is not None]
        if elsewhere:
            means[one.setting] = float(np.mean(elsewhere))
    if not means or len(tried) == 1:
        return Choice(learner, collection, tried[0].setting, by_others=False)
    return Choice(learner, collection, min(means, key=lambda setting: means[setting]), by_others=True)


def _row(there: Measured, cell: Place, family: str, label: str) -> Row:
    ours, theirs, _, _ = there.pairs(cell, label)
    ratio = there.ratio(cell, label)
    bounds = {} if ratio is None else {"ratio": ratio.estimate, "low": finite(ratio.low), "high": finite(ratio.high)}
    return Row(
        collection=cell[0], user=cell[1], learner=family, setting=label, runs=len(ours),
        regret=float(np.mean(ours)), reference=float(np.mean(theirs)), near_zero=ratio is None,
        ends=tuple(_ends(there, cell, label)), regrets=tuple(ours), **bounds,
    )  # fmt: skip


def _average(there: Measured, family: str, chosen: Mapping[tuple[str, str], Choice]) -> Average:
    """The mean over cells; its interval by the jackknife over seeds, which cells share."""
    labels = {cell: chosen[family, cell[0]].setting for cell in there.cells if not there.is_near_zero(cell)}
    labels = {cell: label for cell, label in labels.items() if there.pairs(cell, label)[0]}
    seeds = sorted({seed for cell, label in labels.items() for seed in there.pairs(cell, label)[3]})
    if not labels:
        return Average(family, 0, None, None, None)

    def mean(without: int | None) -> float:
        ratios = []
        for cell, label in labels.items():
            ours, theirs, _, at = there.pairs(cell, label)
            kept = [i for i, seed in enumerate(at) if seed != without]
            if kept:
                ratios.append(float(np.mean([ours[i] for i in kept]) / np.mean([theirs[i] for i in kept])))
        return float(np.mean(ratios)) if ratios else math.nan

    whole, n = mean(None), len(seeds)
    left = np.array([mean(seed) for seed in seeds])
    if n < 2 or not np.isfinite(left).all():
        return Average(family, len(labels), whole, None, None)
    error = math.sqrt((n - 1) / n * float(((left - left.mean()) ** 2).sum()))
    half = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) * error
    return Average(family, len(labels), whole, whole - half, whole + half)


def _ends(there: Measured, cell: Place, label: str) -> Iterable[End]:
    """After the grid's impressions, and after those of later grids that have the same learner."""
    for grid in (there.grid, *there.later):
        ours = there.coverage.runs(grid, *cell, label)
        theirs = there.coverage.runs(grid, *cell, there.settings.against)
        if ours and theirs and label != there.settings.against:
            yield end_of(ours, theirs, there.settings.margin, there.queries)
