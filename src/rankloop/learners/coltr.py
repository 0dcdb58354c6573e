"""COLTR: counterfactual online learning to rank (Zhuang and Zuccon, 2020).

The page is drawn by Plackett–Luce at a low temperature. Candidates w + δu are never shown: each is scored on the clicks
that the current ranker collected, with loss l = 1 for an unclicked document above the last click, else 0, and the
ratio ρ of softmax probabilities (temperature 1, over all candidates):

    SNIPS = Σρl / Σρ,   Var = Σρ²(l − SNIPS)² / Σρ²,   score = SNIPS + √(Var/m)

over the m shown documents. Winners score below the current ranker; w moves by α times the mean of their u.

Both sums are ratios, so whatever is common to all documents of a ranker cancels, its softmax denominator too:
ρ_d ∝ exp(s_candidate,d − s_logged,d), and only the shown documents need to be scored.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import exp32
from rankloop.kernels.matrix import multiply_into, padded
from rankloop.learners.contract import Cost, Learner, Work, compiled_settings, learn, show
from rankloop.learners.directions import draw_directions, mean_of_winners, require_few_rivals
from rankloop.learners.pdgd import last_click
from rankloop.learners.reinforce import decayed, show_plackett_luce
from rankloop.learners.settings import Decay, Delta, Floor, Initial, LearningRate, Rivals, Temperature
from rankloop.rankers.linear import LINEAR, LinearWeights, take_step
from rankloop.settings import number


class COLTR(Learner, frozen=True):
    """Counterfactual online learning to rank.

    Attributes:
        candidates: how many rankers are scored against the current one.
        delta: how far from the current weights they lie.
        temperature: of the policy that draws the page.
        variance_weight: of √(Var/m) in a candidate's score.
        learning_rate: α.
        decay: α is multiplied by this after each update.
        floor: α does not fall below this.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    off_policy: ClassVar[bool] = True
    graded: ClassVar[bool] = False
    cost: ClassVar[Cost] = Cost(10, 80)

    candidates: Rivals = 499
    delta: Delta = 1.0
    temperature: Temperature = 0.1
    variance_weight: Annotated[float, number(at_least=0, usable=(0.0, 1e6))] = 1.0
    learning_rate: LearningRate = 0.1
    decay: Decay = 0.99966
    floor: Floor = 0.01
    initial: Initial = "direction"

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "COLTRModel":
        """The model before the first impression."""
        return COLTRModel(
            ranker=LINEAR.parameters(self.initial, features, seed, weights),
            rate=np.array([self.learning_rate]),
            settings=COLTRSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "COLTRWork":
        """Scratch for queries of up to so many candidates."""
        return COLTRWork.of(features, page_size, candidates, rivals=self.candidates)

    def note_width(self) -> int:
        """The score with which each shown document was drawn."""
        return 1

    def notes_of(self, scores: NDArray[np.float32], page: NDArray[np.int64]) -> NDArray[np.float32]:
        """The scores that drew the page, whoever's they were."""
        return scores[page][:, None]

    @property
    def policy_temperature(self) -> float:
        """T of the policy."""
        return self.temperature

    def require_affordable(self, features: int, page_size: int) -> None:
        """Rivals are drawn anew for every impression, and scored on the page alone."""
        super().require_affordable(features, page_size)
        require_few_rivals(self.name, self.candidates, 10_000, features, page_size)


COLTRSettings = compiled_settings(COLTR)


class COLTRModel(NamedTuple):
    """Parameters and running state, and the settings that the kernels read."""

    ranker: LinearWeights
    rate: NDArray[np.float64]
    settings: Any


class COLTRWork(NamedTuple):
    """The common scratch, and per rival: direction, log ratios of the shown documents, score. Column 0: no move."""

    base: Work
    rivals: NDArray[np.float32]
    scales: NDArray[np.float32]
    shown: NDArray[np.float32]
    ratios: NDArray[np.float32]
    risk: NDArray[np.float32]
    wins: NDArray[np.float32]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int, rivals: int) -> "COLTRWork":
        """Scratch for so many features, ranks, candidate documents and rival rankers."""
        width = padded(rivals + 1)
        return cls(
            base=Work.of(features, page_size, candidates),
            rivals=np.zeros((features, width), np.float32),
            scales=np.zeros(width, np.float32),
            shown=np.zeros((page_size, features), np.float32),
            ratios=np.zeros((page_size, width), np.float32),
            risk=np.zeros(width, np.float32),
            wins=np.zeros(width, np.float32),
        )


@implements(show, COLTRModel)
@kernel
def show_coltr(model, work, X, seed, impression, page, notes):
    """Draw the page at the policy's temperature; remember the scores that drew it."""
    show_plackett_luce(work.base, model.settings.temperature, X.shape[0], seed, impression, page)
    for t in range(page.size):
        notes[t, 0] = work.base.scores[page[t]]


@implements(learn, COLTRModel)
@kernel
def learn_coltr(model, work, X, seed, impression, page, notes, clicks, measure):
    """Score the candidates counterfactually and move towards those that lose less than the current ranker."""
    last = last_click(clicks)
    if last < 0:
        return np.nan
    k, settings = page.size, model.settings
    draw_directions(seed, impression, settings.delta, work.scales, work.rivals)
    shown, ratios = work.shown[:k], work.ratios[:k]
    for t in range(k):
        shown[t] = X[page[t]]
        ratios[t] = work.base.scores[page[t]] - notes[t, 0]
    multiply_into(shown, work.rivals, ratios)
    counterfactual_risk(ratios, clicks, last, settings.variance_weight, work.risk)
    for c in range(1, settings.candidates + 1):
        work.wins[c] = work.risk[c] < work.risk[0]
    if mean_of_winners(work.rivals, work.wins, work.base.direction) > 0:
        take_step(model.ranker, work.base.direction, model.rate[0] / settings.delta)
        model.rate[0] = decayed(model.rate[0], settings.decay, settings.floor)
    return np.nan


@kernel
def counterfactual_risk(ratios, clicks, last, variance_weight, risk):
    """SNIPS + variance_weight · √(Var/m) for each column of log ratios (shown documents, rankers).

    The largest log ratio of a column is taken out first, which both quotients allow. `ratios` is used up.
    """
    k, rankers = ratios.shape
    root = np.float32(variance_weight / math.sqrt(k))
    for c in range(rankers):
        risk[c] = ratios[0, c]
    for t in range(1, k):
        for c in range(rankers):
            risk[c] = max(risk[c], ratios[t, c])
    for t in range(k):
        for c in range(rankers):
            ratios[t, c] = exp32(ratios[t, c] - risk[c])
    for c in range(rankers):
        weight = weighted_loss = squares = loss_squares = np.float32(0.0)
        for t in range(k):
            rho = ratios[t, c]
            weight += rho
            squares += rho * rho
            if t < last and clicks[t] < 0.5:
                weighted_loss += rho
                loss_squares += rho * rho
        mean = weighted_loss / weight
        # l is 0 or 1, so Σρ²(l − m)² = m² Σρ² + (1 − 2m) Σρ²l
        spread = mean * mean * squares + (np.float32(1.0) - np.float32(2.0) * mean) * loss_squares
        variance = max(spread, np.float32(0.0)) / squares
        risk[c] = mean + root * np.float32(math.sqrt(variance))
