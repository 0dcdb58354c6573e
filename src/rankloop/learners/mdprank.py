"""MDPRank (Wei et al., 2017): the skyline, REINFORCE on true grades instead of clicks.

One update per impression over the whole episode of the page. The original and the ROLTR authors' code differ in the
reward at step t and in the discount; both are here by name:

| variant   | γ | reward at t = 0 | reward at t > 0            |
|-----------|---|-----------------|----------------------------|
| `paper`   | 1 | 2^grade − 1     | (2^grade − 1)/log2(t + 1)  |
| `authors` | 0 | grade           | grade/ln(t + 1)            |
"""

import math
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.learners.contract import learn, show
from rankloop.learners.reinforce import (
    ReinforceWork,
    ascend_returns,
    decayed,
    show_plackett_luce,
)
from rankloop.metrics import MAX_GRADE, gains
from rankloop.policies import plackett_luce
from rankloop.rankers import Linear, starting_weights
from rankloop.rankers.linear import INITIALS
from rankloop.rewards import accumulate_returns, returns
from rankloop.settings import require_choice, require_number, settle

VARIANTS = {"paper": 1.0, "authors": 0.0}


class MDPRank(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="MDPRank",
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Policy gradient from true grades.

    Attributes:
        variant: `paper` or `authors`.
        discount: γ; by default the variant's own.
        learning_rate: α, as ROLTR's.
        temperature: T of the policy softmax(s/T).
        decay, floor: α is multiplied by `decay` after each update, down to `floor`.
        initial: `zeros`, `direction` or `truncated-normal`.

    >>> MDPRank().score_gradient([0.0, 0.0], page=[1, 0], grades=[2, 0]).round(3)
    array([-1.5,  1.5])
    """

    name: ClassVar[str] = "MDPRank"
    learns_from: ClassVar[str] = "grades"
    ranks_by_grades: ClassVar[bool] = False
    by_rank: ClassVar[tuple[str, ...]] = ()

    variant: str = "paper"
    discount: float | None = None
    learning_rate: float = 0.01
    temperature: float = 1.0
    decay: float = 1.0
    floor: float = 0.0
    initial: str = "zeros"

    def __post_init__(self) -> None:
        settle(
            self,
            variant=require_choice("MDPRank", "variant", self.variant, VARIANTS),
            initial=require_choice("MDPRank", "initial", self.initial, INITIALS),
            learning_rate=require_number("MDPRank", "learning_rate", self.learning_rate, above=0),
            temperature=require_number("MDPRank", "temperature", self.temperature, above=0),
            decay=require_number("MDPRank", "decay", self.decay, above=0, at_most=1),
            floor=require_number("MDPRank", "floor", self.floor, at_least=0),
        )
        if self.discount is not None:
            settle(self, discount=require_number("MDPRank", "discount", self.discount, at_least=0, at_most=1))

    @property
    def gamma(self) -> float:
        """The discount in force."""
        return VARIANTS[self.variant] if self.discount is None else float(self.discount)

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "MDPRankModel":
        """The model before the first impression."""
        return MDPRankModel(
            ranker=Linear.of(starting_weights(self.initial, features, seed, weights)),
            rate=np.array([self.learning_rate]),
            gain=_gain_by_grade(self.variant),
            step_weight=_step_weights(self.variant, page_size),
            discount=self.gamma,
            temperature=float(self.temperature),
            decay=float(self.decay),
            floor=float(self.floor),
        )

    def work(self, features: int, page_size: int, candidates: int) -> ReinforceWork:
        """Scratch for queries of up to so many candidates."""
        return ReinforceWork.of(features, page_size, candidates)

    def note_width(self) -> int:
        """Nothing has to be remembered but the page."""
        return 0

    def returns(self, grades: ArrayLike) -> NDArray[np.float64]:
        """G_t for each rank of a page with these grades."""
        shown = plackett_luce.checked_grades(grades, np.size(grades)).astype(np.int64)
        earned = _gain_by_grade(self.variant)[shown] * _step_weights(self.variant, len(shown))
        return returns(earned, self.gamma)

    def score_gradient(self, scores: ArrayLike, page: ArrayLike, grades: ArrayLike) -> NDArray[np.float64]:
        """d/ds Σ_t G_t log π(a_t | s_t): one value per candidate."""
        return plackett_luce.score_gradient(scores, page, self.returns(grades), self.temperature)


def _gain_by_grade(variant: str) -> NDArray[np.float64]:
    grades = np.arange(MAX_GRADE + 1)
    return gains(grades) if variant == "paper" else grades.astype(np.float64)


def _step_weights(variant: str, steps: int) -> NDArray[np.float64]:
    logarithm = math.log2 if variant == "paper" else math.log
    return np.array([1.0 if t == 0 else 1.0 / logarithm(t + 1) for t in range(steps)])


class MDPRankModel(NamedTuple):
    """Parameters and running state first, then the settings that the kernels read."""

    ranker: Linear
    rate: NDArray[np.float64]
    gain: NDArray[np.float64]
    step_weight: NDArray[np.float64]
    discount: float
    temperature: float
    decay: float
    floor: float


@implements(show, MDPRankModel)
@kernel
def show_mdprank(model, work, X, seed, impression, page, notes):
    """Draw the page from the policy."""
    show_plackett_luce(work.base, model.temperature, X.shape[0], seed, impression, page)


@implements(learn, MDPRankModel)
@kernel
def learn_mdprank(model, work, X, seed, impression, page, notes, grades, measure):
    """Rewards from the true grades, returns, and one step along the policy gradient."""
    values = work.base.returns[: page.size]
    for t in range(page.size):
        values[t] = model.gain[np.int64(grades[t])] * model.step_weight[t]
    accumulate_returns(values, model.discount, False)
    rate = model.rate[0]
    variance = ascend_returns(model.ranker, work, X, page, model.temperature, rate, measure)
    model.rate[0] = decayed(rate, model.decay, model.floor)
    return variance
