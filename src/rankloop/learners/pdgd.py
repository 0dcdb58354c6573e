"""PDGD: pairwise differentiable gradient descent (Oosterhuis and de Rijke, 2018).

The page comes from the same Plackett–Luce policy. Every clicked document i is preferred to every unclicked document j
among the ranks that were surely looked at, 1 … last click + 1:

    g = Σ ρ_ij σ(1 − σ)(x_i − x_j),   σ = sigmoid(s_i − s_j),   ρ_ij = P(R*) / (P(R) + P(R*))

R* is the page with i and j swapped. ρ makes pages that prefer one of the two as likely to teach as those that prefer
the other, so where all documents attract equally the expected gradient is 0.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import exp
from rankloop.learners.contract import Cost, Learner, Work, compiled_settings, learn, show
from rankloop.learners.reinforce import decayed, in_blocks, scale_scores, show_plackett_luce
from rankloop.learners.settings import Decay, Floor, Initial, LearningRate, Ranker, Temperature
from rankloop.policies.plackett_luce import (
    checked_clicks,
    checked_page,
    checked_scores,
    log_remaining,
    remaining_without,
    swap_weight,
)
from rankloop.rankers.contract import ascend
from rankloop.rankers.linear import LINEAR

AUTHORS_DECAY = 0.9999977


class PDGD(Learner, frozen=True):
    """Pairwise differentiable gradient descent.

    Attributes:
        learning_rate: α.
        temperature: T; the method is that of the scores s/T.
        decay: α is multiplied by this after each update. The PDGD author's framework uses 0.9999977
            (`rankloop.learners.pdgd.AUTHORS_DECAY`); the paper's comparison uses none.
        floor: α does not fall below this.
        initial: `zeros`, `direction` or `truncated-normal`.
        ranker: what turns features into scores.

    >>> PDGD().score_gradient([0.0, 0.0, 0.0], page=[2, 0], clicks=[1, 0])
    array([-0.125,  0.   ,  0.125])
    """

    graded: ClassVar[bool] = False
    cost: ClassVar[Cost] = Cost(3, 4)

    learning_rate: LearningRate = 0.1
    temperature: Temperature = 1.0
    decay: Decay = 1.0
    floor: Floor = 0.0
    initial: Initial = "zeros"
    ranker: Ranker = LINEAR

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "PDGDModel":
        """The model before the first impression."""
        return PDGDModel(
            ranker=self.ranker.parameters(self.initial, features, seed, weights),
            rate=np.array([self.learning_rate]),
            settings=PDGDSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "PDGDWork":
        """Scratch for queries of up to so many candidates."""
        return PDGDWork.of(features, page_size, candidates)

    @property
    def policy_temperature(self) -> float:
        """T of the policy; the paper has none, which is 1."""
        return self.temperature

    def score_gradient(self, scores: ArrayLike, page: ArrayLike, clicks: ArrayLike) -> NDArray[np.float64]:
        """d objective/ds: one value per candidate, 0 for those in no pair."""
        z = checked_scores(scores) / self.temperature
        shown = checked_page(page, len(z))
        clicked = checked_clicks(clicks, len(shown))
        work = PDGDWork.of(1, len(shown), len(z))
        pair_gradient(z, shown, clicked, work)
        return work.base.gradient[: len(z)] / self.temperature


PDGDSettings = compiled_settings(PDGD)


class PDGDModel(NamedTuple):
    """Parameters and running state, and the settings that the kernels read."""

    ranker: Any
    rate: NDArray[np.float64]
    settings: Any


class PDGDWork(NamedTuple):
    """The common scratch and, per rank: share of the remaining mass, and what the step keeps of it."""

    base: Work
    own: NDArray[np.float64]
    kept: NDArray[np.float64]
    rest: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "PDGDWork":
        """Scratch for so many features, ranks and candidates."""
        base = Work.of(features, page_size, candidates)
        return cls(base, *(np.zeros(page_size) for _ in range(3)))


@implements(show, PDGDModel)
@kernel
def show_pdgd(model, work, X, seed, impression, page, notes):
    """Draw the page from the policy."""
    show_plackett_luce(work.base, model.settings.temperature, X.shape[0], seed, impression, page)


@implements(learn, PDGDModel)
@kernel
def learn_pdgd(model, work, X, seed, impression, page, notes, clicks, measure):
    """One step along the weighted preferences; a page without any changes nothing."""
    n, temperature = X.shape[0], model.settings.temperature
    z = scale_scores(work.base, n, temperature)
    if pair_gradient(z, page, clicks, work):
        ascend(model.ranker, X, work.base.gradient, model.rate[0] / temperature, work.base.slope)
        model.rate[0] = decayed(model.rate[0], model.settings.decay, model.settings.floor)
    return np.nan


@kernel
def pair_gradient(z, page, clicks, work):
    """Fill `work.base.gradient`; True if the page held at least one preference. A click counts from 0.5 up."""
    gradient = work.base.gradient[: in_blocks(z.size)]
    seen = last_click(clicks) + 2
    if seen > page.size:
        seen = page.size
    if seen < 2 or not has_preference(clicks, seen):
        gradient[:] = 0.0
        return False
    remaining = work.base.remaining[: page.size + 1]
    log_remaining(z, page, gradient, remaining)
    gradient[:] = 0.0
    for t in range(seen):
        work.own[t] = exp(z[page[t]] - remaining[t])
        work.kept[t] = exp(remaining[t + 1] - remaining[t])
    for lower in range(1, seen):
        remaining_without(work.own, work.kept, lower, work.rest)
        for upper in range(lower):
            if (clicks[upper] >= 0.5) != (clicks[lower] >= 0.5):
                weight = swap_weight(z, page, remaining, work.rest, upper, lower)
                s = z[page[upper]] - z[page[lower]]
                e = exp(-abs(s))
                slope = weight * e / ((1.0 + e) * (1.0 + e))
                sign = 1.0 if clicks[upper] >= 0.5 else -1.0
                gradient[page[upper]] += sign * slope
                gradient[page[lower]] -= sign * slope
    return True


@kernel
def last_click(clicks):
    """The index of the last click, −2 where there is none."""
    for k in range(clicks.size - 1, -1, -1):
        if clicks[k] >= 0.5:
            return k
    return -2


@kernel
def has_preference(clicks, seen):
    """Whether the first `seen` ranks hold both a clicked and an unclicked document."""
    clicked = 0
    for k in range(seen):
        clicked += clicks[k] >= 0.5
    return 0 < clicked < seen
