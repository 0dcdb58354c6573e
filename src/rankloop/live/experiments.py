"""Experiments: orders that are interleaved on some people's pages, and who was credited, added up as pages close.

What is running, and all its sums, are part of a model's state: they follow from the log, in every bit, as weights do.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from rankloop.display import counted
from rankloop.errors import SettingsError
from rankloop.live.events import Event, ExperimentStarted, Impression, decode
from rankloop.live.interleaving import credit
from rankloop.settings import check_settings, number
from rankloop.statistics.sequential import FEWEST, Margin, Margins

INCOMING, LEARNED = "incoming", "learned"
"""Arms: the order in which candidates come, and the model's own. Any other arm is the name of another model."""
MOST_ARMS = 8
EARLIER = 20
"""Experiments that are remembered after they have ended, with all their sums."""


class ExperimentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to compare, and on how many people's pages.

    Attributes:
        arms: `incoming` (the engine's order), `learned` (the model's) and names of other models; each is compared with
            the first.
        share: of the people who are neither in control nor guarded.

    >>> ExperimentSettings().arms
    ('incoming', 'learned')
    """

    arms: tuple[str, ...] = (INCOMING, LEARNED)
    share: Annotated[float, number(above=0, at_most=1)] = 0.1

    def __post_init__(self) -> None:
        check_settings(self, "experiment")
        if not 2 <= len(self.arms) <= MOST_ARMS or len(set(self.arms)) < len(self.arms):
            raise SettingsError(
                f"experiment: arms must be 2 to {MOST_ARMS} different ones: {INCOMING!r}, {LEARNED!r} and names of "
                f"other models; got {list(self.arms)}"
            )


class Running(NamedTuple):
    """What ranking must know of an experiment: its number, and whose orders are interleaved (0: the incoming one)."""

    id: int
    models: tuple[int, ...]
    share: float


class KeptExperiment(msgspec.Struct):
    """An experiment as states keep it."""

    id: int
    at: int
    arms: list[str]
    models: list[int]
    share: float
    stopped: int | None
    pages: int
    credited: int
    credits: list[float]
    shares: list[float]
    margins: list[bytes]


class Experiment:
    """Sums over an experiment's closed pages."""

    def __init__(self, kept: KeptExperiment) -> None:
        self.id, self.at, self.share = kept.id, kept.at, kept.share
        self.arms, self.models = tuple(kept.arms), tuple(kept.models)
        self.stopped = kept.stopped
        """When, in milliseconds since 1970; None while it runs."""
        self.pages, self.credited = kept.pages, kept.credited
        self.credits, self.shares = list(kept.credits), list(kept.shares)
        """Clicks on each arm's documents; and of the credited pages, each arm's part of their credit."""
        self.margins = [Margins(sums) for sums in kept.margins]
        """Of each arm but the first, against the first."""

    @classmethod
    def begun(cls, event: Event) -> "Experiment":
        """One that has just been started."""
        started: ExperimentStarted = decode(event.kind, event.body)
        nothing = [0.0] * len(started.arms)
        blank = [b""] * (len(started.arms) - 1)
        return cls(
            KeptExperiment(
                event.offset, event.at, started.arms, started.models, started.share, None, 0, 0, nothing, nothing, blank
            )
        )

    def kept(self) -> KeptExperiment:
        """What a state keeps."""
        return KeptExperiment(
            self.id, self.at, list(self.arms), list(self.models), self.share, self.stopped, self.pages, self.credited,
            self.credits, self.shares, [margins.sums.tobytes() for margins in self.margins],
        )  # fmt: skip

    def note(self, teams: Sequence[int], clicks: Sequence[float], who: int, sign: int = 1) -> None:
        """Somebody's page was closed; `who` is any number that is theirs alone. With a `sign` of −1 it is taken out."""
        self.pages += sign
        earned = credit(teams, clicks, len(self.arms))
        total = sum(earned)
        if total == 0.0:
            return
        self.credited += sign
        parts = [each / total for each in earned]
        for arm, (each, part) in enumerate(zip(earned, parts, strict=True)):
            self.credits[arm] += sign * each
            self.shares[arm] += sign * part
        for margins, part in zip(self.margins, parts[1:], strict=True):
            margins.note(who, part - parts[0], sign)

    def found(self) -> list[Margin | None]:
        """Each arm but the first against the first: by how much it wins a page, sure of all of them together."""
        return [margins.found(tests=len(self.margins)) for margins in self.margins]


class Experiments:
    """A model's experiments, the newest last: at most one is running."""

    def __init__(self, kept: Sequence[KeptExperiment] = ()) -> None:
        self.all = [Experiment(each) for each in kept]

    @property
    def running(self) -> Experiment | None:
        """The one that pages are interleaved for."""
        newest = self.all[-1] if self.all else None
        return newest if newest is not None and newest.stopped is None else None

    def start(self, event: Event) -> None:
        """Compare from here on; what ran before has ended."""
        self.stop(event.at)
        self.all = [*self.all[-EARLIER:], Experiment.begun(event)]

    def stop(self, at: int) -> None:
        """Interleave no more pages; those that are still open will count."""
        if self.running is not None:
            self.running.stopped = at

    def note(self, impression: Impression, clicks: Sequence[float], who: int) -> None:
        """A page was closed that was interleaved for one of them."""
        for experiment in self.all:
            if experiment.id == impression.experiment:
                experiment.note(impression.teams, clicks, who)

    def correct(self, impression: Impression, before: Sequence[float], after: Sequence[float], who: int) -> None:
        """A page that was closed earlier has more clicks than were known then: it is put in anew."""
        for experiment in self.all:
            if experiment.id == impression.experiment:
                experiment.note(impression.teams, before, who, -1)
                experiment.note(impression.teams, after, who)

    def view(self) -> Running | None:
        """What ranking must know."""
        now = self.running
        return Running(now.id, now.models, now.share) if now else None


# What is said about them


class Preference(msgspec.Struct):
    """An arm against the first: the mean margin of a credited page, from −1 (always lost) to 1 (always won), with its
    95 % confidence sequence, and how sure one is of a difference; all of it at any time, however often one looks."""

    margin: float
    low: float
    high: float
    sure: float


class Arm(msgspec.Struct):
    """One of the orders: clicks on its documents, its part of a page's credit, and how it does against the first."""

    name: str
    credit: float
    share: float | None
    against_first: Preference | None = None


class ExperimentReport(msgspec.Struct):
    """An experiment and what it has shown so far. `better`: the arm that wins, if one does."""

    id: int
    started: int
    stopped: int | None
    share: float
    pages: int
    credited: int
    arms: list[Arm]
    verdict: str
    better: str | None = None


def report(experiment: Experiment) -> ExperimentReport:
    """What an experiment says, in numbers and in a sentence."""
    found = [None, *experiment.found()]
    arms = [
        Arm(name, earned, part / experiment.credited if experiment.credited else None, _preference(margin))
        for name, earned, part, margin in zip(
            experiment.arms, experiment.credits, experiment.shares, found, strict=True
        )
    ]
    better, verdict = _verdict(experiment, found)
    return ExperimentReport(
        experiment.id, experiment.at, experiment.stopped, experiment.share, experiment.pages, experiment.credited,
        arms, verdict, better,
    )  # fmt: skip


def _preference(margin: Margin | None) -> Preference | None:
    return None if margin is None else Preference(*margin)


def _verdict(experiment: Experiment, found: Sequence[Margin | None]) -> tuple[str | None, str]:
    """The arm that wins, if one does, and the sentence."""
    names, first = experiment.arms, experiment.arms[0]
    yet = " yet" if experiment.stopped is None else ""
    if experiment.pages == 0:
        return None, f"Nothing to say{yet}: no page {'has been' if yet else 'was'} interleaved."
    if experiment.credited == 0 or any(margin is None for margin in found[1:]):
        seen = f"{counted(experiment.pages, 'interleaved page')}, and no click that tells the orders apart"
        return None, f"Nothing to say{yet}: {seen}."
    if (parts := experiment.margins[0].parts) < FEWEST:
        seen = f"clicks that tell the orders apart came from about {parts}"
        return None, f"Not enough people{yet}: {seen}, and it takes some {FEWEST}."
    known = {name: margin for name, margin in zip(names, found, strict=True) if margin is not None}
    best = max(known, key=lambda name: known[name].mean)
    if known[best].low > 0:
        return best, f"{_named(best)} is preferred to {_named(first)}: {_evidence(known[best])}."
    if all(margin.high < 0 for margin in known.values()):
        return first, f"{_named(first)} is preferred to {_named(best)}: {_evidence(known[best], -1)}."
    return None, (
        f"No clear preference{yet} between {_named(best)} and {_named(first)}: {_points(known[best])} on "
        f"{experiment.credited:,} pages that tell them apart."
    )


def _named(arm: str) -> str:
    return {INCOMING: "the incoming order", LEARNED: "the learned order"}.get(arm, arm)


def _evidence(margin: Margin, sign: int = 1) -> str:
    sure = "more than 99.9 %" if margin.sure > 0.999 else f"{math.floor(100 * margin.sure)} %"
    return f"{_points(margin, sign)}, {sure} sure, however often one looked"


def _points(margin: Margin, sign: int = 1) -> str:
    """
    >>> _points(Margin(0.12, -0.02, 0.26, 0.9))
    '+12 points in the share of clicks (−2 to +26)'
    >>> _points(Margin(-0.001, -0.15, 0.14, 0.0))
    '+0 points in the share of clicks (−15 to +14)'
    """
    mean, low, high = (f"{100 * sign * value:+z.0f}".replace("-", "−") for value in margin[:3])
    low, high = (low, high) if sign > 0 else (high, low)
    return f"{mean} points in the share of clicks ({low} to {high})"


def client_number(client: bytes, number: int) -> int:
    """A number that is one client's alone; pages of people who are not known count as each of another's."""
    return int(np.uint64(int.from_bytes(client[:8], "little"))) if client else number
