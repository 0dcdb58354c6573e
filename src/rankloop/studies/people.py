"""Who wins with which people, and who merely wins on the people it assumes.

A method that divides by an assumed probability of examination is at home with people who look just so. It should be
judged on the others, too: nobody tells a service how its visitors look.
"""

from typing import NamedTuple

import numpy as np

from rankloop.display import MISSING, listed, mean_text
from rankloop.propensities import Known, PowerLaw
from rankloop.studies.comparisons import Standing, mean_of, standing, values_of
from rankloop.studies.coverage import Coverage, learns_from_clicks
from rankloop.studies.specification import cells
from rankloop.studies.tables import BEST, TIES, Column, Entry, Table, plain

FEWEST = 3  # kinds of people that make it a question who wins where
_ASSUMED = "†"


class Meeting(NamedTuple):
    """The methods of a grid with one kind of people on one collection.

    `standing` says who is best, or which are tied; `assuming` are the methods that assume how these people look at a
    page, and are right.
    """

    collection: str
    user: str
    means: dict[str, float]
    standing: Standing
    assuming: tuple[str, ...]

    @property
    def winners(self) -> tuple[str, ...]:
        """The best, or those that cannot be told from it."""
        return (self.standing.best,) if self.standing.best else self.standing.tied


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
    field = measured(coverage)
    runs = {label: values_of(coverage.runs(grid, collection, user, label), field) for label in coverage.labels(grid)}
    means = {label: mean_of(coverage.results, values).mean for label, values in runs.items() if values}
    return Meeting(collection, user, means, standing(coverage, grid, collection, user, field), assuming)


def measured(coverage: Coverage) -> str:
    """What decides: what people saw, where the metric is one of pages; else the ranker at the end."""
    return "online_ndcg" if coverage.results.metric.is_seen_on_pages else "offline_ndcg"


def metric_title(coverage: Coverage) -> str:
    """`online nDCG@10`."""
    return f"{measured(coverage).partition('_')[0]} {coverage.results.metric.title}"


def people_table(coverage: Coverage, grid: str) -> Table:
    """Rows are people, columns are methods: what people saw while the methods learned."""
    labels, met = coverage.labels(grid), meetings(coverage, grid)
    several, digits = len(coverage.collections(grid)) > 1, 1 if coverage.results.metric.is_seen_on_pages else 4
    columns = [*([Column("collection", "name")] if several else []), Column("people", "name"), *map(Column, labels)]
    rows = []
    for one in met:
        row = [*([Entry(plain(one.collection))] if several else []), Entry(plain(one.user))]
        for label in labels:
            values = values_of(coverage.runs(grid, one.collection, one.user, label), measured(coverage))
            text = mean_text(*mean_of(coverage.results, values), digits) if values else MISSING
            marks = one.standing.mark(label) + (_ASSUMED if label in one.assuming else "")
            row.append(Entry(text, label == one.standing.best, marks))
        rows.append(tuple(row))
    spread = f" ± 95 % t-interval {coverage.speaks_of(grid)}" if coverage.is_repeated(grid) else ""
    notes = [f"Mean {metric_title(coverage)} over runs{spread}; {coverage.of_grid(grid)}."]
    if any(one.assuming for one in met):
        notes.append(f"{_ASSUMED} The method assumes how these people look at a page, and is right.")
    if any(one.standing.tied for one in met):
        notes.append(TIES)
    return Table(
        f"{grid}-people", "Who wins with which people", tuple(columns), tuple(rows), int(several), tuple(notes), BEST
    )


def verdicts(coverage: Coverage, grid: str) -> list[str]:
    """One sentence per method: with how many kinds of people it is among the best, at home and elsewhere."""
    met = [one for one in meetings(coverage, grid) if one.winners]
    able = [label for label in coverage.labels(grid) if learns_from_clicks(coverage.learner(grid, label))]
    return [_verdict(label, met) for label in able if met]


def _verdict(label: str, met: list[Meeting]) -> str:
    home = [one for one in met if label in one.assuming]
    abroad = [one for one in met if label not in one.assuming]
    won, away = [one for one in home if label in one.winners], [one for one in abroad if label in one.winners]
    if not won and not away:
        return f"{label} is not among the best with any kind of people."
    if not home:
        where = f": {listed([one.user for one in away])}" if 0 < len(away) < len(abroad) else ""
        return f"{label} is {_among(len(away), len(abroad), 'kind')} of people{where}."
    only = "wins only on the people it assumes: it " if won and abroad and not away else ""
    text = f"{label} {only}is {_among(len(won), len(home), 'kind')} of people who look as it assumes"
    if not abroad:
        return f"{text}; nobody else came."
    joined = "and" if bool(won) == bool(away) else "but"
    return f"{text}, {joined} {_among(len(away), len(abroad), 'other kind').removeprefix('among the best ')}."


def _among(some: int, every: int, noun: str) -> str:
    """With how many kinds a method is among the best, in words.

    >>> for some, every in ((0, 1), (0, 3), (2, 2), (2, 3)):
    ...     print(_among(some, every, "kind"))
    not among the best with the one kind
    among the best with none of the 3 kinds
    among the best with both kinds
    among the best with 2 of the 3 kinds
    """
    if every == 1:
        return f"{'' if some else 'not '}among the best with the one {noun}"
    if every == 2 and some != 1:
        return f"among the best with {f'both {noun}s' if some else f'neither {noun}'}"
    if some == every:
        return f"among the best with all {every} {noun}s"
    return f"among the best with {some or 'none'} of the {every} {noun}s"
