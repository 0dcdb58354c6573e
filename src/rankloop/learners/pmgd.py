"""PMGD: probabilistic multileaving gradient descent (Oosterhuis et al., 2016), and DBGD's engine.

Candidates w + δu, u uniform on the unit sphere, and the current ranker fill the page together
(`rankloop.learners.multileaving`). Rankers with strictly more credit than the current one win, and the weights move by α
times the mean of the winners' u; no winner, no change.
"""

from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.learners.contract import Work, learn, show
from rankloop.learners.directions import draw_directions, mean_of_winners
from rankloop.learners.multileaving import multileave, order_keys, team_draft
from rankloop.rankers import Linear, starting_weights
from rankloop.rankers.linear import INITIALS, score_many, take_step
from rankloop.settings import require_choice, require_number, require_whole_number


class PMGD(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="PMGD",
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Probabilistic multileaving gradient descent.

    Attributes:
        candidates: how many rankers are compared with the current one.
        delta: how far from the current weights they lie.
        learning_rate: α.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    name: ClassVar[str] = "PMGD"
    learns_from: ClassVar[str] = "clicks"
    ranks_by_grades: ClassVar[bool] = False

    candidates: int = 49
    delta: float = 1.0
    learning_rate: float = 0.01
    initial: str = "direction"

    def __post_init__(self) -> None:
        require_choice("PMGD", "initial", self.initial, INITIALS)
        require_whole_number("PMGD", "candidates", self.candidates, at_least=1)
        require_number("PMGD", "delta", self.delta, above=0)
        require_number("PMGD", "learning_rate", self.learning_rate, above=0)

    def model(
        self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None
    ) -> "DuelModel":
        """The model before the first impression."""
        return DuelModel(
            ranker=Linear.of(starting_weights(self.initial, features, seed, weights)),
            delta=float(self.delta),
            learning_rate=float(self.learning_rate),
            team_draft=False,
        )

    def work(self, features: int, page_size: int, candidates: int) -> "DuelWork":
        """Scratch for queries of up to so many candidates."""
        return DuelWork.of(features, page_size, candidates, rivals=self.candidates)

    def note_width(self) -> int:
        """The posterior over the current ranker and its rivals, for each rank."""
        return self.candidates + 1


class DuelModel(NamedTuple):
    """A ranker and the settings of its comparison with rivals."""

    ranker: Linear
    delta: float
    learning_rate: float
    team_draft: bool


class DuelWork(NamedTuple):
    """The common scratch and what a comparison with rivals needs; column 0 is always the current ranker."""

    base: Work
    rivals: NDArray[np.float32]
    norms: NDArray[np.float64]
    all_scores: NDArray[np.float32]
    keys: NDArray[np.int64]
    column: NDArray[np.int64]
    ranks: NDArray[np.float64]
    removed: NDArray[np.float64]
    credits: NDArray[np.float64]
    winners: NDArray[np.bool_]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int, rivals: int) -> "DuelWork":
        """Scratch for so many features, ranks, candidate documents and rival rankers."""
        return cls(
            base=Work.of(features, page_size, candidates),
            rivals=np.zeros((features, rivals + 1), np.float32),
            norms=np.zeros(rivals + 1),
            all_scores=np.zeros((candidates, rivals + 1), np.float32),
            keys=np.zeros((candidates, rivals + 1), np.int64),
            column=np.zeros(candidates, np.int64),
            ranks=np.zeros((page_size, rivals + 1)),
            removed=np.zeros(rivals + 1),
            credits=np.zeros(rivals + 1),
            winners=np.zeros(rivals + 1, np.bool_),
        )


@kernel
def draw_rivals(model, work, seed, impression):
    """δu for each rival; the current ranker's own column is 0."""
    draw_directions(seed, impression, model.delta, work.norms, work.rivals)
    for j in range(work.rivals.shape[0]):
        work.rivals[j, 0] = 0.0


@implements(show, DuelModel)
@kernel
def show_duel(model, work, X, seed, impression, page, notes):
    """Let the current ranker and its rivals fill the page together."""
    n = X.shape[0]
    draw_rivals(model, work, seed, impression)
    scores, keys = work.all_scores[:n], work.keys[:n]
    for i in range(n):
        scores[i] = work.base.scores[i]
    score_many(X, work.rivals, scores)
    order_keys(scores, seed, impression, keys)
    if model.team_draft:
        team_draft(keys, seed, impression, page, notes)
    else:
        column = work.column[:n]
        multileave(keys, seed, impression, work.ranks, work.removed, column, page, notes)


@implements(learn, DuelModel)
@kernel
def learn_duel(model, work, X, seed, impression, page, notes, clicks, measure):
    """Move towards the rivals with strictly more credit than the current ranker."""
    credits = work.credits
    credits[:] = 0.0
    clicked = False
    for t in range(page.size):
        if clicks[t] >= 0.5:
            clicked = True
            for c in range(credits.size):
                credits[c] += notes[t, c]
    if not clicked:
        return np.nan
    for c in range(credits.size):
        work.winners[c] = credits[c] > credits[0]
    draw_rivals(model, work, seed, impression)
    if mean_of_winners(work.rivals, work.winners, work.base.direction) > 0:
        take_step(model.ranker, work.base.direction, model.learning_rate / model.delta)
    return np.nan
