"""A simulated shop, fixed before any learner was tuned on it: products, an engine, and people with habits of their own.

2,000 products and 13 features of wild scales (a price in cents, a timestamp in milliseconds, a click rate of a few in a
thousand). A search for one of 240 queries has 50 candidates, which arrive in the engine's order. What people want is
not linear in the features, nobody knows how far down they look, and they trust what stands on top.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PRODUCTS, QUERIES, HELD_OUT, CANDIDATES, PAGE = 2_000, 240, 60, 50, 10
FEATURES = (
    "engine", "title", "description", "semantic", "price_cents", "rating", "reviews", "sold_30d", "click_rate",
    "discount", "released_ms", "in_stock", "margin",
)  # fmt: skip
ENGINE_NOISE = 0.55
"""Chosen so that the engine's order has an nDCG@10 near .4."""

# How people look and what they make of it. Rank 10 is seen by one in three; the top is trusted beyond its worth.
EXAMINATION = np.array([1.0, 0.93, 0.82, 0.71, 0.62, 0.54, 0.47, 0.41, 0.37, 0.33])
TRUST = 0.06 / np.arange(1, PAGE + 1)
"""P(click | examined) of what does not interest at all."""
ATTRACTION = np.array([0.02, 0.10, 0.26, 0.50, 0.78])
"""P(click | examined) by how well a product suits, from 0 to 4, before trust."""
NEVER_CLOSED = 0.1


class Search(NamedTuple):
    """What the engine found for a query, in its order: (candidates,) products, (candidates, features), grades 0 … 4."""

    products: NDArray[np.int64]
    X: Array
    grades: NDArray[np.int64]


class Shop:
    """Everything that is there before the first visit. The same seed gives the same shop."""

    def __init__(self, seed: int = 20) -> None:
        rng = np.random.default_rng(seed)
        taste = rng.normal(size=(PRODUCTS, 8))  # what a product is about
        quality = rng.normal(size=PRODUCTS)
        static = _static(rng, quality)
        self.searches = [_search(rng, taste, quality, static) for _ in range(QUERIES)]
        self.training, self.held_out = range(QUERIES - HELD_OUT), range(QUERIES - HELD_OUT, QUERIES)

    def ndcg(self, order: NDArray[np.int64], query: int) -> float:
        """nDCG@10 of the first ten of an order of a query's candidates."""
        return ndcg(self.searches[query].grades, order)


def _static(rng: np.random.Generator, quality: Array) -> Array:
    """What is known of a product whatever the query, each in the unit that a database would keep it in."""
    n = len(quality)
    price = np.exp(rng.normal(8.0, 1.1, n))  # cents
    rating = np.clip(np.round(3.6 + 0.6 * quality + rng.normal(0, 0.4, n), 1), 1.0, 5.0)
    reviews = np.floor(np.exp(rng.normal(2.5, 1.6, n) + 0.4 * quality))
    sold = np.floor(np.exp(rng.normal(3.0, 1.5, n) + 0.7 * quality))
    click_rate = 0.004 * np.exp(0.5 * quality + rng.normal(0, 0.5, n))
    discount = np.where(rng.random(n) < 0.3, rng.choice([0.05, 0.1, 0.2, 0.5], n), 0.0)
    released = 1.6e12 + rng.random(n) * 1.6e11
    stock = (rng.random(n) < 0.85).astype(float)
    margin = rng.beta(2, 6, n)
    return np.column_stack([price, rating, reviews, sold, click_rate, discount, released, stock, margin])


def _search(rng: np.random.Generator, taste: Array, quality: Array, static: Array) -> Search:
    wanted = rng.normal(size=taste.shape[1])
    about = taste @ wanted / np.linalg.norm(wanted)
    # The engine retrieves by words: roughly what the query is about.
    retrieved = np.argsort(-(about + rng.normal(0, 0.8, len(about))))[:CANDIDATES]
    match, good, facts = about[retrieved], quality[retrieved], static[retrieved]
    title = np.maximum(0.0, 4.0 + 2.0 * match + rng.normal(0, 1.5, CANDIDATES))
    description = np.maximum(0.0, 9.0 + 3.0 * match + rng.normal(0, 3.0, CANDIDATES))
    semantic = np.tanh(0.5 * match + rng.normal(0, 0.25, CANDIDATES))
    dear = (np.log(facts[:, 0]) - 8.0) / 1.1
    budget = rng.normal(0, 0.7)
    # People want what they searched for, good, in stock, near what they would pay: not linear, and not all on record.
    suits = 1.6 * match + 1.2 * good - 0.6 * (dear - budget) ** 2 + 1.5 * facts[:, 7] + rng.normal(0, 0.5, CANDIDATES)
    ranked = np.argsort(np.argsort(-suits))
    grades = np.select([ranked < 2, ranked < 5, ranked < 10, ranked < 20], [4, 3, 2, 1], 0)
    engine = 10.0 + 1.5 * title + 0.4 * description + ENGINE_NOISE * 3.0 * rng.normal(0, 1.0, CANDIDATES)
    X = np.column_stack([engine, title, description, semantic, facts])
    order = np.argsort(-engine, kind="stable")
    return Search(retrieved[order], X[order], grades[order])


def click_probabilities(grades: NDArray[np.int64]) -> Array:
    """P(click) at each rank of a page: θ_k (γ + trust_k (1 − γ))."""
    k = len(grades)
    attraction = ATTRACTION[grades]
    return EXAMINATION[:k] * (attraction + TRUST[:k] * (1.0 - attraction))


def ndcg(grades: NDArray[np.int64], order: NDArray[np.int64]) -> float:
    """nDCG@10, exponential gains."""
    discount = 1.0 / np.log2(np.arange(2, PAGE + 2))
    ideal = np.sort(2.0**grades - 1.0)[::-1][:PAGE] @ discount
    return float((2.0 ** grades[order[:PAGE]] - 1.0) @ discount / ideal)
