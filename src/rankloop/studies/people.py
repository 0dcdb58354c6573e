"""Who wins with which people, and who merely wins on the people it assumes.

A method that divides by an assumed probability of examination is at home with people who look just so. It should be
judged on the others, too: nobody tells a service how its visitors look.
"""

import math
from typing import NamedTuple

import numpy as np

from rankloop.display import MISSING, counted, listed, mean_text
from rankloop.propensities import Known, PowerLaw
from rankloop.statistics import interval, paired_comparison
from rankloop.studies.coverage import Coverage, learns_from_clicks
from rankloop.studies.records import Record
from rankloop.studies.specification import cells
from rankloop.studies.tables import Column, Entry, Table, plain

FEWEST = 3  # kinds of people that make it a question who wins where
FIELD = "online_ndcg"
LEVEL = 0.05
_ASSUMED = "†"


class Meeting(NamedTuple):
    """The methods of a grid with one kind of people on one collection.

    `best` has the highest mean online nDCG; `winners` are those that a paired test cannot tell from it, itself
    included; `assuming` are the methods that assume how these people look at a page, and are right.
    """

    collection: str
    user: str
    means: dict[str, float]
    best: str | None
    winners: tuple[str, ...]
    assuming: tuple[str, ...]


def has_people(coverage: Coverage, grid: str) -> bool:
    """Whether several methods meet several kinds of people."""
    return coverage.compares_methods(grid) and len(coverage.users(grid)) >= FEWEST


def meetings(coverage: Coverage, grid: str) -> list[Meeting]:
    """Every kind of people on every collection, in the order of the study."""
    home = _at_home(coverage, grid)
    return [
        _meeting(coverage, grid, collection, user, home.get((collection, user), ()))
        for collection in coverage.collections(grid)
        for user in coverage.users(grid)
    ]


def _at_home(coverage: Coverage, grid: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """By collection and user, the methods whose assumption about examination is the truth."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for cell in cells(coverage.results.study):
        assumed, true = cell.learner.assumed_propensities, cell.user.rank_examination
        if cell.grid != grid or not isinstance(assumed, (PowerLaw, Known)) or true is None:
            continue
        if np.allclose(assumed.at(cell.page_size), true.at(cell.page_size)):
            found.setdefault((cell.source.name, cell.user.name), {})[cell.label] = None
    return {place: tuple(labels) for place, labels in found.items()}


def _meeting(coverage: Coverage, grid: str, collection: str, user: str, assuming: tuple[str, ...]) -> Meeting:
    runs = {label: coverage.runs(grid, collection, user, label) for label in coverage.labels(grid)}
    means = {label: float(np.mean([getattr(run, FIELD) for run in some])) for label, some in runs.items() if some}
    able = [label for label in means if learns_from_clicks(coverage.learner(grid, label))]
    best = max(able, key=lambda label: means[label], default=None) if len(able) > 1 else None
    winners = tuple(label for label in able if best and (label == best or not _differ(runs[best], runs[label])))
    return Meeting(collection, user, means, best, winners, assuming)


def _differ(best: list[Record], other: list[Record]) -> bool:
    """Whether a paired test tells two methods apart; with too few pairs it does not."""
    theirs = {(run.seed, run.fold): getattr(run, FIELD) for run in other}
    shared = [run for run in best if (run.seed, run.fold) in theirs]
    if len(shared) < 2:
        return False
    test = paired_comparison(
        [getattr(run, FIELD) for run in shared],
        [theirs[run.seed, run.fold] for run in shared],
        folds=[run.fold for run in shared],
    )
    return bool(test.p < LEVEL)


def people_table(coverage: Coverage, grid: str) -> Table:
    """Rows are people, columns are methods: what people saw while the methods learned."""
    labels, met = coverage.labels(grid), meetings(coverage, grid)
    several = len(coverage.collections(grid)) > 1
    columns = [*([Column("collection", "name")] if several else []), Column("people", "name"), *map(Column, labels)]
    rows = []
    for one in met:
        row = [*([Entry(plain(one.collection))] if several else []), Entry(plain(one.user))]
        for label in labels:
            values = [getattr(run, FIELD) for run in coverage.runs(grid, one.collection, one.user, label)]
            text = mean_text(*interval(values), 1) if values and all(map(math.isfinite, values)) else MISSING
            row.append(Entry(text, label in one.winners, _ASSUMED if label in one.assuming else ""))
        rows.append(tuple(row))
    notes = [f"Online nDCG: Σ 0.9995^i · nDCG of the page shown at impression i; {coverage.of_grid(grid)}."]
    if any(one.assuming for one in met):
        notes.append(f"{_ASSUMED} The method assumes how these people look at a page, and is right.")
    best = f"the highest mean, and what a paired t-test does not tell from it (p ≥ {LEVEL:g})"
    return Table(
        f"{grid}-people", "Who wins with which people", tuple(columns), tuple(rows), int(several), tuple(notes), best
    )


def verdicts(coverage: Coverage, grid: str) -> list[str]:
    """One sentence per method: with how many kinds of people it is among the best, at home and elsewhere."""
    met = [one for one in meetings(coverage, grid) if one.best is not None]
    able = [label for label in coverage.labels(grid) if learns_from_clicks(coverage.learner(grid, label))]
    return [_verdict(label, met) for label in able if met]


def _verdict(label: str, met: list[Meeting]) -> str:
    home = [one for one in met if label in one.assuming]
    abroad = [one for one in met if label not in one.assuming]
    won, away = [one for one in home if label in one.winners], [one for one in abroad if label in one.winners]
    if not home:
        where = f": {listed([one.user for one in away])}" if 0 < len(away) < len(abroad) else ""
        return f"{label} is among the best with {len(away)} of {counted(len(abroad), 'kind')} of people{where}."
    if won and not away:
        return (
            f"{label} wins only on the people it assumes: it is among the best with {len(won)} of the {len(home)} "
            f"kinds that look as it assumes, and with none of the {len(abroad)} others."
        )
    return (
        f"{label} is among the best with {len(won)} of the {len(home)} kinds of people that look as it assumes, and "
        f"with {len(away)} of the {len(abroad)} others."
    )
