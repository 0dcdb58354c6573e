"""How far people look: what a model takes it to be, what its randomised swaps say, and the sentence about the two."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.live.looks import BEYOND_RANK, NOT_ENOUGH, Looks
from rankloop.live.settings import ModelSettings

TRUST = "rankloop propensities LOG --trust"
FALSE_ALARM = 0.01
"""How likely a model that is right about examination is told otherwise, over all ranks together."""


class Sentence(NamedTuple):
    """What is to be said; `tone` is good, open or bad."""

    tone: str
    text: str


def believed(settings: ModelSettings, model: Any) -> NDArray[np.float64] | None:
    """Examination as a model takes it to be, relative to the first rank."""
    curve = settings.learner.examination_of(model, settings.page_size)
    return None if curve is None else np.asarray(curve / curve[0])


def sentence(looks: Looks | None, belief: NDArray[np.float64] | None) -> Sentence | None:
    """Whether people look as the model takes them to; None where nobody counts."""
    if looks is None:
        return None
    if looks.depend_on_more_than_rank:
        return Sentence("bad", BEYOND_RANK)
    ranks = looks.effect.clicks.shape[1] - 1
    band = looks.curve(1 - FALSE_ALARM / ranks)
    known = looks.known
    if not known.any():
        return Sentence("open", NOT_ENOUGH)
    if belief is None:
        return Sentence("good", "This method assumes nothing about how far people look.")
    assumed = belief[: ranks + 1]
    further, less = known & (band.low > assumed), known & (band.high < assumed)
    if further.any() and less.any():
        text = "People look more often than this model assumes at some ranks, and less often at others"
        return Sentence("bad", f"{text} (more: {_listed(further)}; less: {_listed(less)}).")
    if further.any():
        return Sentence("bad", f"People look further down than this model assumes (rank {_listed(further)}).")
    if less.any():
        return Sentence("bad", f"People look less far down than this model assumes (rank {_listed(less)}).")
    return Sentence(
        "good", f"How far people look fits what this model assumes, as far as can be told: to rank {looks.known_to}."
    )


def trust_hint(looks: Looks | None) -> str | None:
    """The command that tells trust in the rank from looks. Sums of swaps cannot: they know clicks, and no prediction
    of them. None where it would say nothing either."""
    if looks is None or looks.depend_on_more_than_rank or not looks.known.any():
        return None
    return TRUST


def _listed(ranks: NDArray[np.bool_]) -> str:
    """Ranks, from 1, neighbours together.

    >>> _listed(np.array([False, True, True, True, False, True]))
    '2–4, 6'
    """
    places = [place + 1 for place in np.flatnonzero(ranks).tolist()]
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
