"""ROLTR: reinforcement online learning to rank with unbiased reward shaping. The paper's method.

A page is an episode: at each rank the policy picks one of the remaining documents, and the person's click, or its
absence, is turned into a reward that does not depend on how likely the rank was to be seen (`rankloop.rewards`).
REINFORCE moves the ranker towards pages that earn more. Options that are off by default are what the paper mentions
or its authors' code does; docs/differences.md lists them.
"""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.learners.contract import Learner, ShapedReward, compiled_settings, learn, show
from rankloop.learners.reinforce import ReinforceWork, ascend_returns, decayed, in_blocks, show_plackett_luce
from rankloop.learners.settings import Decay, Floor, Initial, LearningRate, Ranker, Temperature
from rankloop.policies import plackett_luce
from rankloop.propensities import Learned, Propensities
from rankloop.propensities.curves import BELIEF
from rankloop.propensities.learning import (
    AssumedExamination,
    LearnedExamination,
    assumed_or_learned,
    learn_examination,
    note_examination,
    price_clicks,
)
from rankloop.propensities.swaps import noted_swaps
from rankloop.rankers.linear import LINEAR
from rankloop.rewards import REWARDS, accumulate_returns, returns, reward_table
from rankloop.settings import Rule, choice, number


class ROLTR(Learner, frozen=True):
    """Reinforcement online learning to rank.

    Attributes:
        reward: one of `naive+ naive- naive+- ips+ ips- ips+-`.
        discount: γ in [0, 1]; 0 learns from immediate rewards.
        learning_rate: α (0.01 for MSLR and Istella, 0.005 for Yahoo! in the paper).
        propensities: the assumed probability that each rank is examined, or `rl.propensities.learned()`.
        temperature: T of the policy softmax(s/T).
        decay: α is multiplied by this after each update.
        floor: α does not fall below this.
        clip: assumed propensities below this are raised to it (less variance, some bias).
        baseline: subtract each rank's running mean return (less variance, no bias).
        skip_clickless: learn nothing from a page without any click, as the authors' code does.
        discount_steps: multiply G_t by γ^t.
        initial: `zeros`, `direction` or the authors' `truncated-normal`.
        ranker: what turns features into scores.

    >>> ROLTR(reward="ips+", discount=0.5)
    ROLTR(reward='ips+', discount=0.5)
    >>> ROLTR().score_gradient([0.0, 0.0, 0.0], page=[2, 0], clicks=[1, 0]).round(3)
    array([-0.649, -0.018,  0.667])
    """

    has_gradient_variance: ClassVar[bool] = True
    by_rank: ClassVar[tuple[str, ...]] = ("click_reward", "skip_reward", "baseline", "baseline_count", "rank")

    reward: Annotated[str, choice(REWARDS)] = "ips+-"
    discount: Annotated[float, number(at_least=0, at_most=1)] = 0.0
    learning_rate: LearningRate = 0.01
    propensities: Annotated[Propensities | Learned, Rule(assumed_or_learned)] = BELIEF
    temperature: Temperature = 1.0
    decay: Decay = 1.0
    floor: Floor = 0.0
    clip: Annotated[float, number(at_least=0, at_most=1)] = 0.0
    baseline: bool = False
    skip_clickless: bool = False
    discount_steps: bool = False
    initial: Initial = "zeros"
    ranker: Ranker = LINEAR

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "ROLTRModel":
        """The model before the first impression."""
        click, skip = self.reward_table(page_size)
        return ROLTRModel(
            ranker=self.ranker.parameters(self.initial, features, seed, weights),
            rate=np.array([self.learning_rate]),
            baseline=np.zeros(page_size),
            baseline_count=np.zeros(page_size),
            click_reward=click,
            skip_reward=skip,
            rank=np.arange(page_size if isinstance(self.propensities, Learned) else 0),
            examination=self._examination(page_size),
            settings=ROLTRSettings._of(self),
        )

    def _examination(self, page_size: int) -> Any:
        if not isinstance(self.propensities, Learned):
            return AssumedExamination(self.clip)
        worth = [reward_table(self.reward, np.full(page_size, p))[0] for p in (1.0, 0.5)]
        return LearnedExamination.of(self.propensities, page_size, self.clip, *worth)

    def work(self, features: int, page_size: int, candidates: int) -> ReinforceWork:
        """Scratch for queries of up to so many candidates."""
        return ReinforceWork.of(features, page_size, candidates)

    @property
    def policy_temperature(self) -> float:
        """T of the policy."""
        return self.temperature

    def note_width(self) -> int:
        """Learning examination needs the chance of each pair of neighbours to stand the other way round."""
        return 1 if isinstance(self.propensities, Learned) else 0

    def notes_of(self, scores: NDArray[np.float32], page: NDArray[np.int64]) -> NDArray[np.float32]:
        """The same, for a page that a Plackett–Luce policy drew with these scores."""
        if not isinstance(self.propensities, Learned):
            return super().notes_of(scores, page)
        return noted_swaps(scores.astype(np.float64) / self.temperature, page)

    @property
    def assumed_propensities(self) -> Propensities:
        """What the rewards divide by; before the first page, if it is learned."""
        return self.propensities.prior if isinstance(self.propensities, Learned) else self.propensities

    def examination_of(self, model: "ROLTRModel", page_size: int) -> NDArray[np.float64]:
        """The curve that the rewards divide by."""
        return model.examination.curve if isinstance(self.propensities, Learned) else self.propensities.at(page_size)

    def shaped_reward(self, page_size: int) -> ShapedReward:
        """The reward by its name, and its worth at each rank."""
        return ShapedReward(self.reward, *self.reward_table(page_size))

    def reward_table(self, page_size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What a click and no click are worth at each rank under these settings."""
        return reward_table(self.reward, np.maximum(self.propensities.at(page_size), self.clip))

    def returns(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """G_t for each rank of a page with these clicks (before any running baseline)."""
        c = plackett_luce.checked_clicks(clicks, np.size(clicks))
        click, skip = self.reward_table(len(c))
        earned = c * click + (1.0 - c) * skip
        return returns(earned, self.discount, discount_steps=self.discount_steps)

    def score_gradient(self, scores: ArrayLike, page: ArrayLike, clicks: ArrayLike) -> NDArray[np.float64]:
        """d/ds Σ_t G_t log π(a_t | s_t): one value per candidate."""
        return plackett_luce.score_gradient(scores, page, self.returns(clicks), self.temperature)


ROLTRSettings = compiled_settings(ROLTR)


class ROLTRModel(NamedTuple):
    """Parameters and running state, tables by rank, and the settings that the kernels read. `rank` is empty unless
    examination is learned."""

    ranker: Any
    rate: NDArray[np.float64]
    baseline: NDArray[np.float64]
    baseline_count: NDArray[np.float64]
    click_reward: NDArray[np.float64]
    skip_reward: NDArray[np.float64]
    rank: NDArray[np.int64]
    examination: Any
    settings: Any


@implements(show, ROLTRModel)
@kernel
def show_roltr(model, work, X, seed, impression, page, notes):
    """Draw the page from the policy, and note what its examination is learned from."""
    n, base = X.shape[0], work.base
    show_plackett_luce(base, model.settings.temperature, n, seed, impression, page)
    note_examination(model.examination, base.z[:n], page, base.gradient[: in_blocks(n)], base.remaining, notes)


@implements(learn, ROLTRModel)
@kernel
def learn_roltr(model, work, X, seed, impression, page, notes, clicks, measure):
    """Rewards, returns, and one step along the policy gradient."""
    settings, k = model.settings, page.size
    if settings.skip_clickless and not clicks.any():
        learn_examination(model.examination, model.rank[:k], notes, clicks)
        return np.nan
    price_clicks(model.examination, model.rank[:k], model.click_reward[:k])
    values = work.base.returns[:k]
    for t in range(k):
        c = clicks[t]
        values[t] = c * model.click_reward[t] + (1.0 - c) * model.skip_reward[t]
    accumulate_returns(values, settings.discount, settings.discount_steps)
    if settings.baseline:
        subtract_baseline(values, model.baseline, model.baseline_count)
    rate = model.rate[0]
    variance = ascend_returns(model.ranker, work, X, page, settings.temperature, rate, measure)
    model.rate[0] = decayed(rate, settings.decay, settings.floor)
    learn_examination(model.examination, model.rank[:k], notes, clicks)
    return variance


@kernel
def subtract_baseline(returns, mean, count):
    """Subtract each rank's mean return of earlier impressions, then let this impression into the mean.

    The mean is of the past only, so it is independent of this page's actions and leaves the expected gradient
    alone.
    """
    for t in range(returns.size):
        value = returns[t]
        returns[t] = value - mean[t]
        count[t] += 1.0
        mean[t] += (value - mean[t]) / count[t]
