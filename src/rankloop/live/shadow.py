"""What a challenger would have earned on the pages of the model that it challenges, added up as these pages close.

Nobody sees a challenger's pages. But a page that was drawn with known probabilities says something about what another
policy would have shown: a click on document d counts for w = E_new[θ of d] / E_drawn[θ of d], how much more likely the
challenger would have let d be looked at (the examination model of `rankloop.offpolicy`). The page's difference is

    Σ_k (c_k − b θ_k) · (min(w_k, 10) − 1)

in clicks: what it would have earned less what was earned. b is the rate of clicks per look on earlier pages. Without
the limit on weights Σ θ_k (w_k − 1) is 0 on average, so b changes nothing but the noise; with it, what is cut off
counts as an average result instead of as none. The challenger is asked before it learns from the page: no page is
judged by a state that has seen its clicks.
"""

import math
from collections import Counter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.display import percent
from rankloop.errors import DataError
from rankloop.live.events import Group, Impression
from rankloop.live.settings import ModelSettings
from rankloop.offpolicy import Greedy, PlackettLuce, Policy, weigh
from rankloop.propensities import PowerLaw, Propensities
from rankloop.propensities.curves import BELIEF
from rankloop.statistics.intervals import anytime_confidence, anytime_half_width
from rankloop.statistics.sequential import FEWEST, Margins, limited, variance_between

CLIP = 10.0
"""The largest weight that counts."""
LEAST_WORTH = 100.0
"""Pages' worth of evidence before anything is said."""
LEAST_TOLD = 0.5
"""The share of what a challenger would show, by looks, that logged pages must tell about."""
SURE = 0.95
IMPOSSIBLE = "all but impossible under its own scores"
DRAWN_BY = "drawn by"


def logged_policy(settings: ModelSettings) -> Policy:
    """How a model with these settings drew pages, given the scores in the log."""
    spread = settings.learner.policy_temperature
    return Greedy() if spread is None else PlackettLuce(spread)


def has_known_probabilities(settings: ModelSettings) -> bool:
    """Whether a model with these settings draws its pages rank by rank, with probabilities that can be computed."""
    return isinstance(logged_policy(settings), PlackettLuce)


def policy_of(settings: ModelSettings) -> Policy:
    """How a model with these settings would draw pages, given its own scores; those that compare rankers or draw their
    weights are taken at their best order."""
    return Greedy() if settings.learner.draws_weights else logged_policy(settings)


def earned_in(settings: ModelSettings) -> str:
    """What the pages of a model with these settings earn, in a word."""
    return "value" if settings.has_actions else "clicks"


def examination_of(settings: ModelSettings, model: Any, eta: float | None = None) -> NDArray[np.float64]:
    """The probability that each rank is examined: (1/k)^η, or as a model's state has learned or its method assumes."""
    if eta is not None:
        return PowerLaw(eta).at(settings.page_size)
    learned: NDArray[np.float64] | None = getattr(model, "log_examination", None)
    if learned is not None:
        relative: NDArray[np.float64] = np.exp(learned - learned.max())
        return relative
    curve: Propensities = getattr(settings.learner, "propensities", BELIEF)
    return curve.at(settings.page_size)


class KeptShadow(msgspec.Struct):
    """The sums, as states keep them."""

    pages: int
    clicks: float
    looks: float
    weights: float
    squares: float
    differences: bytes
    left_out: dict[str, int]


class OffPolicy(msgspec.Struct):
    """What the logged pages say of a challenger: clicks per page beside the model that drew them, estimated.

    Attributes:
        pages: how many were weighed.
        worth: how many pages of its own would say as much.
        told: the share of what it would show, by looks, that the logged pages tell about; the rest counts as average.
        difference: clicks per page more than the model got; None if that cannot be said.
        low, high: its 95 % confidence sequence: it holds at all times, however often one looks.
        sure: of a difference, at all times.
        left_out: pages that say nothing, by why.
        sentence: in words.
    """

    pages: int
    worth: float
    told: float | None
    difference: float | None
    low: float | None
    high: float | None
    sure: float | None
    left_out: dict[str, int]
    sentence: str


class Shadow:
    """Sums over the pages that a challenger was asked about."""

    def __init__(self, kept: KeptShadow | None = None) -> None:
        self.pages = kept.pages if kept else 0
        self.clicks = kept.clicks if kept else 0.0
        self.looks = kept.looks if kept else 0.0
        self.weights = kept.weights if kept else 0.0
        self.squares = kept.squares if kept else 0.0
        self.differences = Margins(kept.differences if kept else b"")
        self.left_out: Counter[str] = Counter(kept.left_out if kept else {})

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        return {
            "pages": self.pages,
            "clicks": self.clicks,
            "looks": self.looks,
            "weights": self.weights,
            "squares": self.squares,
            "differences": self.differences.sums.tobytes(),
            "left_out": dict(self.left_out),
        }

    def note(
        self,
        settings: ModelSettings,
        model: Any,
        scores: NDArray[np.float32],
        impression: Impression,
        drawn_by: ModelSettings,
        clicks: list[float],
        who: int,
    ) -> None:
        """A page of somebody (`who` is any number that is theirs alone), with the challenger's scores of its
        candidates."""
        if why := says_nothing(impression, drawn_by):
            self.left_out[why] += 1
            return
        ranks, free, places = impression.drawn()
        theta = examination_of(settings, model)[ranks]
        drawn = impression.score_values()[free]
        try:
            weights = weigh(
                drawn, scores[free], places, examination=theta, logged=logged_policy(drawn_by), new=policy_of(settings)
            ).examination
        except DataError:
            self.left_out[IMPOSSIBLE] += 1
            return
        self.add(weights, theta, np.array(clicks)[ranks], who)

    def add(
        self, weights: NDArray[np.float64], theta: NDArray[np.float64], clicks: NDArray[np.float64], who: int
    ) -> None:
        """A page that was weighed, rank by rank: how much more likely each document would have been looked at."""
        weights = np.minimum(weights, CLIP)
        rate = self.clicks / self.looks if self.looks > 0 else 0.0
        self.differences.note(who, float((clicks - rate * theta) @ (weights - 1.0)))
        self.pages += 1
        self.clicks += float(clicks.sum())
        self.looks += float(theta.sum())
        self.weights += float(theta @ weights)
        self.squares += float(theta @ (weights * weights))

    @property
    def worth(self) -> float:
        """How many pages of the challenger's own would say as much: (Σw)² / Σw²."""
        return self.pages * self.weights**2 / (self.looks * self.squares) if self.squares > 0 else 0.0

    def found(self, unit: str = "clicks") -> OffPolicy:
        """What can be said by now; `unit` is what pages earn."""
        told = min(1.0, self.weights / self.looks) if self.looks > 0 else None
        why = self._too_little(told)
        if why is not None:
            return OffPolicy(self.pages, self.worth, told, None, None, None, None, dict(self.left_out), why)
        mean, error, pages = self._estimate()
        half = anytime_half_width(error, pages, SURE)
        sure = anytime_confidence(abs(mean) / error, pages) if error > 0 else 0.0
        said = _said(mean, mean - half, mean + half, told or 0.0, self.pages, unit)
        return OffPolicy(
            self.pages, self.worth, told, mean, mean - half, mean + half, sure, dict(self.left_out), said
        )  # fmt: skip

    def _too_little(self, told: float | None) -> str | None:
        if told is None:
            seen = sum(self.left_out.values())
            known = f": of {seen:,} none was drawn with known probabilities" if seen else ""
            return f"No logged page says anything of it yet{known}."
        if self.worth < LEAST_WORTH:
            return f"Logged pages are worth {self.worth:,.0f} of its own so far, and it takes {LEAST_WORTH:,.0f}."
        if (parts := self.differences.parts) < FEWEST:
            return f"Too few people have seen logged pages: about {parts}, and it takes some {FEWEST}."
        if told < LEAST_TOLD:
            return f"Only {percent(told)} of what it would show was shown often enough to tell."
        if self.clicks == 0:
            return f"Nobody clicked on {self.pages:,} logged pages, so they cannot tell."
        return None

    def _estimate(self) -> tuple[float, float, float]:
        """(mean difference, its standard error, how many pages that were each of another's would say as much): pages
        of one person are not independent, and nobody counts for much more than others."""
        pages, sums, squares = self.differences.sums
        counted = limited(pages)
        share = counted / np.maximum(pages, 1.0)
        total, sums = float(counted.sum()), sums * share
        single = float(squares @ share) / total**2
        variance = max(single, variance_between(sums, counted))
        effective = total * single / variance if variance > 0 else total
        return float(sums.sum()) / total, math.sqrt(variance), max(effective, 1.0)


def says_nothing(impression: Impression, drawn_by: ModelSettings) -> str | None:
    """Why a page says nothing of other policies, if so."""
    if impression.group != Group.LEARNED:
        return f"{Group(impression.group).name.lower()} group"
    if impression.greedy:
        return "shown without exploration"
    if not has_known_probabilities(drawn_by):
        return f"{DRAWN_BY} {drawn_by.learner.name}, whose pages have no probability for each rank"
    return "pinned" if len(impression.pinned) == len(impression.page) else None


def _said(mean: float, low: float, high: float, told: float, pages: int, unit: str) -> str:
    interval = f"{_signed(mean)} {unit} a page ({_signed(low)} to {_signed(high)})"
    rest = "" if told > 0.95 else f"; {percent(1 - told)} of what it would show was never shown, and counts as average"
    if low <= 0 <= high:
        return f"Its pages would have earned about as much, as far as {pages:,} logged pages tell: {interval}{rest}."
    more = "more" if mean > 0 else "less"
    return f"Its pages would have earned {more}, estimated on {pages:,} logged pages: {interval}{rest}."


def _signed(value: float) -> str:
    return f"{value:+z.3f}".replace("-", "−")
