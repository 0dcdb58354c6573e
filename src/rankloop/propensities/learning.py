"""Examination that is learned with the ranker: a curve to begin with, and the swaps of the learner's own pages.

The prior counts as `weight` pages: as if so many pages like those seen so far had been clicked in the prior's ratio.
A learned curve is part of the model, changed by the pages that it learns from, and used from the next one on.
"""

from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import implements, kernel
from rankloop.propensities.curves import BELIEF, Propensities, assumed
from rankloop.propensities.swaps import count_swaps, empty_moments, note_swaps
from rankloop.settings import Rule, check_settings, number

LEAST = 1e-3
"""Nobody is taken to look at a rank less often than this: rewards divide by it."""


class Learned(msgspec.Struct, frozen=True, tag="learned", tag_field="kind", forbid_unknown_fields=True):
    """A prior curve, and how many pages it is worth.

    Attributes:
        prior: what is assumed before the first click.
        weight: how many pages the prior counts for.
        monotone: no rank is looked at more often than the one above it.

    >>> Learned().at(3)
    array([1.        , 0.5       , 0.33333333])
    """

    prior: Annotated[Propensities, Rule(assumed)] = BELIEF
    weight: Annotated[float, number(above=0)] = 100.0
    monotone: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "learned")

    def at(self, ranks: int) -> NDArray[np.float64]:
        """The prior's probabilities of ranks 1 … `ranks`: what is assumed before the first page."""
        return np.clip(self.prior.at(ranks), LEAST, 1.0)


def learned(prior: Propensities = BELIEF, weight: float = 100.0, *, monotone: bool = False) -> Learned:
    """Examination learned from the learner's own clicks, beginning with a prior curve worth `weight` pages."""
    return Learned(prior, weight, monotone)


def assumed_or_learned(owner: str, name: str, curve: object) -> "Propensities | Learned":
    """The curve, or how it is learned; refuse anything else."""
    return curve if isinstance(curve, Learned) else assumed(owner, name, curve, ", or .learned()")


class AssumedExamination(NamedTuple):
    """Nothing is learned: the rewards stay as they are."""

    clip: float


class LearnedExamination(NamedTuple):
    """Sums of swaps, today's curve, and how a reward follows from it: a click is worth `per_look`/θ − `offset`."""

    moments: NDArray[np.float64]
    curve: NDArray[np.float64]
    prior_ratio: NDArray[np.float64]
    per_look: NDArray[np.float64]
    offset: NDArray[np.float64]
    weight: float
    monotone: bool
    clip: float

    @classmethod
    def of(cls, settings: Learned, page_size: int, clip: float, at_one: Any, at_half: Any) -> "LearnedExamination":
        """Before the first page. `at_one`, `at_half`: what a click is worth where everybody looks, or half do."""
        curve = settings.at(page_size)
        per_look = at_half - at_one
        return cls(
            moments=empty_moments(page_size),
            curve=curve,
            prior_ratio=curve[1:] / curve[:-1],
            per_look=per_look,
            offset=per_look - at_one,
            weight=settings.weight,
            monotone=settings.monotone,
            clip=clip,
        )


def note_examination(examination: Any, z: Any, page: Any, scratch: Any, remaining: Any, notes: Any) -> None:
    """Remember what learning examination from this page will need; each kind of examination implements it."""
    raise TypeError(f"no compiled note_examination is registered for {type(examination).__name__}")


def price_clicks(examination: Any, ranks: Any, click_reward: Any) -> None:
    """Fill what a click is worth at these ranks today."""
    raise TypeError(f"no compiled price_clicks is registered for {type(examination).__name__}")


def learn_examination(examination: Any, ranks: Any, notes: Any, clicks: Any) -> None:
    """Let a page's clicks into the curve."""
    raise TypeError(f"no compiled learn_examination is registered for {type(examination).__name__}")


@implements(note_examination, AssumedExamination)
@kernel
def note_nothing(examination, z, page, scratch, remaining, notes):
    """An assumed curve needs no notes."""


@implements(price_clicks, AssumedExamination)
@kernel
def keep_prices(examination, ranks, click_reward):
    """An assumed curve never changes."""


@implements(learn_examination, AssumedExamination)
@kernel
def learn_no_examination(examination, ranks, notes, clicks):
    """An assumed curve never changes."""


@implements(note_examination, LearnedExamination)
@kernel
def note_page_swaps(examination, z, page, scratch, remaining, notes):
    """How likely each pair of neighbours was to stand the other way round."""
    note_swaps(z, page, scratch, remaining, notes)


@implements(price_clicks, LearnedExamination)
@kernel
def price_by_curve(examination, ranks, click_reward):
    """`per_look`/θ − `offset`, with today's θ."""
    for t in range(click_reward.size):
        looked = max(examination.curve[ranks[t]], examination.clip)
        click_reward[t] = examination.per_look[ranks[t]] / looked - examination.offset[ranks[t]]


@implements(learn_examination, LearnedExamination)
@kernel
def learn_curve(examination, ranks, notes, clicks):
    """Count the swaps, and draw the curve anew."""
    count_swaps(examination.moments, ranks, notes, clicks)
    shrunk_curve(
        examination.moments, examination.prior_ratio, examination.weight, examination.monotone, examination.curve
    )


@kernel
def shrunk_curve(moments, prior_ratio, weight, monotone, curve):
    """Ratios of neighbours, each with `weight` more pages whose clicks are in the prior's ratio, chained from the top.

    With D and N clicks above and below on n pages, a page of the prior has (D + N)/n of them, in the ratio 1 : r.
    """
    pairs = prior_ratio.size
    pages = moments[0, 0]
    for k in range(pairs):
        above, below, r = moments[0, 1 + k], moments[0, 1 + pairs + k], prior_ratio[k]
        ratio = r
        if above + below > 0.0:
            each = weight * (above + below) / (pages * (1.0 + r))
            ratio = (below + each * r) / (above + each)
        if monotone and ratio > 1.0:
            ratio = 1.0
        curve[k + 1] = min(1.0, max(LEAST, curve[k] * ratio))
