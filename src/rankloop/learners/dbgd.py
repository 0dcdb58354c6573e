"""DBGD: dueling bandit gradient descent (Yue and Joachims, 2009), the classic.

One candidate w + δu is compared with the current ranker on an interleaved page; if it wins, w ← w + αu; a tie changes
nothing. Probabilistic interleaving is multileaving with one rival (the ROLTR authors' code uses it); team draft is the
classic.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import dot
from rankloop.learners.contract import Cost, Learner, Work, compiled_settings, learn, show
from rankloop.learners.directions import draw_direction
from rankloop.learners.multileaving import (
    drafted_log_probability,
    multileave,
    multileaved_log_probability,
    order_keys,
    team_draft,
)
from rankloop.learners.settings import Delta, Initial, LearningRate
from rankloop.rankers.linear import LINEAR, LinearWeights, take_step
from rankloop.settings import choice

INTERLEAVINGS = ("probabilistic", "team-draft")


class DBGD(Learner, frozen=True):
    """Dueling bandit gradient descent.

    Attributes:
        interleaving: `probabilistic` or `team-draft`.
        delta: how far from the current weights the candidate lies.
        learning_rate: α.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    needs_own_pages: ClassVar[bool] = True
    graded: ClassVar[bool] = False
    cost: ClassVar[Cost] = Cost(6, 6)

    interleaving: Annotated[str, choice(INTERLEAVINGS)] = "probabilistic"
    delta: Delta = 1.0
    learning_rate: LearningRate = 0.01
    initial: Initial = "direction"

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "DBGDModel":
        """The model before the first impression."""
        return DBGDModel(
            ranker=LINEAR.parameters(self.initial, features, seed, weights),
            settings=DBGDSettings._of(self),
            team_draft=self.interleaving == "team-draft",
        )

    def work(self, features: int, page_size: int, candidates: int) -> "DBGDWork":
        """Scratch for queries of up to so many candidates."""
        return DBGDWork.of(features, page_size, candidates)

    def note_width(self) -> int:
        """For each rank, who may have placed the document: the current ranker or the candidate."""
        return 2

    def page_log_probability(self, work: "DBGDWork", scores: NDArray[np.float32], page: NDArray[np.int64]) -> float:
        """log π(page), given the two rankings that filled it, from the scratch of the call that did."""
        documents = len(scores)
        if self.interleaving == "team-draft":
            return drafted_log_probability(work.keys[: 2 * documents].reshape(2, documents), page)
        return multileaved_log_probability(work.ranks[: len(page)], documents)


DBGDSettings = compiled_settings(DBGD)


class DBGDModel(NamedTuple):
    """The current ranker and the settings of its comparison with a candidate."""

    ranker: LinearWeights
    settings: Any
    team_draft: bool


class DBGDWork(NamedTuple):
    """The common scratch and what an interleaved comparison needs; number 0 is the current ranker, 1 the candidate."""

    base: Work
    scores: NDArray[np.float32]
    keys: NDArray[np.int64]
    select: NDArray[np.int64]
    ranks: NDArray[np.int64]
    removed: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "DBGDWork":
        """Scratch for so many features, ranks and candidate documents."""
        return cls(
            base=Work.of(features, page_size, candidates),
            scores=np.zeros((candidates, 2), np.float32),
            keys=np.zeros(2 * candidates, np.int64),
            select=np.zeros(candidates, np.int64),
            ranks=np.zeros((page_size, 2), np.int64),
            removed=np.zeros(2),
        )


@implements(show, DBGDModel)
@kernel
def show_dbgd(model, work, X, seed, impression, page, notes):
    """Let the current ranker and one candidate fill the page together."""
    n = X.shape[0]
    candidate = work.base.direction
    draw_direction(seed, impression, model.settings.delta, candidate)
    for j in range(candidate.size):
        candidate[j] += model.ranker.rounded[j]
    scores, keys = work.scores[:n], work.keys[: 2 * n].reshape((2, n))
    for i in range(n):
        scores[i, 0] = work.base.scores[i]
        scores[i, 1] = dot(X[i], candidate)
    order_keys(scores, seed, impression, keys)
    if model.team_draft:
        team_draft(keys, seed, impression, page, notes)
    else:
        multileave(keys, seed, impression, work.ranks, work.removed, work.select[:n], page, notes)


@implements(learn, DBGDModel)
@kernel
def learn_dbgd(model, work, X, seed, impression, page, notes, clicks, measure):
    """If the candidate got more credit than the current ranker, step towards it."""
    lead = 0.0
    for t in range(page.size):
        if clicks[t] >= 0.5:
            lead += np.float64(notes[t, 1]) - notes[t, 0]
    if lead > 0.0:
        draw_direction(seed, impression, 1.0, work.base.direction)
        take_step(model.ranker, work.base.direction, model.settings.learning_rate)
    return np.nan
