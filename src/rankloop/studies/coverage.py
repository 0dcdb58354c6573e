"""What a study asked for and what has been run of it: tables and figures say so instead of hiding what is missing."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rankloop.display import counted
from rankloop.learners import LEARNERS
from rankloop.statistics import SIMILAR
from rankloop.studies.held import Start
from rankloop.studies.options import only
from rankloop.studies.records import Record, Results
from rankloop.studies.specification import Cell, Grid, Study, cells

Place = tuple[str, str, str, str]
"""Grid, collection, user and label: the runs there differ by seed and fold alone."""


class Coverage:
    """The runs of a study by place, with how many were asked for, in the order of the study file."""

    def __init__(self, results: Results) -> None:
        self.results = results
        asked = asked_of(results.study, results.starts, results.records)
        self.of_study = len(cells(results.study))
        self.wanted: Counter[Place] = Counter(
            (cell.grid, cell.source.name, cell.user.name, cell.label) for cell in asked
        )
        self.sources = {cell.source.name: cell.source for cell in asked}
        self.unseen_changes = unseen_changes(asked)
        self._finished: dict[Place, list[Record]] = {}
        for record in sorted(results.records, key=lambda record: record.seed):
            place = (record.grid, record.collection, record.user, record.label)
            self._finished.setdefault(place, []).append(record)

    def runs(self, grid: str, collection: str, user: str, label: str) -> list[Record]:
        """The finished runs at a place, by seed."""
        return self._finished.get((grid, collection, user, label), [])

    def places(self, grid: str) -> list[Place]:
        """Where a grid asks for runs."""
        return [place for place in self.wanted if place[0] == grid]

    def is_repeated(self, grid: str) -> bool:
        """Whether a grid asks for several runs anywhere."""
        return any(self.wanted[place] > 1 for place in self.places(grid))

    def is_partial(self, grid: str) -> bool:
        """Whether runs of a grid are missing."""
        return any(self.wanted[place] != len(self.runs(*place)) for place in self.places(grid))

    def collections(self, grid: str) -> list[str]:
        """The collections that a grid has runs on."""
        return self._axis(grid, 1)

    def users(self, grid: str) -> list[str]:
        """The users that a grid has runs with."""
        return self._axis(grid, 2)

    def labels(self, grid: str) -> list[str]:
        """The learners that a grid has runs of, by label."""
        return self._axis(grid, 3)

    def absent(self, grid: str) -> list[str]:
        """Collections, users and learners that the grid asks for and that nothing has been run of."""
        asked = {(index, place[index]): None for index in (1, 2, 3) for place in self.places(grid)}
        return [name for index, name in asked if name not in self._axis(grid, index)]

    def _axis(self, grid: str, index: int) -> list[str]:
        return list(dict.fromkeys(place[index] for place in self.places(grid) if place in self._finished))

    def learner(self, grid: str, label: str) -> str:
        """The method behind a label."""
        return str(self.settings(grid, label)["learner"])

    def settings(self, grid: str, label: str) -> dict[str, object]:
        """A learner as the study file describes it."""
        return next(one for one in self.grid(grid).learners if str(one.get("label") or one["learner"]) == label)

    def grid(self, name: str) -> Grid:
        """A grid of the study."""
        return next(grid for grid in self.results.study.grids if grid.name == name)

    def runs_at(self, place: Place) -> str:
        """How many runs there are, and of how many: `15 runs`, `3 of 15 runs`."""
        return runs_of(len(self.runs(*place)), self.wanted[place])

    def of_grid(self, grid: str) -> str:
        """How many runs stand behind each number of a grid, in words."""
        places = self.places(grid)
        wanted = sum(self.wanted[place] for place in places)
        finished = sum(len(self.runs(*place)) for place in places)
        if finished == wanted:
            each = sorted({self.wanted[place] for place in places})
            return f"{' or '.join(map(str, each))} {'run' if each == [1] else 'runs'} each"
        return f"{runs_of(finished, wanted)} finished"

    def speaks_of(self, grid: str) -> str:
        """What the intervals and tests of a grid generalise to, in words that end a phrase."""
        counts = [Counter(run.fold for run in self.runs(*place)) for place in self.places(grid)]
        folds = max((len(count) for count in counts), default=0)
        if self.results.reading.generalise_to == SIMILAR:
            known = "folds random: t on their means" if folds > 1 else "not known from one fold"
            return f"for similar collections ({known})"
        if folds < 2:
            return "for this collection (seeds random)"
        if any(len(count) > 1 and min(count.values()) < 2 for count in counts):
            return "for this collection (one run a fold: the spread between folds is in it)"
        return "for this collection (folds fixed, seeds random)"

    def distinct_grids(self) -> dict[str, list[str]]:
        """Grids with finished runs, each with the later ones that consist of the very same runs."""
        by_runs: dict[frozenset[str], list[str]] = {}
        for grid in self.results.study.grids:
            if keys := frozenset(self.results.values("key", grid=grid.name)):
                by_runs.setdefault(keys, []).append(grid.name)
        return {first: later for first, *later in by_runs.values()}

    def compares_methods(self, grid: str) -> bool:
        """Whether different methods meet in a grid, as opposed to settings of one."""
        return len({self.learner(grid, label) for label in self.labels(grid)}) > 1


def asked_of(study: Study, starts: Sequence[Start], records: Iterable[Record] = ()) -> list[Cell]:
    """The cells that the starts of a study chose; all of them, unless each chose a part with `--only`.

    A finished run counts as asked for, whatever was chosen later.
    """
    every = cells(study)
    if not starts or any(not start.only for start in starts):
        return every
    chosen = {_cell_place(cell) for start in starts for cell in only(every, start.only)}
    chosen |= {(one.grid, one.collection, one.user, one.label, one.fold, one.seed) for one in records}
    return [cell for cell in every if _cell_place(cell) in chosen]


def unseen_changes(asked: Iterable[Cell]) -> list[str]:
    """A sentence about all people whose last change is not over when a run ends."""
    ends = {(cell.user.name, cell.impressions): int(cell.user.crowd().knots[-1]) for cell in asked}
    return [
        f"runs of {impressions:,} impressions end before the last change of {name} is over, at impression {change:,}"
        for (name, impressions), change in ends.items()
        if change >= impressions
    ]


def _cell_place(cell: Cell) -> tuple[str, str, str, str, int | None, int]:
    return cell.grid, cell.source.name, cell.user.name, cell.label, cell.fold, cell.seed


def runs_of(finished: int, wanted: int) -> str:
    """How many runs are finished, of how many.

    >>> runs_of(15, 15), runs_of(3, 1500)
    ('15 runs', '3 of 1,500 runs')
    """
    return counted(wanted, "run") if finished == wanted else f"{finished:,} of {counted(wanted, 'run')}"


def learns_from_clicks(learner: str) -> bool:
    """False for skylines and reference lines, which are shown but do not compete."""
    return getattr(LEARNERS.get(learner), "learns_from", "clicks") == "clicks"
