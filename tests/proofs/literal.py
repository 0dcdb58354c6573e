"""The definitions, word for word and slow: what the compiled core is held against.

Everything that involves a softmax is computed in 50-digit decimals with plain exponentials and
plain sums, so that no trick of the core (logarithms, suffix sums) is used here as well.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext

import numpy as np

DIGITS = 50
# Central differences with this step err by h² ≈ 1e-24 in 50-digit arithmetic: nothing is lost.
STEP = Decimal("1e-12")


# Plackett–Luce


def masses(scores: Sequence, temperature: float = 1.0) -> list[Decimal]:
    """e^(s/T) for each document."""
    with localcontext(prec=DIGITS):
        return [(exactly(s) / exactly(temperature)).exp() for s in scores]


def step_probabilities(mass: Sequence[Decimal], page: Sequence[int]) -> Iterator[dict]:
    """For each step, the softmax over what remains: {document: probability}."""
    remaining = list(range(len(mass)))
    for document in page:
        with localcontext(prec=DIGITS):
            total = sum(mass[d] for d in remaining)
            yield {d: mass[d] / total for d in remaining}
        remaining.remove(document)


def page_probability(scores: Sequence, page: Sequence[int], temperature: float = 1.0) -> Decimal:
    with localcontext(prec=DIGITS):
        result = Decimal(1)
        steps = step_probabilities(masses(scores, temperature), page)
        for document, probability in zip(page, steps, strict=True):
            result *= probability[document]
        return result


def all_pages(documents: int, size: int) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(documents), min(size, documents))


# Rewards and returns


def weight(rank: int) -> float:
    """λ of a rank (1-based): 1/log2(t + 2) with t = rank − 1."""
    return 1.0 / math.log2(rank + 1)


def reward(name: str, clicked: int, propensity: float, rank: int) -> float:
    """The spec's table. Naive is IPS with propensity 1; two signs are a sum."""
    p = 1.0 if name.startswith("naive") else propensity
    positive = weight(rank) / p if clicked else 0.0
    negative = weight(rank) * (1.0 - p) / p if clicked else -weight(rank)
    return positive * ("+" in name) + negative * ("-" in name)


def returns(rewards: Sequence[float], discount: float) -> list[float]:
    """G_t = Σ_{m ≥ t} γ^(m − t) R_m, with 0^0 = 1."""
    return [math.fsum(discount ** (m - t) * rewards[m] for m in range(t, len(rewards))) for t in range(len(rewards))]


def outcomes(examination: Sequence[float], attraction: Sequence[float]) -> Iterator[tuple]:
    """Every way to examine and to be attracted, rank by rank: (clicks, probability)."""
    ranks = range(len(examination))
    for examined in itertools.product((0, 1), repeat=len(examination)):
        for attracted in itertools.product((0, 1), repeat=len(examination)):
            probability = math.prod(
                (examination[k] if examined[k] else 1 - examination[k])
                * (attraction[k] if attracted[k] else 1 - attraction[k])
                for k in ranks
            )
            yield [examined[k] * attracted[k] for k in ranks], probability


def click_patterns(probabilities: Sequence[float]) -> Iterator[tuple]:
    """Every pattern of independent clicks: (clicks, probability)."""
    for clicks in itertools.product((0, 1), repeat=len(probabilities)):
        yield (
            list(clicks),
            math.prod(p if c else 1 - p for c, p in zip(clicks, probabilities, strict=True)),
        )


# Policy gradient


def policy_gradient(
    scores: Sequence, page: Sequence[int], returns: Sequence[float], temperature: float = 1.0
) -> list[float]:
    """Σ_t G_t ∂ log π(a_t | s_t)/∂s_d, as the double sum over steps and remaining documents."""
    with localcontext(prec=DIGITS):
        gradient = [Decimal(0)] * len(scores)
        steps = step_probabilities(masses(scores, temperature), page)
        for document, worth, probability in zip(page, returns, steps, strict=True):
            for d, p in probability.items():
                gradient[d] += exactly(worth) * ((d == document) - p) / exactly(temperature)
        return [float(g) for g in gradient]


def log_policy(scores: Sequence, page: Sequence[int], returns: Sequence[float], temperature: float = 1.0) -> Decimal:
    """Σ_t G_t log π(a_t | s_t)."""
    with localcontext(prec=DIGITS):
        steps = step_probabilities(masses(scores, temperature), page)
        return sum(
            (exactly(g) * p[d].ln() for d, g, p in zip(page, returns, steps, strict=True)),
            Decimal(0),
        )


def difference_gradient(objective: Callable[[list], Decimal], scores: Sequence) -> list[float]:
    """Central finite differences of a function of the scores, in 50 digits."""
    with localcontext(prec=DIGITS):
        at = [exactly(s) for s in scores]
        result = []
        for d in range(len(at)):
            up = objective([*at[:d], at[d] + STEP, *at[d + 1 :]])
            down = objective([*at[:d], at[d] - STEP, *at[d + 1 :]])
            result.append(float((up - down) / (2 * STEP)))
        return result


def gradient_variance(X, scores, page, returns, temperature: float = 1.0) -> float:
    """The population variance of the K vectors G_t ∇_w log π_t, summed over features."""
    rows = np.asarray(X, dtype=np.float64)
    vectors = []
    steps = step_probabilities(masses(scores, temperature), page)
    for document, worth, probability in zip(page, returns, steps, strict=True):
        expected = sum(float(p) * rows[d] for d, p in probability.items())
        vectors.append(worth * (rows[document] - expected) / temperature)
    return float(np.var(vectors, axis=0).sum())


# The other methods


def pdgd_gradient(scores: Sequence, page: Sequence[int], clicks: Sequence[int]) -> list[float]:
    """Clicked i over unclicked j among ranks 1 … last click + 1, with whole-page probabilities."""
    gradient = [0.0] * len(scores)
    if not any(clicks):
        return gradient
    last_click = max(rank for rank, clicked in enumerate(clicks, start=1) if clicked)
    considered = range(min(last_click + 1, len(page)))
    for a, b in itertools.permutations(considered, 2):
        if clicks[a] and not clicks[b]:
            i, j = page[a], page[b]
            swapped = [{i: j, j: i}.get(d, d) for d in page]
            with localcontext(prec=DIGITS):
                shown, other = page_probability(scores, page), page_probability(scores, swapped)
                sigma = 1 / (1 + (exactly(scores[j]) - exactly(scores[i])).exp())
                slope = float(other / (shown + other) * sigma * (1 - sigma))
            gradient[i] += slope
            gradient[j] -= slope
    return gradient


def preference(ranking: Sequence[int], remaining: Sequence[int]) -> dict[int, float]:
    """P(d) ∝ 1/rank³ over a ranker's own ranking, original ranks kept, over what remains."""
    mass = {d: 1.0 / (ranking.index(d) + 1) ** 3 for d in remaining}
    total = math.fsum(mass.values())
    return {d: m / total for d, m in mass.items()}


def assignments(rankings: Sequence[Sequence[int]], page: Sequence[int]) -> Iterator[tuple]:
    """Every assignment of rankers to ranks with the joint probability of it and the page."""
    everything = range(len(rankings[0]))
    for assignment in itertools.product(range(len(rankings)), repeat=len(page)):
        probability = 1.0
        for t, ranker in enumerate(assignment):
            remaining = [d for d in everything if d not in page[:t]]
            probability *= preference(rankings[ranker], remaining)[page[t]] / len(rankings)
        yield assignment, probability


def multileaved_probability(rankings: Sequence[Sequence[int]], page: Sequence[int]) -> float:
    return math.fsum(probability for _, probability in assignments(rankings, page))


def placed_by(rankings: Sequence[Sequence[int]], page: Sequence[int]) -> np.ndarray:
    """(ranks, rankers): the posterior that a ranker placed the document of a rank."""
    posterior = np.zeros((len(page), len(rankings)))
    for assignment, probability in assignments(rankings, page):
        for t, ranker in enumerate(assignment):
            posterior[t, ranker] += probability
    return posterior / posterior.sum(axis=1, keepdims=True)


def coltr_risk(logged, candidate, page, clicks, variance_weight: float = 1.0) -> float:
    """SNIPS + weight·√(Var/m) with ρ = softmax(candidate)/softmax(logged) over all candidates."""
    last_click = max(rank for rank, clicked in enumerate(clicks, start=1) if clicked)
    loss = [int(not c and rank < last_click) for rank, c in enumerate(clicks, start=1)]
    with localcontext(prec=DIGITS):
        above, below = masses(candidate), masses(logged)
        ratio = [(above[d] / sum(above)) / (below[d] / sum(below)) for d in page]
        snips = sum(r * x for r, x in zip(ratio, loss, strict=True)) / sum(ratio)
        spread = sum(r * r * (x - snips) ** 2 for r, x in zip(ratio, loss, strict=True))
        variance = spread / sum(r * r for r in ratio)
        return float(snips + exactly(variance_weight) * (variance / len(page)).sqrt())


def mdprank_rewards(variant: str, grades: Sequence[int]) -> list[float]:
    """`paper`: 2^grade − 1, over log2(t + 1) from t = 1 on; `authors`: grade, over ln(t + 1)."""
    gain = [2.0**g - 1 if variant == "paper" else float(g) for g in grades]
    logarithm = math.log2 if variant == "paper" else math.log
    return [g if t == 0 else g / logarithm(t + 1) for t, g in enumerate(gain)]


def ndcg(page_grades: Sequence[int], candidate_grades: Sequence[int], k: int = 10) -> float:
    def dcg(grades: Sequence[int]) -> float:
        return math.fsum((2.0**g - 1) * weight(rank) for rank, g in enumerate(grades[:k], 1))

    ideal = dcg(sorted(candidate_grades, reverse=True))
    return dcg(list(page_grades)) / ideal if ideal else 0.0


def exactly(value) -> Decimal:
    """A binary number as the decimal that it is."""
    return value if isinstance(value, Decimal) else Decimal(float(value))


def drafted_probability(rankings, page) -> float:
    """Every outcome of every coin, played out: the share of those that end with this page."""
    rounds = -(-len(page) // 2)
    hits = 0
    for coins in itertools.product((0, 1), repeat=rounds):
        drawn: list[int] = []
        for t in range(len(page)):
            team = coins[t // 2] if t % 2 == 0 else 1 - coins[t // 2]
            drawn.append(next(d for d in rankings[team] if d not in drawn))
        hits += drawn == list(page)
    return hits / 2**rounds
