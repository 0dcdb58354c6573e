"""People of the simulated shop who compare two orders of its results: on one page, or in two groups.

Some come once and some often, some click on much and some on little; what they look at and want is the shop's. Both
comparisons are those of the service: the margins of an experiment, and the guard's clicks per page between people.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.shop.world import ATTRACTION, EXAMINATION, PAGE, TRUST, Shop
from rankloop.live.guard import People, Sums, compared
from rankloop.live.interleaving import credit, drafted
from rankloop.statistics.sequential import FEWEST, PARTS, Margins

Array = NDArray[np.float64]
Orders = NDArray[np.int64]

CROWD = 1_000_000
BLOCK = 20
"""Pages between two looks."""


class Crowd(NamedTuple):
    """How often people come, added up from the first to the last, and how readily each clicks, around 1."""

    comes: Array
    clicks: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Crowd":
        """Most come once or twice, and a few very often."""
        often = (rng.pareto(2.0, CROWD) + 1).cumsum()
        return cls(often / often[-1], rng.gamma(4.0, 0.25, CROWD))

    def visitors(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Who comes next."""
        return np.searchsorted(self.comes, rng.random(count))


class Needed(NamedTuple):
    """Pages until a comparison was decided, and for which order (0 or 1); None and None if it never was."""

    pages: int | None
    winner: int | None


def improved(shop: Shop, places: float, dose: float, rng: np.random.Generator) -> Orders:
    """(queries, candidates): the engine's order, shuffled by so many places (one standard deviation), with what people
    want in it by a dose. Shuffled by many, a small gain is what is left of many changes for better and for worse.
    """
    orders = []
    for search in shop.searches:
        count = len(search.grades)
        score = -np.arange(count) + places * (dose * search.grades + rng.normal(0, 1.0, count))
        orders.append(np.argsort(-score, kind="stable"))
    return np.array(orders)


def probabilities(shop: Shop, pages: Orders, queries: NDArray[np.int64], *, indifferent: bool = False) -> Array:
    """(pages, ranks): P(click). Indifferent people look at ranks only."""
    grades = np.array([search.grades for search in shop.searches])
    attraction = ATTRACTION[grades[queries[:, None], pages]]
    if indifferent:
        attraction = np.full_like(attraction, float(ATTRACTION.mean()))
    return EXAMINATION * (attraction + TRUST * (1.0 - attraction))


def clicks_per_page(shop: Shop, orders: Orders) -> float:
    """Expected, over all queries alike."""
    return float(probabilities(shop, orders[:, :PAGE], np.arange(len(orders))).sum(axis=1).mean())


def interleaved(
    shop: Shop, orders: list[Orders], seed: int, most: int, *, confidence: float = 0.95, indifferent: bool = False
) -> Needed:
    """Pages that hold both orders, until one is preferred, looked at all the time."""
    rng = np.random.default_rng(seed)
    crowd, margins = Crowd.drawn(rng), Margins()
    parts = rng.integers(0, PARTS, CROWD)
    for first in range(0, most, BLOCK):
        who = crowd.visitors(rng, BLOCK)
        queries = rng.integers(0, len(shop.searches), BLOCK)
        drafts = [
            drafted([order[query, :PAGE] for order in orders], order_length(orders), seed, first + place, {})
            for place, query in enumerate(queries.tolist())
        ]
        pages = np.array([draft.page for draft in drafts])
        p = probabilities(shop, pages, queries, indifferent=indifferent)
        clicks = rng.random(p.shape) < np.minimum(1.0, p * crowd.clicks[who][:, None])
        for draft, clicked, person in zip(drafts, clicks.astype(float).tolist(), who.tolist(), strict=True):
            one, other = credit(draft.teams, clicked, 2)
            if one + other:
                margins.note(int(parts[person]), (other - one) / (one + other))
        found = margins.found(confidence)
        if found is not None and margins.parts >= FEWEST and found.is_decided:
            return Needed(first + BLOCK, int(found.mean > 0))
    return Needed(None, None)


def order_length(orders: list[Orders]) -> int:
    """Candidates of a query."""
    return int(orders[0].shape[1])


def in_two_groups(shop: Shop, orders: list[Orders], seed: int, most: int, *, confidence: float = 0.95) -> Needed:
    """Half of the people see one order and half the other, until one gets more clicks; looked at all the time."""
    rng = np.random.default_rng(seed)
    crowd = Crowd.drawn(rng)
    parts, group = rng.integers(0, PARTS, CROWD), rng.integers(0, 2, CROWD)
    people = [People(), People()]
    stride = BLOCK
    first = 0
    while first < most:
        who = crowd.visitors(rng, stride)
        queries = rng.integers(0, len(shop.searches), stride)
        pages = np.where(group[who][:, None] == 0, orders[0][queries, :PAGE], orders[1][queries, :PAGE])
        p = probabilities(shop, pages, queries)
        clicks = (rng.random(p.shape) < np.minimum(1.0, p * crowd.clicks[who][:, None])).sum(axis=1)
        for side, sums in enumerate(people):
            mine = group[who] == side
            for row, values in enumerate((np.ones(stride), clicks, clicks * clicks)):
                sums.sums[row] += np.bincount(parts[who[mine]], values[mine], PARTS)
        first += stride
        if all(sums.parts >= FEWEST for sums in people):
            found = compared(*(Sums(*sums.sums.sum(axis=1).tolist()) for sums in reversed(people)), *people[::-1])
            if found.sure >= confidence:
                return Needed(first, int(found.learned > found.incoming))
        # A look at a hundredth of the pages so far: more often would take long, and change little.
        stride = max(BLOCK, first // 100)
    return Needed(None, None)
