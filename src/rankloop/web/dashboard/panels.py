"""What the panels of a page say, worked out from a reading: plain values that the templates only have to print."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.live.experiments import ExperimentReport
from rankloop.live.fold import Fold
from rankloop.live.guard import Guard
from rankloop.live.http.recent import Answers
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service
from rankloop.live.settings import IncomingOrder
from rankloop.live.start import Report
from rankloop.web.bars import Bar, bar, largest
from rankloop.web.dashboard import examination, health, intervals
from rankloop.web.dashboard.intervals import Estimate
from rankloop.web.dashboard.plain_words import feature_name, unit_of
from rankloop.web.dashboard.reading import Day, Reading, keeps_first
from rankloop.web.dashboard.sparks import lines
from rankloop.web.dashboard.tallied import (
    CONTROL,
    GUARDED,
    LEARNED,
    OVERS,
    Groups,
    by_group,
    by_time,
    displacement,
    pages,
    reward,
    reward_of,
    step_of,
)
from rankloop.web.dashboard.trail import began_anew, decided
from rankloop.web.dashboard.verdict import UNREAD, Verdict, by_experiment, judged

BARS = 12
CHANGES = 8
ENDPOINTS = ("rank", "clicks", "close")
FATES = {
    "learned": "learned from",
    "control": "control group, never learned from",
    "guarded": "engine’s order, because the learned one is worse",
    "fallback": "engine’s order, because the store was down",
    "capped": "from visitors who come too often, or click for one thing alone",
    "paused": "learning was paused or frozen",
    "pinned": "every rank was pinned",
    "stale": "drawn by a policy too far from today’s",
    "void": "never reached the caller",
    "diverged": "the update was not finite",
    "missing": "erased or compacted away",
}

GROUPS = {
    LEARNED: "Learned order",
    CONTROL: "Engine’s order (control)",
    GUARDED: "Engine’s order (guarded, as the learned one is worse)",
}


class Row(NamedTuple):
    """A group in the comparison of learned and control pages."""

    label: str
    pages: int
    clicks: float
    per_page: Estimate
    reward: Estimate | None


def summary(
    service: Service, model: LiveModel, reading: Reading, experiment: ExperimentReport | None = None
) -> dict[str, Any]:
    """The numbers at the top of a model's page, and the comparison below them."""
    groups, ever = reading.groups, reading.ever
    worth = reward_of(model.settings)
    rows = {
        group: Row(
            label,
            pages(ranks).shown,
            pages(ranks).total,
            intervals.mean(pages(ranks)),
            reward(ranks, worth) if worth else None,
        )
        for group, label in GROUPS.items()
        if (ranks := groups.get(group))
    }
    learned, control = rows.get(LEARNED), rows.get(CONTROL)
    gain, base = None, control.per_page.value if control else None
    if learned and learned.per_page.value is not None and base is not None:
        gain = learned.per_page.value - base
    found = UNREAD if reading.is_unread else judged(model.settings, reading.guard or Guard())
    found = by_experiment(found, experiment)
    return {
        "states": health.states(service, reading.trouble, model, reading.waiting_since),
        "mode": model.view().mode,
        "version": model.version,
        "closed": sum(pages(ranks).shown for ranks in ever.values()),
        "clicks": sum(pages(ranks).total for ranks in ever.values()),
        "open": reading.open,
        "lag": health.lag_seconds(reading.waiting_since),
        "rows": list(rows.values()),
        "gain": gain,
        "relative": gain / base if gain is not None and base else None,
        "control_share": model.settings.guards.control,
        "reward": worth,
        "fates": _fates(service, model),
        "guarded": model.view().guarded,
        "ever": (ever_per_page := per_page(reading.ever)),
        "lost": lost(ever_per_page) if model.view().guarded else None,
        "decided": decided(reading.trail) if model.view().guarded else None,
        "verdict": found,
        "whisker": whisker(found),
        "experiment": experiment,
        "anew": began_anew(reading.decisions, reading.guard, reading.trail),
        "looks": examination.sentence(reading.looks, reading.believed),
        "trust": examination.trust_hint(reading.looks),
        "unsure": reading.unsure,
    }


class PerPage(NamedTuple):
    """Clicks per page of both orders."""

    learned: float
    control: float


def per_page(ever: Groups) -> PerPage | None:
    """Since the model was made; None if one of the orders has had no page."""
    learned, control = (pages(ever.get(group, {})) for group in (LEARNED, CONTROL))
    return PerPage(learned.mean, control.mean) if learned.shown and control.shown else None


def lost(ever: PerPage | None) -> float | None:
    """What a guarded model has cost, as a share of the engine's clicks, over its whole life: its comparison has begun
    anew. None if it did better than the engine for most of that time, where the number would contradict the guard.

    >>> lost(PerPage(0.6, 1.2)), lost(PerPage(1.3, 1.2))
    (-0.5, None)
    """
    if ever is None or not 0 <= ever.learned < ever.control:
        return None
    return ever.learned / ever.control - 1


class Whisker(NamedTuple):
    """An interval as a drawing 100 wide: where no difference, its ends and its middle lie."""

    zero: float
    low: float
    middle: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return round(self.high - self.low, 1)


def whisker(found: Verdict) -> Whisker | None:
    """The interval of a verdict, drawn beside zero; None if there is none, or if it has no end."""
    if found.gain is None or found.low is None or found.high is None or math.isinf(found.high):
        return None
    low, high = min(found.low, 0.0), max(found.high, 0.0)
    room = (high - low) * 0.06 or 0.01

    def place(share: float) -> float:
        return round(100 * (share - low + room) / (high - low + 2 * room), 1)

    return Whisker(place(0.0), place(found.low), place(found.gain), place(found.high))


class Card(NamedTuple):
    """A model on the overview."""

    model: LiveModel
    mode: str
    guarded: bool
    verdict: Verdict
    pages: int
    """Closed over the last 24 hours."""
    lines: list[list[str]]
    """Clicks per page over the last 24 hours, learned and control, as `sparks.lines` draws them."""
    dots: list[list[tuple[float, float]]]
    is_read: bool = True
    """Whether its pages could be counted."""
    attention: bool = False
    """Whether something about it cannot wait."""
    lost: float | None = None
    """What a guarded model has cost, as its own page says."""

    @property
    def unit(self) -> str:
        """What a page is worth is counted in."""
        return unit_of(self.model.settings)


def card(model: LiveModel, day: Day | None, *, store_down: bool = False) -> Card:
    """What the overview says about a model; there is no day of one that was made a moment ago, or not read yet."""
    view = model.view()
    if day is None:
        unknown = UNREAD if store_down else judged(model.settings, Guard())
        return Card(model, view.mode, view.guarded, unknown, 0, [[], []], [[], []], is_read=not store_down)
    step = day_step(day)
    times = by_time(day.tallies, step)
    minutes = range(min(times), max(times) + 1, step) if times else range(0)
    series: list[list[float | None]] = [
        [pages(ranks).mean if (ranks := times.get(minute, {}).get(group)) else None for minute in minutes]
        for group in (LEARNED, CONTROL)
    ]
    shown = sum(pages(ranks).shown for ranks in by_group(day.tallies).values())
    cost = lost(per_page(day.ever)) if view.guarded else None
    return Card(model, view.mode, view.guarded, day.verdict, shown, *lines(series), lost=cost)


def day_step(day: Day) -> int:
    """Minutes that one point of a card's line stands for."""
    return step_of(day.tallies, next(over for over in OVERS if over.span == day.span))


def _fold(service: Service, model: LiveModel) -> Fold | None:
    """The state of a model that this process learns."""
    return service.learner.folds().get(model.id) if service.learner else None


def _fates(service: Service, model: LiveModel) -> list[tuple[str, int]] | None:
    fold = _fold(service, model)
    if fold is None:
        return None
    counts = dict(fold.fates)
    return [(meaning, counts[fate]) for fate, meaning in FATES.items() if counts.get(fate)]


def exploration(model: LiveModel, reading: Reading) -> dict[str, Any]:
    """How much is explored, next to what was said before the model went live."""
    learned, ever = reading.groups.get(LEARNED, {}), reading.ever.get(LEARNED, {})
    frozen = model.view().mode == "frozen"
    return {
        "spent": displacement(learned),
        "spent_ever": displacement(ever),
        "keeps_first": 1.0 if frozen else keeps_first(reading.recent),
        "start": reading.start,
        "budget": _budget(model, reading.start),
        "stated": _is_stated(model, reading.start),
    }


def _is_stated(model: LiveModel, start: Report | None) -> bool:
    """Whether anything was said beforehand."""
    follows = isinstance(model.settings.start, IncomingOrder) and model.settings.learner.draws_weights
    return follows or (start is not None and start.keeps_first is not None)


def _budget(model: LiveModel, start: Report | None) -> str:
    """What was said beforehand about how far this model explores, as far as that is possible."""
    settings = model.settings
    if start and start.keeps_first is not None:
        return f"Expected for {start.assumes}."
    if isinstance(settings.start, IncomingOrder) and settings.learner.draws_weights:
        reach = settings.start.reach(settings.page_size, model.version)
        limit = "any result" if math.isinf(reach) else f"the engine’s first {math.floor(reach):,} results"
        return (
            f"{settings.learner.name} starts in the engine’s order and explores as far as it is unsure, "
            f"which is less as it learns; its pages are made of {limit} now. No distance can be stated beforehand."
        )
    return f"No budget was stated for this model{f' ({start.assumes})' if start else ''}."


def weight_bars(model: LiveModel) -> list[Bar]:
    """The largest weights of the newest state; none of a network, where no weight is a feature's alone."""
    if not model.settings.is_linear:
        return []
    values = model.view().model.ranker.weights
    shown = largest(values, BARS)
    return [bar(feature_name(model.settings.names[i]), values[i], abs(values[shown[0]])) for i in shown]


def changes(model: LiveModel, then: NDArray[np.float64]) -> list[tuple[str, float, float]]:
    """(weight's name, now, then): what a roll back changes most."""
    now = model.view().model.ranker.weights
    changed = [i for i in largest(then - now, CHANGES) if then[i] != now[i]]
    names = model.settings.weight_names
    return [(feature_name(names[i]), float(now[i]), float(then[i])) for i in changed]


def answers(service: Service, recent: dict[str, Answers]) -> dict[str, Any]:
    """How quickly this process answers, what went wrong, and what became of clicks."""
    named = sorted(recent.items(), key=lambda item: (item[0] not in ENDPOINTS, item[0]))
    clicks = {fate: count for (what, fate), count in service.counts.copy().items() if what == "clicks" and count}
    fallback = service.counts["impressions", "fallback"]
    return {"answers": named, "click_fates": sorted(clicks.items()), "fallback": fallback, "started": service.started}
