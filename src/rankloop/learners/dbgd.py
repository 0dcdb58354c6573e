"""DBGD: dueling bandit gradient descent (Yue and Joachims, 2009), the classic.

One candidate w + δu is compared with the current ranker on an interleaved page; if it wins, w ← w + αu; a tie changes
nothing. Probabilistic interleaving is multileaving with one rival (the ROLTR authors' code uses it); team draft is the
classic.
"""

from typing import ClassVar

import msgspec
from numpy.typing import ArrayLike

from rankloop.learners.pmgd import DuelModel, DuelWork
from rankloop.rankers import Linear, starting_weights
from rankloop.rankers.linear import INITIALS
from rankloop.settings import require_choice, require_number

INTERLEAVINGS = ("probabilistic", "team-draft")


class DBGD(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="DBGD",
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Dueling bandit gradient descent.

    Attributes:
        interleaving: `probabilistic` or `team-draft`.
        delta: how far from the current weights the candidate lies.
        learning_rate: α.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    name: ClassVar[str] = "DBGD"
    learns_from: ClassVar[str] = "clicks"
    ranks_by_grades: ClassVar[bool] = False

    interleaving: str = "probabilistic"
    delta: float = 1.0
    learning_rate: float = 0.01
    initial: str = "direction"

    def __post_init__(self) -> None:
        require_choice("DBGD", "interleaving", self.interleaving, INTERLEAVINGS)
        require_choice("DBGD", "initial", self.initial, INITIALS)
        require_number("DBGD", "delta", self.delta, above=0)
        require_number("DBGD", "learning_rate", self.learning_rate, above=0)

    def model(
        self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None
    ) -> DuelModel:
        """The model before the first impression."""
        return DuelModel(
            ranker=Linear.of(starting_weights(self.initial, features, seed, weights)),
            delta=float(self.delta),
            learning_rate=float(self.learning_rate),
            team_draft=self.interleaving == "team-draft",
        )

    def work(self, features: int, page_size: int, candidates: int) -> DuelWork:
        """Scratch for queries of up to so many candidates."""
        return DuelWork.of(features, page_size, candidates, rivals=1)

    def note_width(self) -> int:
        """For each rank, who may have placed the document: the current ranker or the candidate."""
        return 2
