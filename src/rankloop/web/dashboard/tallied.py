"""What the tallies of a model say: clicks, click-through by rank, estimated reward and exploration, per group, over a
stretch of time or in all. Nothing here looks at a single impression."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Group
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.rows import Tally
from rankloop.web.dashboard.intervals import Estimate, Sums, around

Ranks = Mapping[int, Sums]
"""Rank → sums; rank 0 is the page as a whole."""
Groups = Mapping[int, Ranks]
Times = Mapping[int, Groups]

STEPS = {
    1: {1: "a minute", 2: "2 minutes", 5: "5 minutes", 10: "10 minutes", 30: "30 minutes"},
    60: {60: "an hour", 180: "3 hours", 720: "12 hours"},
    1440: {1440: "a day", 10080: "7 days"},
}
"""Minutes that one point of a chart may stand for, and their name, by the span that the tallies have."""
POINTS = 60
FULL = 0.6
"""Share of the steps between the first and the last page in which there should be one."""
EVER = 1 << 62


class Over(NamedTuple):
    """A stretch of time to look at: how long it is and how finely it is divided, in minutes."""

    name: str
    label: str
    during: str
    span: int
    minutes: int | None
    refresh: int
    """Seconds after which a chart over it is worth drawing again."""


OVERS = (
    Over("hours", "3 hours", "over the last three hours", 1, 180, 5),
    Over("week", "7 days", "over the last seven days", 60, 7 * 1440, 30),
    Over("all", "all time", "since the model was created", 1440, None, 60),
)


def offered(age_minutes: float) -> list[Over]:
    """The stretches that fit a model's age: up to the finest that shows its whole life. A longer one would show no
    more of it, in coarser steps."""
    finest = next(place for place, over in enumerate(OVERS) if over.minutes is None or age_minutes <= over.minutes)
    return list(OVERS[: finest + 1])


def over_named(name: str | None, age_minutes: float) -> Over:
    """The one asked for if it fits, or the finest that shows a model's whole life."""
    fitting = offered(age_minutes)
    return next((over for over in fitting if over.name == name), fitting[-1])


class Reward(NamedTuple):
    """What a page earns: its name, and the worth of a click and of none at each rank."""

    name: str
    click: NDArray[np.float64]
    skip: NDArray[np.float64]


def reward_of(settings: ModelSettings) -> Reward | None:
    """The reward that the model learns from, with the propensities it assumes; None if it learns from none."""
    own = settings.learner.shaped_reward(settings.page_size)
    return None if own is None else Reward(own.name, own.click, own.skip)


def step_of(tallies: Sequence[Tally], over: Over) -> int:
    """Minutes that one point of a chart stands for: few enough points that chance does not hide what changes, and few
    enough steps without a page that a line can be drawn."""
    if not tallies:
        return min(STEPS[over.span])
    first, last = tallies[0].minute, tallies[-1].minute
    for step in STEPS[over.span]:
        steps = last // step - first // step + 1
        if steps <= POINTS + 1 and len({tally.minute // step for tally in tallies}) >= FULL * steps:
            return step
    return max(STEPS[over.span])


def by_time(tallies: Iterable[Tally], step: int) -> Times:
    """First minute of a step → group → rank → sums, in the order of time."""
    added: dict[tuple[int, int, int], list[float]] = {}
    for _, _, minute, group, rank, *sums in tallies:
        total = added.setdefault((minute - minute % step, group, rank), [0, 0.0, 0.0, 0.0])
        for place, value in enumerate(sums):
            total[place] += value
    times: dict[int, dict[int, dict[int, Sums]]] = {}
    for (minute, group, rank), (shown, *rest) in added.items():
        times.setdefault(minute, {}).setdefault(group, {})[rank] = Sums(int(shown), *rest)
    return times


def by_group(tallies: Iterable[Tally]) -> Groups:
    """Group → rank → sums, over all spans given."""
    return by_time(tallies, EVER).get(0, {})


def pages(ranks: Ranks) -> Sums:
    """Of whole pages: how many, and their clicks."""
    return ranks.get(0, Sums())


def reward(ranks: Ranks, worth: Reward) -> Estimate:
    """The mean reward of a page: Σ over ranks of c·R_click + (1 − c)·R_no-click.

    Its interval takes clicks on different ranks as independent, as the examination model does.
    """
    count = pages(ranks).shown
    if count == 0:
        return Estimate(None)
    total = variance = 0.0
    for rank, sums in ranks.items():
        if not 1 <= rank <= len(worth.click):
            continue
        click, skip = float(worth.click[rank - 1]), float(worth.skip[rank - 1])
        total += sums.total * click + (sums.shown - sums.total) * skip
        variance += sums.shown * sums.variance * (click - skip) ** 2
    return around(total / count, variance / count**2) if count > 1 else Estimate(total / count)


def displacement(ranks: Ranks) -> float | None:
    """Mean |rank shown − rank without exploration| of the documents on a page."""
    whole = pages(ranks)
    return whole.displacement / whole.shown if whole.shown else None


LEARNED, CONTROL, GUARDED = int(Group.LEARNED), int(Group.CONTROL), int(Group.GUARDED)
