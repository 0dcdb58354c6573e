"""Visits to the shop: rank, click, close, learn, with the very functions of the service, in one process."""

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.shop.world import FEATURES, NEVER_CLOSED, PAGE, Array, Shop, click_probabilities
from rankloop.live.events import Closing, Event, Kind, encode
from rankloop.live.fold import Fold, View
from rankloop.live.incoming import with_incoming
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import ModelSettings, NewModelSettings
from rankloop.live.start import settled
from rankloop.scaling import min_max

VISITORS = 400
SCALINGS = ("raw", "standard", "unit", "logarithmic", "millionths")
"""How a team might send its features; a model that must be told nothing learns from all of them."""


class Visits(NamedTuple):
    """What came of it: (visits, nDCG on searches that nobody made) points, and how far down the engine's own results
    were brought up on the first hundred pages."""

    curve: list[tuple[int, float]]
    boldest: int
    """The lowest place in the engine's order that stood on rank 1 or 2 of the first hundred pages (from 1)."""
    fates: dict[str, int]


def settings_of(body: dict[str, Any], seed: int) -> ModelSettings:
    """A model for the shop from the body of a request, with the shop's features, as the service would make it."""
    return settled(msgspec.convert({"features": list(FEATURES)} | body | {"seed": seed}, NewModelSettings))


def seen_by(settings: ModelSettings, shop: Shop, scaling: str = "raw") -> list[NDArray[np.float32]]:
    """The features of each search as the model gets them: those it knows of what the team sends, and places."""
    sent = [FEATURES.index(name) for name in settings.sent]
    known = (np.ascontiguousarray(X[:, sent], dtype=np.float32) for X in scaled(shop, scaling))
    return [with_incoming(X, settings.names) for X in known]


def scaled(shop: Shop, scaling: str) -> list[Array]:
    """The features of each search as the team sends them."""
    everything = np.concatenate([search.X for search in shop.searches])
    mean, deviation = everything.mean(axis=0), everything.std(axis=0)
    change = {
        "raw": lambda X: X,
        "standard": lambda X: (X - mean) / deviation,
        "unit": min_max,
        "logarithmic": lambda X: np.log1p(X - everything.min(axis=0)),
        "millionths": lambda X: X * 1e-6,
    }[scaling]
    return [change(search.X) for search in shop.searches]


def visit(shop: Shop, settings: ModelSettings, visits: int, seed: int, scaling: str = "raw", points: int = 8) -> Visits:
    """Let people search and click. A visit in ten is never closed, so nothing is learned from it."""
    rng = np.random.default_rng(seed)
    features = seen_by(settings, shop, scaling)
    fold, ranking = Fold(settings), Ranking(settings)
    curve, boldest = [(0, ndcg_of(fold.view(), shop, features))], 0
    at = {round(visits * (i + 1) / points) for i in range(points)} | {v for v in (50, 100, 250) if v < visits}
    for number in range(visits):
        query = int(rng.integers(len(shop.training)))
        client = int(rng.integers(VISITORS)).to_bytes(8, "big")
        search = shop.searches[query]
        ids = [str(product) for product in search.products]
        request = Request(f"q{query}", client, ids, features[query], PAGE, {})
        shown = ranking.rank(fold.view(), request, number).impression
        page = np.array(shown.page)
        if number < 100:
            boldest = max(boldest, int(page[:2].max()) + 1)
        clicks = (rng.random(len(page)) < click_probabilities(search.grades[page])).astype(float)
        if rng.random() >= NEVER_CLOSED:
            event = Event(2 * number, 1, Kind.SHOWN, number, 0, client, encode(shown))
            closing = encode(Closing(event.offset, clicks.tolist(), "asked"))
            fold.apply(Event(2 * number + 1, 1, Kind.CLOSED, number, 0, b"", closing), event)
        if number + 1 in at:
            curve.append((number + 1, ndcg_of(fold.view(), shop, features)))
    return Visits(curve, boldest, dict(fold.fates))


def ndcg_of(view: View, shop: Shop, features: list[Any]) -> float:
    """nDCG@10 of the model's best order on searches that nobody made."""
    scores = ((query, view.scores(view.scaler.apply(features[query]))) for query in shop.held_out)
    return float(np.mean([shop.ndcg(np.argsort(-values, kind="stable"), query) for query, values in scores]))


def engine(shop: Shop) -> float:
    """nDCG@10 of the engine's order on the same searches."""
    return float(np.mean([shop.ndcg(np.arange(len(shop.searches[q].grades)), q) for q in shop.held_out]))


def supervised(shop: Shop) -> float:
    """The same for a linear ranker that was told every grade of the other searches: the skyline of the regret study."""
    everything = np.concatenate([shop.searches[query].X for query in shop.training])
    mean, deviation = everything.mean(axis=0), everything.std(axis=0)
    X = [(search.X - mean) / deviation for search in shop.searches]
    gains = [2.0**search.grades - 1.0 for search in shop.searches]
    told = [gain / gain.sum() for gain in gains]

    def loss(w: Array) -> tuple[float, Array]:
        total, slope = 1e-4 * w @ w, 2e-4 * w
        for query in shop.training:
            z = X[query] @ w
            z = z - z.max()
            normaliser = np.exp(z).sum()
            total -= told[query] @ (z - np.log(normaliser)) / len(shop.training)
            slope = slope - X[query].T @ (told[query] - np.exp(z) / normaliser) / len(shop.training)
        return total, slope

    best = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x
    return float(np.mean([shop.ndcg(np.argsort(-(X[query] @ best)), query) for query in shop.held_out]))
