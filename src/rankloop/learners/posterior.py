"""Posterior: a belief about the ranker and about how far people look, made sharper by every page with a click.

Weights and the logarithm of the examination curve have one Gaussian posterior. A page's clicks are evidence about both
(`page_likelihood`); one Newton step takes it in,

    Λ ← Λ + H,   (log θ, w) ← (log θ, w) + Λ⁻¹ g,

and that is all: no learning rate, no propensities that somebody must know, no dependence on the policy that drew the
page, and hardly any on the order in which pages are learned from. A page is ranked by weights drawn from the posterior,
so it explores where it is unsure and stops where it is sure. Λ is kept as a triangular factor (`kernels.triangular`),
in units of the features' spreads (`prior`), so it stays positive definite and no feature's scale matters.
"""

import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import dot, exp
from rankloop.kernels.draws import DIRECTIONS, fill_normals, stream_key
from rankloop.kernels.triangular import MANY, covariance, rows_for, solve_upper, whole_lanes
from rankloop.learners.candidates import find_centre
from rankloop.learners.changes import Changes, part_of_change
from rankloop.learners.common_factor import CommonFactor, gather_common
from rankloop.learners.contract import Cost, Learner, Weighing, Work, believe, compiled_settings, learn, show
from rankloop.learners.merits import Merits, fade, recall_all
from rankloop.learners.page_step import SHOWN, take_evidence
from rankloop.learners.prior import LEVEL, gather_spread, is_due, let_level_drift, renew
from rankloop.learners.reinforce import show_plackett_luce
from rankloop.propensities import PowerLaw, Propensities
from rankloop.propensities.curves import assumed
from rankloop.rankers.linear import LINEAR, LinearWeights
from rankloop.settings import Rule, number, whole_number

FIRST_GUESS = PowerLaw(0.5)
LEAST_EXAMINATION = 1e-3
MOST_FEATURES = 2_000
LEAST_SPREAD = 1e-3
"""Of the scores that draw a page, in units of their own spread: below it, a draw is as good as sorting."""
MOST_DOCUMENTS = 1_000_000
FORGETTINGS = 16
"""In how many steps a half-life is forgotten."""


def _begun_with(owner: str, name: str, curve: object) -> Propensities:
    """The curve that learning begins with."""
    return assumed(owner, name, curve, ", the curve to begin with: it learns how far people look by itself")


class Posterior(Learner, frozen=True):
    """A Gaussian posterior of the ranker's weights and of the examination curve. It needs no settings.

    Attributes:
        prior_variance: V, how much the scores of a query's candidates vary: a first guess, which the data correct.
        prior_weight: how many weights the first guess counts for.
        exploration: κ, a page is ranked by weights drawn from the posterior with κ times its deviation; 0: by the mean.
        early_exploration: what κ has beyond that at first; it wears off, by a factor e in `early_pages` pages.
        early_pages: in how many pages it does.
        level_shape: a, how alike pages are in how many clicks they get, whatever they show; that a page got many or few
            is worth no more than so many clicks. 0: it is not learned from.
        level_drift: how far the logarithm of the usual number of clicks wanders from page to page, as a standard
            deviation: mornings and evenings, campaigns, other people.
        softness: the temperature of the drawn page's Plackett–Luce policy, in units of the draw's own effect.
        common_weight: what a document is believed to be worth beforehand for having more than others of what features
            have in common; below 0 where less is better. Given weights are believed instead.
        common_variance: how little is known of that, as a variance.
        examination: the examination curve to begin with.
        examination_variance: how little is known of its logarithm.
        start_pages: given weights count for so many pages.
        half_life: after so many pages, half of what they taught is forgotten; 0: nothing is.
        memory: of how many documents it remembers what they are worth beyond their features; 0: of none.
        merit_variance: τ², how much a query's document is worth beyond its features, as a first guess, which the data
            correct.
        merit_weight: how many documents the first guess counts for.
        intervals: keep what `belief` needs for intervals that hold even if clicks are not as the model has them.

    >>> Posterior(exploration=0.5)
    Posterior(exploration=0.5)
    """

    off_policy: ClassVar[bool] = True
    learns_examination: ClassVar[bool] = True
    draws_weights: ClassVar[bool] = True
    weighing: ClassVar[Weighing] = "page"
    takes_more: ClassVar[bool] = True
    by_rank: ClassVar[tuple[str, ...]] = ("rank",)
    idle_with_weights: ClassVar[tuple[str, ...]] = ("common_weight",)
    cost: ClassVar[Cost] = Cost(4, 26)

    prior_variance: Annotated[float, number(above=0, usable=(1e-9, 1e9))] = 0.03
    exploration: Annotated[float, number(at_least=0, usable=(0.0, 1e3))] = 0.05
    early_exploration: Annotated[float, number(at_least=0, usable=(0.0, 1e3))] = 0.25
    early_pages: Annotated[float, number(above=0, usable=(1e-6, 1e9))] = 300.0
    level_shape: Annotated[float, number(at_least=0, usable=(0.0, 1e6))] = 1.0
    level_drift: Annotated[float, number(at_least=0, usable=(0.0, 10.0))] = 0.005
    prior_weight: Annotated[float, number(above=0, usable=(1e-6, 1e12))] = 2.0
    softness: Annotated[float, number(at_least=0, usable=(0.0, 1e3))] = 0.5
    common_weight: Annotated[float, number(usable=(-10.0, 10.0))] = 0.1
    common_variance: Annotated[float, number(at_least=0, usable=(0.0, 1e9))] = 0.01
    examination: Annotated[Propensities, Rule(_begun_with)] = FIRST_GUESS
    examination_variance: Annotated[float, number(above=0, usable=(1e-9, 1e9))] = 0.25
    start_pages: Annotated[float, number(above=0, usable=(1e-6, 1e9))] = 50.0
    half_life: Annotated[float, number(at_least=0)] = 0.0
    memory: Annotated[int, whole_number(at_most=MOST_DOCUMENTS)] = 20_000
    merit_variance: Annotated[float, number(above=0, usable=(1e-9, 1e3))] = 0.15
    merit_weight: Annotated[float, number(above=0, usable=(1e-6, 1e12))] = 50.0
    intervals: bool = False

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "PosteriorModel":
        """The model before the first impression: the order of given weights, or none."""
        first = np.log(np.maximum(self.examination.at(page_size), LEAST_EXAMINATION))
        size = page_size + features
        ranker = LINEAR.parameters("zeros", features, seed, weights)
        return PosteriorModel(
            ranker=ranker,
            log_examination=first - first[0],
            first_examination=first - first[0],
            level=np.array([LEVEL]),
            rank=np.arange(page_size),
            root=np.eye(size, whole_lanes(size)),
            precision=np.zeros(1),
            variance=np.array([self.prior_variance]),
            squares=np.zeros((size, size) if self.intervals else (0, 0)),
            pages=np.zeros(1, np.int64),
            spread=np.zeros(features),
            within=np.zeros(features),
            start=ranker.weights.copy(),
            start_spread=np.zeros(1),
            start_within=np.zeros(1),
            common=CommonFactor.of(features, looked_for=self.common_weight != 0 or self.common_variance > 0),
            merits=Merits.of(min(self.memory, 1), self.merit_variance),
            changes=Changes.of(features, watched=self.memory > 0),
            settings=PosteriorSettings._of(self),
        )

    def work(self, features: int, page_size: int, candidates: int) -> "PosteriorWork":
        """Scratch for queries of up to so many candidates."""
        return PosteriorWork.of(features, page_size, candidates)

    def belief(self, model: "PosteriorModel") -> "PosteriorBelief":
        """What a model has come to believe, with standard deviations.

        They are the posterior's own, or, with `intervals`, those of the sandwich: what repeated samples of pages would
        give, whatever the distribution of clicks.
        """
        size, leading = len(model.root), len(model.rank)
        if model.precision[0] == 0.0:
            raise SettingsError(f"{self.name}: nothing has been learned yet")
        P = covariance(model.root)
        if self.intervals:
            J = np.triu(model.squares) + np.triu(model.squares, 1).T
            P = P @ J @ P
        deviation = np.sqrt(np.diag(P))
        per_unit = np.divide(1.0, model.spread, out=np.zeros(size - leading), where=model.spread > 0)
        return PosteriorBelief(
            weights=model.ranker.weights.copy(),
            weights_deviation=deviation[leading:] * per_unit,
            examination=np.exp(model.log_examination),
            log_examination_deviation=np.r_[0.0, deviation[1:leading]],
            spread=model.spread.copy(),
        )

    def examination_of(self, model: "PosteriorModel", page_size: int) -> NDArray[np.float64]:
        """What it has learned by now."""
        return np.exp(model.log_examination)

    @property
    def remembers(self) -> bool:
        """What documents are worth beyond their features."""
        return self.memory > 0

    def with_room(self, model: "PosteriorModel", documents: int) -> "PosteriorModel":
        """The model with room for the merits of so many documents, within its memory."""
        merits = model.merits.with_room(min(documents, self.memory))
        return model if merits is model.merits else model._replace(merits=merits)

    @property
    def start_strength(self) -> float:
        """Given weights are a prior."""
        return self.start_pages

    @property
    def policy_temperature(self) -> float:
        """Given the drawn weights, the page is drawn from softmax(s) of the scores that are kept with it."""
        return 1.0

    def require_affordable(self, features: int, page_size: int) -> None:
        """One number for each pair of features is kept, and read at every page."""
        super().require_affordable(features, page_size)
        if features + page_size > MOST_FEATURES:
            raise SettingsError(
                f"{self.name}: {features:,} features and pages of {page_size:,} are too many; it keeps a number for "
                f"each pair of them, so both together may be {MOST_FEATURES:,}"
            )


PosteriorSettings = compiled_settings(Posterior)


class PosteriorBelief(NamedTuple):
    """Weights, and examination relative to the first rank, with standard deviations; and how much features vary."""

    weights: NDArray[np.float64]
    weights_deviation: NDArray[np.float64]
    examination: NDArray[np.float64]
    log_examination_deviation: NDArray[np.float64]
    spread: NDArray[np.float64]


class PosteriorModel(NamedTuple):
    """The mean (weights, log θ relative to rank 1, and the level), the root of its precision, and the prior's units.

    The root's first dimension is the level's, so that it can drift (`let_level_drift`). `rank` says at which rank each
    row of a page stands; with pinned documents not all rows are the learner's.
    """

    ranker: LinearWeights
    log_examination: NDArray[np.float64]
    first_examination: NDArray[np.float64]
    level: NDArray[np.float64]
    rank: NDArray[np.int64]
    root: NDArray[np.float64]
    precision: NDArray[np.float64]
    variance: NDArray[np.float64]
    squares: NDArray[np.float64]
    pages: NDArray[np.int64]
    spread: NDArray[np.float64]
    within: NDArray[np.float64]
    start: NDArray[np.float64]
    start_spread: NDArray[np.float64]
    start_within: NDArray[np.float64]
    common: CommonFactor
    merits: Merits
    changes: Changes
    settings: Any


class PosteriorWork(NamedTuple):
    """The common scratch; the page's documents as rows; vectors and a matrix of the posterior's size."""

    base: Work
    rows: NDArray[np.float64]
    shares: NDArray[np.float64]
    shown: NDArray[np.float64]
    gradient: NDArray[np.float64]
    mean: NDArray[np.float64]
    centre: NDArray[np.float64]
    level: NDArray[np.float64]
    per_unit: NDArray[np.float64]
    square: NDArray[np.float64]
    reflection: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "PosteriorWork":
        """Scratch for so many features, ranks and candidates."""
        size = page_size + features
        columns = whole_lanes(size)
        return cls(
            base=Work.of(features, page_size, candidates),
            rows=np.zeros((rows_for(page_size), columns)),
            shares=np.zeros(page_size),
            shown=np.zeros((SHOWN, page_size)),
            gradient=np.zeros(columns),
            mean=np.zeros(columns),
            centre=np.zeros(features),
            level=np.zeros(columns),
            per_unit=np.zeros(features),
            square=np.zeros((size, columns)),
            reflection=np.zeros(MANY + 1),
        )


@implements(believe, PosteriorModel)
@kernel
def believe_posterior(model, documents, scores):
    """The features' word, and what documents have shown of their own."""
    recall_all(model.merits, documents, scores, part_of_change(model.changes))


@implements(show, PosteriorModel)
@kernel
def show_posterior(model, work, X, seed, impression, page, notes):
    """Draw weights from the posterior, and then the page from a narrow softmax of their scores.

    The scores left behind are those of the drawn weights over the temperature, about their mean: given the draw,
    the page's probability is exactly that of a Plackett–Luce policy with these scores.
    """
    n = X.shape[0]
    scores = work.base.scores[:n]
    spread = 0.0
    if model.precision[0] > 0.0 and curiosity(model) > 0.0:
        moved = work.base.gradient[:n]
        draw_direction(model, work, seed, impression)
        for i in range(n):
            moved[i] = dot(X[i], work.base.direction)
            scores[i] += np.float32(moved[i])
        spread = deviation(moved)
    temperature = max(model.settings.softness * spread, LEAST_SPREAD * deviation(scores))
    if temperature == 0.0:
        temperature = 1.0
    centre = mean_score(scores)
    for i in range(n):
        scores[i] = np.float32((scores[i] - centre) / temperature)
    show_plackett_luce(work.base, 1.0, n, seed, impression, page)


@kernel
def curiosity(model):
    """κ now: most at first, when a wrong turn would last longest."""
    settings = model.settings
    return settings.exploration + settings.early_exploration * exp(-model.pages[0] / settings.early_pages)


@kernel
def draw_direction(model, work, seed, impression):
    """κ Λ^{−½} ξ of the weights, in float32 and the features' own units, into the base's direction."""
    direction, drawn = work.base.direction, work.mean
    leading, kappa = model.log_examination.size, curiosity(model)
    fill_normals(stream_key(seed, DIRECTIONS, impression), direction)
    drawn[:] = 0.0
    drawn[leading : leading + direction.size] = direction
    solve_upper(model.root, drawn, leading)
    for j in range(direction.size):
        spread = model.spread[j]
        direction[j] = np.float32(kappa * drawn[leading + j] / spread) if spread > 0.0 else 0.0


@kernel
def mean_score(scores):
    """The mean in the scores' own precision, added up in their order: a device adds the same numbers."""
    total = np.float32(0.0)
    for i in range(scores.size):
        total += scores[i]
    return np.float32(total / scores.size)


@kernel
def deviation(values):
    """The standard deviation of a list."""
    mean = 0.0
    for i in range(values.size):
        mean += values[i]
    mean /= values.size
    squares = 0.0
    for i in range(values.size):
        squares += (values[i] - mean) ** 2
    return math.sqrt(squares / values.size)


@implements(learn, PosteriorModel)
@kernel
def learn_posterior(model, work, X, seed, impression, page, notes, clicks, measure):
    """Let the candidates into the spreads, and the clicks into the posterior."""
    if X.shape[0] < 2:
        return np.nan
    if work.base.more[0]:
        clicked = clicks.sum()
        if page.size > 1 and clicked > 0.0 and model.precision[0] > 0.0:
            find_centre(X, work.centre, work.gradient)
            take_evidence(model, work, X, page, clicks, clicked)
        return np.nan
    model.pages[0] += 1
    gather_spread(model, X, work.centre, work.gradient)
    gather_common(model.common, model.within, model.pages[0], X, work.centre, work.gradient, work.per_unit)
    kept = remembered(model.settings.half_life, model.pages[0])
    if kept < 1.0 or is_due(model.pages[0]):
        renew(model, work, kept)
    if kept < 1.0:
        fade(model.merits, kept)
    clicked = clicks.sum()
    if page.size > 1 and (clicked > 0.0 or model.settings.level_shape > 0.0):
        let_level_drift(model)
        take_evidence(model, work, X, page, clicks, clicked)
    return np.nan


@kernel
def remembered(half_life, pages):
    """What part of the past stays after this page: it is forgotten in sixteen steps a half-life."""
    if half_life == 0.0:
        return 1.0
    stride = max(1, int(half_life / FORGETTINGS))
    return 0.5 ** (stride / half_life) if pages % stride == 0 else 1.0
