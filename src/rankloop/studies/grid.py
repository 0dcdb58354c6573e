"""A grid of runs: every learner with every user, repeated with different seeds, on all cores.

A run is determined by its settings alone, so it does not matter which process computes it or what runs beside it.
Repeats of different learners share seeds, and so the query sequence: paired tests are honest.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from joblib import Parallel, delayed

from rankloop import users
from rankloop.data import Collection, load
from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, Learner, MDPRank
from rankloop.run import Run
from rankloop.settings import require_choice, require_whole_number
from rankloop.simulation import simulate


def paper_learners() -> tuple[Learner, ...]:
    """The paper's six methods with its settings: four baselines, ROLTR, and the skyline.

    The skyline is the authors' variant of MDPRank: the one in the text has too much variance to be one
    (docs/differences.md).
    """
    return (DBGD(), PMGD(), COLTR(), PDGD(), ROLTR(), MDPRank(variant="authors"))


@dataclass(frozen=True)
class Grid:
    """What to run: learners × users × repeats on one collection."""

    data: str = "mslr-like"
    scale: float = 0.2
    fold: int | None = None
    learners: tuple[Learner, ...] = field(default_factory=paper_learners)
    users: tuple[str, ...] = ("perfect", "noisy")
    impressions: int = 10_000
    repeats: int = 5
    seed: int = 1
    evaluate_every: int = 500

    def __post_init__(self) -> None:
        require_whole_number("run", "impressions", self.impressions, at_least=1)
        require_whole_number("run", "repeats", self.repeats, at_least=1)
        require_whole_number("run", "seed", self.seed)
        for user in self.users:
            require_choice("run", "user", user, users.ATTRACTIONS)
        if not self.learners or not self.users:
            raise SettingsError("run: at least one learner and one user are needed")

    @property
    def cells(self) -> list[tuple[Learner, str, int]]:
        """Every run: learner, user and seed. The slow methods come first, so that the cores end together."""
        return [
            (learner, user, self.seed + repeat)
            for learner in sorted(self.learners, key=lambda one: one.name not in ("PMGD", "COLTR"))
            for user in self.users
            for repeat in range(self.repeats)
        ]

    def collection(self) -> Collection:
        """The data, imported or made on first use."""
        return load(self.data, fold=self.fold, scale=self.scale)


@dataclass(frozen=True)
class Results:
    """Finished runs by learner and user, in the order of their seeds."""

    grid: Grid
    runs: dict[tuple[str, str], list[Run]]

    def of(self, learner: str, user: str) -> list[Run]:
        """The repeats of one learner with one user."""
        return self.runs[learner, user]


def compile_kernels(grid: Grid, workers: int) -> Iterator[str]:
    """Compile what the grid needs, one learner per process, so that no run has to; names as they are done."""
    jobs = (delayed(_compile)(learner) for learner in grid.learners)
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(jobs)


def run_grid(grid: Grid, workers: int, done: Callable[[Run], None] | None = None) -> Results:
    """Run every cell on `workers` processes; `done` is called with each run as it finishes."""
    require_whole_number("run", "workers", workers, at_least=1)
    jobs = (delayed(_run)(grid, *cell) for cell in grid.cells)
    finished: dict[tuple[str, str], list[Run]] = {}
    for run in Parallel(n_jobs=workers, return_as="generator_unordered")(jobs):
        key = (run.settings["learner"]["learner"], run.settings["user"]["name"])
        finished.setdefault(key, []).append(run)
        if done is not None:
            done(run)
    for runs in finished.values():
        runs.sort(key=lambda run: run.settings["seed"])
    return Results(grid, finished)


def _run(grid: Grid, learner: Learner, user: str, seed: int) -> Run:
    data = grid.collection()
    return simulate(
        learner,
        users.by_name(user, grades=data.grades),
        data,
        impressions=grid.impressions,
        seed=seed,
        evaluate_every=grid.evaluate_every,
    )


def _compile(learner: Any) -> str:
    simulate(learner, users.perfect(), load("tiny"), impressions=1, seed=1)
    return learner.name
