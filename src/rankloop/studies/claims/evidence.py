"""Which runs a sentence speaks of, what is measured on them, and how two groups of them compare.

Runs are found by what they are (method, reward, γ, assumed η), not by the name of a grid or a label, so that anybody's
own study gets verdicts. Runs of the same fold and seed are pairs, and what is found speaks of what the results are read
for: this collection, its folds fixed, or similar ones.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankloop.statistics import Difference, d_z, difference, hedges_g
from rankloop.statistics.ratios import as_ratio, log_ratio
from rankloop.studies.claims.relations import Judgement, Relation
from rankloop.studies.records import Record, Results

FEWEST = 3  # pairs, or runs on each side; with fewer nothing is decided
OFFLINE_MARGIN = 0.01  # nDCG: less than this is no difference
ONLINE_MARGIN = 0.01  # of the larger mean

Sample = dict[tuple[int | None, int], float]  # by fold and seed


class Measure(NamedTuple):
    """A number of a run.

    `reach` is how many impressions the run must have; `margin` what counts as no difference, of the larger mean if
    `relative`; `form` how differences are printed.
    """

    name: str
    value: Callable[[Record], float]
    reach: int = 0
    margin: float = OFFLINE_MARGIN
    relative: bool = False
    form: str = ".4f"

    def margin_between(self, left: Sample, right: Sample) -> float:
        """The margin on this data: absolute, or a part of the larger mean."""
        if not self.relative:
            return self.margin
        return self.margin * max(abs(float(np.mean(list(values.values())))) for values in (left, right))


class Term(NamedTuple):
    """A group of runs by role (`ROLTR`, `ips+`, `ips+ γ=0.5`, `η=2`); `minus` another role, seed by seed."""

    role: str
    minus: str | None = None
    user: str | None = None

    def __str__(self) -> str:
        who = self.role if self.minus is None else f"({self.role} − {self.minus})"
        return who if self.user is None else f"{who} {self.user}"


class Part(NamedTuple):
    """One comparison that a sentence consists of."""

    left: Term
    relation: Relation
    right: Term
    measure: Measure

    @property
    def roles(self) -> set[str]:
        """The roles that must have been run."""
        return {role for term in (self.left, self.right) for role in (term.role, term.minus) if role is not None}


class Finding(NamedTuple):
    """What the runs say about a part."""

    part: Part
    judgement: Judgement
    effect: str
    paired: bool
    runs: tuple[int, int]
    folds: int
    margin: float
    bound: float
    """How large the difference can be, either way, at 95 % confidence; of a ratio, by what factor it can differ."""

    @property
    def bound_text(self) -> str:
        """The bound in words, and whether what is left is too small to matter."""
        if self.part.relation.is_ratio:
            return f"within a factor of {self.bound:.3g} of 1"
        small = f", less than the margin of {self.margin:.3g}" if self.bound < self.margin else ""
        return f"at most {self.bound:{self.part.measure.form}} either way{small}"


class MissingError(Exception):
    """Why a part cannot be judged; the message completes "undecided: …"."""


class Scene(NamedTuple):
    """Where a sentence is checked: one grid on one collection under one user."""

    results: Results
    grid: str
    collection: str
    user: str


def speed_within(impressions: int, record: Record) -> float:
    """The mean offline nDCG over the first impressions of the curve."""
    early = _early(record, impressions)
    return float(np.mean(early)) if len(early) > 1 else math.nan


def offline_at(impressions: int, record: Record) -> float:
    """The offline nDCG at the last evaluation up to so many impressions."""
    return next(reversed(_early(record, impressions)), math.nan)


def _early(record: Record, impressions: int) -> list[float]:
    return [y for at, y in zip(record.offline_at, record.offline_curve, strict=True) if at <= impressions]


def roles(record: Record) -> set[str]:
    """What the claims call a run: its method, and for ROLTR its reward, discount and assumed η."""
    names = {record.learner}
    settings = record.settings.get("learner")
    if record.learner != "ROLTR" or not isinstance(settings, dict):
        return names
    reward, discount = settings.get("reward", "ips+-"), settings.get("discount", 0.0)
    names.add(f"{reward} γ={discount:g}")
    if discount == 0:
        names.add(reward)
        eta = (settings.get("propensities") or {}).get("eta")
        if eta is not None and reward.startswith("ips"):
            names.add(f"η={eta:g}")
    return names


def grid_for(results: Results, collection: str, parts: tuple[Part, ...]) -> str | None:
    """The grid with runs as long as needed and the most of the parts; None if no part can be compared in any."""
    reach = max(part.measure.reach for part in parts)
    ranks = {}
    for grid in results.axis("grid", collection=collection):
        records = results.select(grid=grid, collection=collection)
        present = set().union(*(roles(record) for record in records))
        comparable = sum(part.roles <= present for part in parts)
        if comparable:
            ranks[grid] = min(reach, max(record.impressions for record in records)), comparable
    return max(ranks, key=lambda grid: ranks[grid], default=None)


def find(scene: Scene, part: Part) -> Finding:
    """What the runs of a scene say about a part; raises MissingError with the reason if they cannot."""
    left, right = _sample(scene, part.left, part.measure), _sample(scene, part.right, part.measure)
    shared = sorted(left.keys() & right.keys(), key=str)
    paired = len(shared) >= FEWEST
    if paired:
        left, right = {key: left[key] for key in shared}, {key: right[key] for key in shared}
    runs = len(left), len(right)
    if min(runs) < FEWEST:
        raise MissingError(f"{part.left} and {part.right} have too few runs ({min(runs)}; {FEWEST} are needed)")
    a, b = list(left.values()), list(right.values())
    folds, others = [fold for fold, _ in left], [fold for fold, _ in right]
    compare = log_ratio if part.relation.is_ratio else difference
    to = scene.results.reading.generalise_to
    compared = compare(a, b, paired=paired, folds=folds, reference_folds=others, generalise_to=to)
    if math.isnan(compared.standard_error):
        raise MissingError(_why_nothing(part, compared, len(set(folds) & set(others))))
    margin = part.measure.margin_between(left, right)
    effect = _effect(part, a, b, compared, paired)
    judgement = part.relation.judge(compared, margin)
    return Finding(part, judgement, effect, paired, runs, len(set(folds)), margin, _bound(part, compared))


def _bound(part: Part, compared: Difference) -> float:
    """The end of the 95 % interval that is farther from no difference."""
    farthest = abs(compared.estimate) + compared.half_width()
    return math.exp(min(farthest, 700.0)) if part.relation.is_ratio else farthest


def _why_nothing(part: Part, compared: Difference, folds: int) -> str:
    both = f"{part.left} and {part.right}"
    if not folds:
        return f"{both} share no fold"
    if part.relation.is_ratio and math.isnan(compared.estimate):
        return f"{both} have no ratio, since a mean is not above 0"
    return f"{both} were run on one fold, which says nothing about similar collections"


def _sample(scene: Scene, term: Term, measure: Measure) -> Sample:
    user = term.user or scene.user
    values = _values(scene, user, term.role, measure)
    if term.minus is None:
        return values
    subtracted = _values(scene, user, term.minus, measure)
    return {key: values[key] - subtracted[key] for key in values if key in subtracted}


def _values(scene: Scene, user: str, role: str, measure: Measure) -> Sample:
    """The measure by fold and seed; where several labels fill a role, the first of the study counts."""
    under = [
        record
        for record in scene.results.records
        if (record.grid, record.collection, record.user) == (scene.grid, scene.collection, user)
    ]
    if not under:
        raise MissingError(f"grid {scene.grid} has no run under {user} clicks")
    records = [record for record in under if role in roles(record)]
    if not records:
        raise MissingError(f"grid {scene.grid} has no run of {role} under {user} clicks")
    records = [record for record in records if record.label == records[0].label]
    reached = [record for record in records if record.impressions >= measure.reach]
    if not reached:
        longest = max(record.impressions for record in records)
        raise MissingError(f"runs of {role} end at {longest:,} impressions, short of {measure.reach:,}")
    values = {(record.fold, record.seed): measure.value(record) for record in reached}
    finite = {key: value for key, value in values.items() if math.isfinite(value)}
    if not finite:
        raise MissingError(f"runs of {role} have no {measure.name}")
    return finite


def _effect(part: Part, a: list[float], b: list[float], compared: Difference, paired: bool) -> str:
    if part.relation.is_ratio:
        return f"{part.left} / {part.right} = {as_ratio(compared)}"
    size = f"d_z = {d_z(a, b):+.2f}" if paired else f"g = {hedges_g(a, b):+.2f}"
    form = part.measure.form
    numbers = f"{compared.estimate:+{form}} ± {compared.half_width():{form}}, {size}".replace("-", "−")
    return f"{part.left} − {part.right} = {numbers}"
