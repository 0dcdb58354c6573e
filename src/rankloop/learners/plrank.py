"""PLRank: the Plackett–Luce policy's own metric, climbed with a model of what every candidate is worth.

REINFORCE learns from the clicks of the page alone, divided by how likely each rank is looked at. Here a logistic model
R̂ says for *every* candidate how attractive it is; a click (or its absence) corrects it where the page was seen,

    ρ̂_d = R̂_d,  plus (c − α_k R̂_d − β_k) / max(ᾱ_d, τ) if shown at rank k,   ᾱ_d = Σ_k π(d at k) α_k,

which has the right expectation if either the model or the propensities are right (doubly robust), and less variance
than either alone. PL-Rank (`rank_gradient`) turns ρ̂ of all candidates into the gradient of the expected DCG. A few
sampled rankings give both the gradient and ᾱ. α is the assumed examination curve, β (trust) is 0. The model sees
candidates relative to their query's mean: what all of them share cancels in the gradient.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import dot, whole_blocks
from rankloop.learners.contract import Cost, Learner, Weighing, Work, compiled_settings, learn, show
from rankloop.learners.rank_gradient import (
    add_exposure,
    add_rank_gradient,
    click_slope,
    correct_reward,
    draw_rankings,
    note_places,
    sigmoid,
)
from rankloop.learners.reinforce import decayed, in_blocks, scale_scores, show_plackett_luce
from rankloop.learners.settings import Decay, Floor, Initial, LearningRate, Ranker, Temperature
from rankloop.metrics.ndcg import discounts
from rankloop.propensities import Propensities
from rankloop.propensities.curves import BELIEF, assumed
from rankloop.rankers.contract import ascend
from rankloop.rankers.linear import LINEAR
from rankloop.settings import Rule, number, whole_number


class PLRank(Learner, frozen=True):
    """PL-Rank with doubly robust rewards.

    Attributes:
        learning_rate: of the policy.
        samples: how many rankings are sampled for each page.
        clip: τ, exposures below this are raised to it (less variance, some bias).
        reward_rate: of the reward model: AdaGrad's step, over the root of the number of features.
        propensities: the assumed probability that each rank is examined.
        temperature: T of the policy softmax(s/T).
        decay: the learning rate is multiplied by this after each update.
        floor: the learning rate does not fall below this.
        initial: `zeros`, `direction` or `truncated-normal`.
        ranker: what turns features into scores; the reward model is linear.

    >>> PLRank(samples=4)
    PLRank(samples=4)
    """

    by_rank: ClassVar[tuple[str, ...]] = ("examination", "discount")
    weighing: ClassVar[Weighing] = "draw"
    cost: ClassVar[Cost] = Cost(15, 30)

    learning_rate: LearningRate = 0.1
    samples: Annotated[int, whole_number(at_least=1)] = 8
    clip: Annotated[float, number(above=0, at_most=1)] = 0.3
    reward_rate: LearningRate = 1.0
    propensities: Annotated[Propensities, Rule(assumed)] = BELIEF
    temperature: Temperature = 1.0
    decay: Decay = 1.0
    floor: Floor = 0.0
    initial: Initial = "zeros"
    ranker: Ranker = LINEAR

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "PLRankModel":
        """The model before the first impression."""
        return PLRankModel(
            ranker=self.ranker.parameters(self.initial, features, seed, weights),
            rate=np.array([self.learning_rate]),
            reward=np.zeros(features, np.float32),
            reward_squares=np.zeros(features),
            level=np.zeros(2),
            examination=np.array(self.propensities.at(page_size), dtype=np.float64),
            discount=discounts(page_size),
            settings=PLRankSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "PLRankWork":
        """Scratch for queries of up to so many candidates."""
        return PLRankWork.of(features, page_size, candidates, self.samples)

    @property
    def policy_temperature(self) -> float:
        """T of the policy."""
        return self.temperature

    @property
    def assumed_propensities(self) -> Propensities:
        """What exposure is computed with."""
        return self.propensities


PLRankSettings = compiled_settings(PLRank)


class PLRankModel(NamedTuple):
    """The ranker; the reward model's weights, its level (and the sums of squares of both); tables by rank."""

    ranker: Any
    rate: NDArray[np.float64]
    reward: NDArray[np.float32]
    reward_squares: NDArray[np.float64]
    level: NDArray[np.float64]
    examination: NDArray[np.float64]
    discount: NDArray[np.float64]
    settings: Any


class PLRankWork(NamedTuple):
    """The common scratch; sampled rankings with their L_k; per candidate: worth, exposure and place."""

    base: Work
    pages: NDArray[np.int64]
    remaining: NDArray[np.float64]
    rewards: NDArray[np.float64]
    exposure: NDArray[np.float64]
    places: NDArray[np.int64]
    slope: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int, samples: int) -> "PLRankWork":
        """Scratch for so many features, ranks, candidates and sampled rankings."""
        room = whole_blocks(candidates)
        return cls(
            base=Work.of(features, page_size, candidates),
            pages=np.zeros((samples, page_size), np.int64),
            remaining=np.zeros((samples, page_size + 1)),
            rewards=np.zeros(room),
            exposure=np.zeros(room),
            places=np.zeros(room, np.int64),
            slope=np.zeros(features),
        )


@implements(show, PLRankModel)
@kernel
def show_plrank(model, work, X, seed, impression, page, notes):
    """Draw the page from the policy."""
    show_plackett_luce(work.base, model.settings.temperature, X.shape[0], seed, impression, page)


@implements(learn, PLRankModel)
@kernel
def learn_plrank(model, work, X, seed, impression, page, notes, clicks, measure):
    """Worth of all candidates, corrected by the clicks; one step along the metric's gradient; then the reward model."""
    n, k, base, settings = X.shape[0], page.size, work.base, model.settings
    scale_scores(base, n, settings.temperature)
    room = in_blocks(n)
    pages, remaining = work.pages[:, :k], work.remaining[:, : k + 1]
    draw_rankings(base.z[:room], n, seed, impression, base.keys[:room], base.gradient[:room], pages, remaining)
    z, rewards, exposure, places = base.z[:n], work.rewards[:n], work.exposure[:n], work.places[:n]
    centre_of(X, base.direction)
    predict_rewards(model, X, base.direction, rewards)
    learn_rewards(model, X, base.direction, page, clicks, rewards, work.slope)
    exposure[:] = 0.0
    for s in range(pages.shape[0]):
        note_places(pages[s], places)
        add_exposure(z, pages[s], remaining[s], model.examination, places, exposure)
    for t in range(k):
        d = page[t]
        looked_at = exposure[d] / pages.shape[0]
        rewards[d] = correct_reward(rewards[d], clicks[t], model.examination[t], 0.0, looked_at, settings.clip)
    subtract_mean(rewards, exposure)
    gradient = base.gradient[:room]
    gradient[:] = 0.0
    share = 1.0 / (pages.shape[0] * settings.temperature)
    for s in range(pages.shape[0]):
        note_places(pages[s], places)
        add_rank_gradient(z, pages[s], remaining[s], model.discount, rewards, places, share, gradient)
    centre(gradient[:n])
    ascend(model.ranker, X, gradient, model.rate[0], base.slope)
    model.rate[0] = decayed(model.rate[0], settings.decay, settings.floor)
    return np.nan


@kernel
def subtract_mean(rewards, exposure):
    """Worth relative to that of what people look at: the same gradient in expectation, and less noise in a sample."""
    total, mass = 0.0, 0.0
    for d in range(rewards.size):
        total += exposure[d] * rewards[d]
        mass += exposure[d]
    for d in range(rewards.size):
        rewards[d] -= total / mass


@kernel
def centre(gradient):
    """Make it sum to 0, as it does in expectation: what all candidates share is not to be moved by chance."""
    mean = 0.0
    for d in range(gradient.size):
        mean += gradient[d]
    mean /= gradient.size
    for d in range(gradient.size):
        gradient[d] -= mean


@kernel
def centre_of(X, centre):
    """The candidates' mean: what they share says nothing about which of them to show, and would only be in the way."""
    centre[:] = np.float32(0.0)
    for d in range(X.shape[0]):
        for j in range(centre.size):
            centre[j] += X[d, j]
    for j in range(centre.size):
        centre[j] /= np.float32(X.shape[0])


@kernel
def predict_rewards(model, X, centre, rewards):
    """R̂ of every candidate: how likely somebody who looks at it clicks."""
    level = model.level[0] - np.float64(dot(centre, model.reward))
    for d in range(X.shape[0]):
        rewards[d] = sigmoid(level + np.float64(dot(X[d], model.reward)))


@kernel
def learn_rewards(model, X, centre, page, clicks, rewards, slope):
    """One AdaGrad step of the reward model along the likelihood of the page's clicks, α_k R̂ each."""
    slope[:] = 0.0
    level = 0.0
    for t in range(page.size):
        g = click_slope(rewards[page[t]], clicks[t], model.examination[t], 0.0)
        level += g
        for j in range(slope.size):
            slope[j] += g * (X[page[t], j] - centre[j])
    rate = model.settings.reward_rate / math.sqrt(1.0 + slope.size)
    model.level[1] += level * level
    if model.level[1] > 0.0:
        model.level[0] += rate * level / math.sqrt(model.level[1])
    for j in range(slope.size):
        model.reward_squares[j] += slope[j] * slope[j]
        if model.reward_squares[j] > 0.0:
            model.reward[j] += np.float32(rate * slope[j] / math.sqrt(model.reward_squares[j]))
