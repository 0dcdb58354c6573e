"""PMGD: probabilistic multileaving gradient descent (Oosterhuis et al., 2016).

Candidates w + δu, u uniform on the unit sphere, and the current ranker fill the page together
(`rankloop.learners.multileaving`). Rankers with strictly more credit than the current one win, and the weights move
by α times the mean of the winners' u; no winner, no change.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.matrix import multiply_into, padded
from rankloop.learners.contract import Cost, Learner, Work, compiled_settings, learn, show
from rankloop.learners.directions import draw_directions, mean_of_winners, require_few_rivals
from rankloop.learners.multileaving import multileave, multileaved_log_probability, order_keys
from rankloop.learners.settings import Delta, Initial, LearningRate, Rivals
from rankloop.rankers.linear import LINEAR, LinearWeights, take_step


class PMGD(Learner, frozen=True):
    """Probabilistic multileaving gradient descent.

    Attributes:
        candidates: how many rankers are compared with the current one.
        delta: how far from the current weights they lie.
        learning_rate: α.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    needs_own_pages: ClassVar[bool] = True
    graded: ClassVar[bool] = False
    cost: ClassVar[Cost] = Cost(20, 45)

    candidates: Rivals = 49
    delta: Delta = 1.0
    learning_rate: LearningRate = 0.01
    initial: Initial = "direction"

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "PMGDModel":
        """The model before the first impression."""
        return PMGDModel(
            ranker=LINEAR.parameters(self.initial, features, seed, weights), settings=PMGDSettings._of(self)
        )

    def work(self, features: int, page_size: int, candidates: int) -> "PMGDWork":
        """Scratch for queries of up to so many candidates."""
        return PMGDWork.of(features, page_size, candidates, rivals=self.candidates)

    def note_width(self) -> int:
        """The posterior over the current ranker and its rivals, for each rank."""
        return self.candidates + 1

    def page_log_probability(self, work: "PMGDWork", scores: NDArray[np.float32], page: NDArray[np.int64]) -> float:
        """log π(page), given the rankings that filled it, from the scratch of the call that did."""
        return multileaved_log_probability(work.ranks[: len(page)], len(scores))

    def require_affordable(self, features: int, page_size: int) -> None:
        """Every rival orders every candidate before a page can be shown."""
        super().require_affordable(features, page_size)
        require_few_rivals(self.name, self.candidates, 1_000, features, page_size)


PMGDSettings = compiled_settings(PMGD)


class PMGDModel(NamedTuple):
    """The current ranker and the settings of its comparison with rivals."""

    ranker: LinearWeights
    settings: Any


class PMGDWork(NamedTuple):
    """The common scratch and what a comparison with rivals needs; number 0 is always the current ranker."""

    base: Work
    rivals: NDArray[np.float32]
    scales: NDArray[np.float32]
    scores: NDArray[np.float32]
    keys: NDArray[np.int64]
    select: NDArray[np.int64]
    ranks: NDArray[np.int64]
    removed: NDArray[np.float64]
    wins: NDArray[np.float32]
    credits: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int, rivals: int) -> "PMGDWork":
        """Scratch for so many features, ranks, candidate documents and rival rankers."""
        rankers = rivals + 1
        width = padded(rankers)
        return cls(
            base=Work.of(features, page_size, candidates),
            rivals=np.zeros((features, width), np.float32),
            scales=np.zeros(width, np.float32),
            scores=np.zeros((candidates, width), np.float32),
            keys=np.zeros(rankers * candidates, np.int64),
            select=np.zeros(candidates, np.int64),
            ranks=np.zeros((page_size, rankers), np.int64),
            removed=np.zeros(rankers),
            wins=np.zeros(width, np.float32),
            credits=np.zeros(rankers),
        )


@implements(show, PMGDModel)
@kernel
def show_pmgd(model, work, X, seed, impression, page, notes):
    """Let the current ranker and its rivals fill the page together."""
    n, rankers = X.shape[0], notes.shape[1]
    draw_directions(seed, impression, model.settings.delta, work.scales, work.rivals)
    scores, keys = work.scores[:n], work.keys[: rankers * n].reshape((rankers, n))
    for i in range(n):
        scores[i] = work.base.scores[i]
    multiply_into(X, work.rivals, scores)
    order_keys(scores, seed, impression, keys)
    multileave(keys, seed, impression, work.ranks, work.removed, work.select[:n], page, notes)


@implements(learn, PMGDModel)
@kernel
def learn_pmgd(model, work, X, seed, impression, page, notes, clicks, measure):
    """Move towards the rivals with strictly more credit than the current ranker."""
    credits = work.credits
    credits[:] = 0.0
    for t in range(page.size):
        if clicks[t] >= 0.5:
            for c in range(credits.size):
                credits[c] += notes[t, c]
    anybody = False
    for c in range(credits.size):
        won = credits[c] > credits[0]
        work.wins[c] = won
        anybody |= won
    if anybody:
        draw_directions(seed, impression, 1.0, work.scales, work.rivals)
        mean_of_winners(work.rivals, work.wins, work.base.direction)
        take_step(model.ranker, work.base.direction, model.settings.learning_rate)
    return np.nan
