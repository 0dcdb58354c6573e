"""MDPRank (Wei et al., 2017): the skyline, REINFORCE on true grades instead of clicks.

One update per impression over the whole episode of the page. The original and the ROLTR authors' code differ in the
reward at step t and in the discount; both are here by name:

| variant   | γ | reward at t = 0 | reward at t > 0            |
|-----------|---|-----------------|----------------------------|
| `paper`   | 1 | 2^grade − 1     | (2^grade − 1)/log2(t + 1)  |
| `authors` | 0 | grade           | grade/ln(t + 1)            |
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.learners.contract import Feedback, Learner, compiled_settings, learn, show
from rankloop.learners.reinforce import ReinforceWork, ascend_returns, decayed, show_plackett_luce
from rankloop.learners.settings import Decay, Floor, Initial, LearningRate, Ranker, Temperature
from rankloop.metrics import MAX_GRADE, gains
from rankloop.policies import plackett_luce
from rankloop.rankers.linear import LINEAR
from rankloop.rewards import accumulate_returns, returns
from rankloop.settings import choice, number

VARIANTS = {"paper": 1.0, "authors": 0.0}


class MDPRank(Learner, frozen=True):
    """Policy gradient from true grades.

    Attributes:
        variant: `paper` or `authors`.
        discount: γ; by default the variant's own.
        learning_rate: α, as ROLTR's.
        temperature: T of the policy softmax(s/T).
        decay: α is multiplied by this after each update.
        floor: α does not fall below this.
        initial: `zeros`, `direction` or `truncated-normal`.
        ranker: what turns features into scores.

    >>> MDPRank().score_gradient([0.0, 0.0], page=[1, 0], grades=[2, 0]).round(3)
    array([-1.5,  1.5])
    """

    learns_from: ClassVar[Feedback] = "grades"
    has_gradient_variance: ClassVar[bool] = True

    variant: Annotated[str, choice(VARIANTS)] = "paper"
    discount: Annotated[float | None, number(at_least=0, at_most=1, optional=True)] = None
    learning_rate: LearningRate = 0.01
    temperature: Temperature = 1.0
    decay: Decay = 1.0
    floor: Floor = 0.0
    initial: Initial = "zeros"
    ranker: Ranker = LINEAR

    @property
    def gamma(self) -> float:
        """The discount in force."""
        return VARIANTS[self.variant] if self.discount is None else float(self.discount)

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "MDPRankModel":
        """The model before the first impression."""
        return MDPRankModel(
            ranker=self.ranker.parameters(self.initial, features, seed, weights),
            rate=np.array([self.learning_rate]),
            gain=_gain_by_grade(self.variant),
            step_weight=_step_weights(self.variant, page_size),
            discount=self.gamma,
            settings=MDPRankSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> ReinforceWork:
        """Scratch for queries of up to so many candidates."""
        return ReinforceWork.of(features, page_size, candidates)

    @property
    def policy_temperature(self) -> float:
        """T of the policy."""
        return self.temperature

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


MDPRankSettings = compiled_settings(MDPRank)


class MDPRankModel(NamedTuple):
    """Parameters and running state, tables, and the settings that the kernels read; γ is the variant's or given."""

    ranker: Any
    rate: NDArray[np.float64]
    gain: NDArray[np.float64]
    step_weight: NDArray[np.float64]
    discount: float
    settings: Any


@implements(show, MDPRankModel)
@kernel
def show_mdprank(model, work, X, seed, impression, page, notes):
    """Draw the page from the policy."""
    show_plackett_luce(work.base, model.settings.temperature, X.shape[0], seed, impression, page)


@implements(learn, MDPRankModel)
@kernel
def learn_mdprank(model, work, X, seed, impression, page, notes, grades, measure):
    """Rewards from the true grades, returns, and one step along the policy gradient."""
    values = work.base.returns[: page.size]
    for t in range(page.size):
        values[t] = model.gain[np.int64(grades[t])] * model.step_weight[t]
    accumulate_returns(values, model.discount, False)
    rate = model.rate[0]
    variance = ascend_returns(model.ranker, work, X, page, model.settings.temperature, rate, measure)
    model.rate[0] = decayed(rate, model.settings.decay, model.settings.floor)
    return variance
