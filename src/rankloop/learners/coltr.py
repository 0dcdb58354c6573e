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
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import exp32
from rankloop.kernels.matrix import multiply_into, padded
from rankloop.learners.contract import Work, learn, show
from rankloop.learners.directions import draw_directions, mean_of_winners
from rankloop.learners.pdgd import last_click
from rankloop.learners.reinforce import decayed, show_plackett_luce
from rankloop.rankers import Linear, starting_weights
from rankloop.rankers.linear import INITIALS, take_step
from rankloop.settings import require_choice, require_number, require_whole_number, settle


class COLTR(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="COLTR",
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """Counterfactual online learning to rank.

    Attributes:
        candidates: how many rankers are scored against the current one.
        delta: how far from the current weights they lie.
        temperature: of the policy that draws the page.
        variance_weight: of √(Var/m) in a candidate's score.
        learning_rate, decay, floor: α, multiplied by `decay` after each update, down to `floor`.
        initial: `zeros`, `direction` or `truncated-normal`.
    """

    name: ClassVar[str] = "COLTR"
    learns_from: ClassVar[str] = "clicks"
    ranks_by_grades: ClassVar[bool] = False
    by_rank: ClassVar[tuple[str, ...]] = ()

    candidates: int = 499
    delta: float = 1.0
    temperature: float = 0.1
    variance_weight: float = 1.0
    learning_rate: float = 0.1
    decay: float = 0.99966
    floor: float = 0.01
    initial: str = "direction"

    def __post_init__(self) -> None:
        settle(
            self,
            initial=require_choice("COLTR", "initial", self.initial, INITIALS),
            candidates=require_whole_number("COLTR", "candidates", self.candidates, at_least=1),
            delta=require_number("COLTR", "delta", self.delta, above=0),
            temperature=require_number("COLTR", "temperature", self.temperature, above=0),
            variance_weight=require_number("COLTR", "variance_weight", self.variance_weight, at_least=0),
            learning_rate=require_number("COLTR", "learning_rate", self.learning_rate, above=0),
            decay=require_number("COLTR", "decay", self.decay, above=0, at_most=1),
            floor=require_number("COLTR", "floor", self.floor, at_least=0),
        )

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "COLTRModel":
        """The model before the first impression."""
        return COLTRModel(
            ranker=Linear.of(starting_weights(self.initial, features, seed, weights)),
            rate=np.array([self.learning_rate]),
            rivals=self.candidates,
            delta=float(self.delta),
            temperature=float(self.temperature),
            variance_weight=float(self.variance_weight),
            decay=float(self.decay),
            floor=float(self.floor),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "COLTRWork":
        """Scratch for queries of up to so many candidates."""
        return COLTRWork.of(features, page_size, candidates, rivals=self.candidates)

    def note_width(self) -> int:
        """The score with which each shown document was drawn."""
        return 1


class COLTRModel(NamedTuple):
    """Parameters and running state first, then the settings that the kernels read."""

    ranker: Linear
    rate: NDArray[np.float64]
    rivals: int
    delta: float
    temperature: float
    variance_weight: float
    decay: float
    floor: float


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
    show_plackett_luce(work.base, model.temperature, X.shape[0], seed, impression, page)
    for t in range(page.size):
        notes[t, 0] = work.base.scores[page[t]]


@implements(learn, COLTRModel)
@kernel
def learn_coltr(model, work, X, seed, impression, page, notes, clicks, measure):
    """Score the candidates counterfactually and move towards those that lose less than the current ranker."""
    last = last_click(clicks)
    if last < 0:
        return np.nan
    k = page.size
    draw_directions(seed, impression, model.delta, work.scales, work.rivals)
    shown, ratios = work.shown[:k], work.ratios[:k]
    for t in range(k):
        shown[t] = X[page[t]]
        ratios[t] = work.base.scores[page[t]] - notes[t, 0]
    multiply_into(shown, work.rivals, ratios)
    counterfactual_risk(ratios, clicks, last, model.variance_weight, work.risk)
    for c in range(1, model.rivals + 1):
        work.wins[c] = work.risk[c] < work.risk[0]
    if mean_of_winners(work.rivals, work.wins, work.base.direction) > 0:
        take_step(model.ranker, work.base.direction, model.rate[0] / model.delta)
        model.rate[0] = decayed(model.rate[0], model.decay, model.floor)
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
