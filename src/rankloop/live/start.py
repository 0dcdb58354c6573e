"""A sane start: the weights a new model begins with, and how much it will explore, known before it goes live.

A softmax policy that is to keep the engine's order is sharp. The sharpness goes into its temperature (`settled`), not
into its weights: with a weight of 1 for the engine's score and T = 1/228, a step of learning counts as it does beside
any other weight of 1, while beside a weight of 228 at T = 1 it would be lost.
"""

import math

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.live.incoming import places
from rankloop.live.scaling import Fixed, Scaler
from rankloop.live.settings import IncomingOrder, ModelSettings, Weights
from rankloop.offpolicy.positions import position_probabilities
from rankloop.online import OnlineRanker
from rankloop.policies import plackett_luce
from rankloop.rankers import weight_count

MOST_QUERIES = 100
EXACT_RANKS, EXACT_CANDIDATES = 20, 1_000
DRAWS = 400
"""Pages drawn for each of the sample's queries where the displacement is not computed exactly."""
MAX_WEIGHT = 1e6


class Report(msgspec.Struct, frozen=True):
    """What a model's first pages will look like, next to the incoming order.

    Attributes:
        weights: where the model begins.
        temperature: of its policy; None if it has none.
        keeps_first: the probability that the engine's first result is shown first.
        displacement: expected mean |rank shown − incoming rank| over the page.
        assumes: what these numbers rest on.
    """

    weights: list[float] | None
    keeps_first: float | None
    displacement: float | None
    assumes: str
    temperature: float | None = None


def ranker_of(settings: ModelSettings, weights: list[float] | None) -> OnlineRanker:
    """What learns and ranks for a model, beginning with these weights."""
    return OnlineRanker(
        settings.learner, len(settings.names), settings.seed or 0, page_size=settings.page_size, weights=weights
    )


def no_weights(settings: ModelSettings) -> list[float]:
    """For a ranker whose weights come from elsewhere."""
    return [0.0] * weight_count(settings.learner.scoring_ranker, len(settings.names))


def settled(settings: ModelSettings) -> ModelSettings:
    """The settings that a new model is made with: the sharpness of its start is the temperature of its policy.

    The learning rate counts in units of it, so that a step moves weights as far as it would at T = 1. A temperature
    that somebody chose (any but 1) stays.

    >>> from rankloop.learners import ROLTR
    >>> shop = ModelSettings(name="m", features=["bm25"], start=IncomingOrder("bm25"), learner=ROLTR(), seed=1)
    >>> round(starting_point(shop).weights[0], 1), round(settled(shop).learner.temperature, 3)
    (66.5, 0.015)
    >>> round(starting_point(settled(shop)).weights[0], 9)
    1.0
    """
    learner, start = settings.learner, settings.start
    knobs = {name: getattr(learner, name, None) for name in ("temperature", "learning_rate", "floor")}
    if knobs["temperature"] != 1.0 or knobs["learning_rate"] is None or learner.off_policy or not settings.is_linear:
        return settings
    size = 1.0
    if isinstance(start, IncomingOrder):
        queries, wanted = _incoming_queries(settings, start)[0], start.keeps_first
    elif isinstance(start, Weights) and start.keeps_first is not None and any(start.weights):
        queries, wanted, size = _given_queries(settings, start)[0], start.keeps_first, _length(start.weights)
    else:
        return settings
    temperature = size / _solve([query / size for query in queries], wanted)
    scaled = {name: value * temperature * size for name, value in knobs.items() if value and name != "temperature"}
    try:
        made = replace(learner, temperature=temperature, **scaled)
        made.require_affordable(len(settings.names), settings.page_size)
    except SettingsError as error:
        raise SettingsError(_out_of_proportion(start, size, str(error))) from None
    return replace(settings, learner=made)


def _out_of_proportion(start: IncomingOrder | Weights, size: float, reason: str) -> str:
    """Why a start cannot be kept: what follows from it is beyond what the learner takes, and nobody gave that."""
    if isinstance(start, Weights) and not start.sample:
        return (
            f"start: weights of length {size:.3g} are out of proportion: multiply them all by one number that makes it "
            f"about 1, which leaves the order as it is; or give keeps_first as null ({reason})"
        )
    return f"start: the sample's scores are out of proportion; bring features and weights to about 1 ({reason})"


def starting_point(settings: ModelSettings) -> Report:
    """The weights to begin with, and their exploration if the engine's score is known to be a feature.

    >>> shop = ModelSettings(name="shop", features=["engine", "price"], start=IncomingOrder("engine"), seed=1)
    >>> starting_point(shop).weights
    [1.0, 0.0]
    """
    if isinstance(settings.start, Weights):
        return _given(settings, settings.start)
    if not isinstance(settings.start, IncomingOrder):
        return Report(None, None, None, f"{settings.learner.name}'s own start")
    return _incoming(settings, settings.start)


def _given(settings: ModelSettings, start: Weights) -> Report:
    """Weights from elsewhere: how strongly they are believed, or how sharply they are followed."""
    weights, learner = list(start.weights), settings.learner
    spread = learner.policy_temperature
    if learner.start_strength is not None:
        assumes = f"the weights given, believed as strongly as {learner.start_strength:g} pages of clicks"
        return Report(weights, None, None, f"{assumes}; the first page is in their order")
    if spread is None or not settings.is_linear or not any(weights) or start.keeps_first is None:
        return Report(weights, None, None, "the weights given", spread)
    queries, assumes = _given_queries(settings, start)
    kept = _keeps_first(queries, 1.0 / spread)
    moved = _displacement([query / spread for query in queries], settings.page_size)
    return Report(weights, kept, moved, f"the weights given, and {assumes}", spread)


def _given_queries(settings: ModelSettings, start: Weights) -> tuple[list[NDArray[np.float64]], str]:
    """What given weights would score some queries with, and what that rests on."""
    if start.sample:
        return [_scores(scores) for scores in start.sample], f"the {len(start.sample):,} sample queries"
    # Evenly spaced numbers within [0, 1] have a deviation of 1/√12; other scalings bring features to one of about 1.
    deviation = _length(start.weights) * (1.0 if settings.scaling != "query" else 1.0 / math.sqrt(12.0))
    scores = np.linspace(1.0, 0.0, start.candidates) * deviation * math.sqrt(12.0)
    return [scores], f"{start.candidates} candidates with evenly spaced scores (more exact with a sample of real ones)"


def _length(weights: tuple[float, ...]) -> float:
    return float(np.linalg.norm(weights))


def _incoming_queries(settings: ModelSettings, start: IncomingOrder) -> tuple[list[NDArray[np.float64]], str]:
    """The engine's scores of some queries as the ranker would see them, and what that rests on."""
    place = settings.incoming_index(start)
    if start.feature is None:
        known = _scaled(settings, place, places(start.candidates))
        return [known], f"{start.candidates} candidates a query (give the number of yours)"
    if start.sample:
        queries = [_scaled(settings, place, _scores(scores)) for scores in start.sample]
        return queries, f"the {len(queries):,} sample queries"
    assumes = f"{start.candidates} candidates with evenly spaced engine scores (more exact with a sample of real ones)"
    return [_scaled(settings, place, np.linspace(1.0, 0.0, start.candidates))], assumes


def _incoming(settings: ModelSettings, start: IncomingOrder) -> Report:
    place = settings.incoming_index(start)
    queries, assumes = _incoming_queries(settings, start)
    spread = settings.learner.policy_temperature
    if settings.learner.draws_weights:
        weight, kept, moved = 1.0, None, None
        assumes = f"{settings.learner.name} begins in this order, and explores as far as it is unsure"
    elif spread is None:
        # A policy that is not a softmax has nothing to solve: any positive weight keeps the incoming order.
        weight, kept, moved = 1.0, None, None
        assumes = f"{settings.learner.name} shows what its comparison of rankers asks for, whatever the weight"
    else:
        weight = _solve([q / spread for q in queries], start.keeps_first)
        kept = _keeps_first([q / spread for q in queries], weight)
        moved = _displacement([weight * q / spread for q in queries], settings.page_size)
    weights = np.zeros(len(settings.names))
    weights[place] = weight
    return Report(weights.tolist(), kept, moved, assumes, spread if kept is not None else None)


def _scores(scores: tuple[float, ...]) -> NDArray[np.float64]:
    values = np.array(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) < 1 or not np.isfinite(values).all():
        raise SettingsError("start: each list of the sample must hold the engine's scores of a query, finite numbers")
    return values


def _scaled(settings: ModelSettings, place: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One query's engine scores as the ranker would see them."""
    scaling = settings.scaling
    if isinstance(scaling, Fixed):
        scaling = Fixed((scaling.shift[place],), (scaling.spread[place],))
    # Every scaling treats features one by one, so this one alone is enough.
    return Scaler(scaling, 1).apply(values[:, None])[:, 0].astype(np.float64)


def _keeps_first(queries: list[NDArray[np.float64]], weight: float) -> float:
    """Mean over queries of the softmax probability of the best score (of all best, if several are)."""
    kept = []
    for scores in queries:
        z = weight * (scores - scores.max())
        kept.append(np.exp(z[scores == scores.max()]).sum() / np.exp(z).sum())
    return float(np.mean(kept))


def _solve(queries: list[NDArray[np.float64]], wanted: float) -> float:
    """The weight that keeps the first first with the wanted probability: it grows with the weight, so bisection."""
    if _keeps_first(queries, MAX_WEIGHT) < wanted:
        raise SettingsError(
            f"start: no weight keeps the first result first with probability {wanted:g} on this sample: "
            f"the engine's scores are too close together"
        )
    shuffled = _keeps_first(queries, 0.0)
    if shuffled > wanted:
        raise SettingsError(
            f"start: keeps_first must be at least {shuffled:.3g}, with which the first result stays first when pages "
            f"are shuffled; got {wanted:g}"
        )
    low, high = 0.0, MAX_WEIGHT
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _keeps_first(queries, middle) < wanted:
            low = middle
        else:
            high = middle
    return high


def _displacement(queries: list[NDArray[np.float64]], page_size: int) -> float:
    """Mean |rank shown − incoming rank| over the pages that this policy draws."""
    return float(np.mean([_moved(z, min(page_size, len(z)), place) for place, z in enumerate(queries[:MOST_QUERIES])]))


def _moved(z: NDArray[np.float64], size: int, seed: int) -> float:
    """The same for one query: exactly where that is quick; on long pages a sample is as good, for they average out."""
    incoming = np.empty(len(z), np.int64)
    incoming[np.argsort(-z, kind="stable")] = np.arange(len(z))
    if size <= EXACT_RANKS and len(z) <= EXACT_CANDIDATES:
        distance = np.abs(incoming[:, None] - np.arange(size))
        return float((position_probabilities(z, size) * distance).sum() / size)
    pages = (plackett_luce.sample(z, size, seed=seed, impression=draw) for draw in range(DRAWS))
    return float(np.mean([np.abs(incoming[page] - np.arange(size)).mean() for page in pages]))
