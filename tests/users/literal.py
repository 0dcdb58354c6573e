"""What people do on a page, word for word from the definitions and slow: every pattern of clicks with its probability.

Each kind is written here as the literature states it, rank by rank; nothing is shared with the tables of the package.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

Patterns = dict[tuple[int, ...], float]


def independent(chances: Sequence[float]) -> Patterns:
    """Ranks are clicked independently."""
    return {
        pattern: math.prod(p if clicked else 1 - p for clicked, p in zip(pattern, chances, strict=True))
        for pattern in itertools.product((0, 1), repeat=len(chances))
    }


def downwards(gammas: Sequence[float], after_click: Callable, after_skip: Callable) -> Patterns:
    """e_1 = 1; who examines k clicks with γ, and examines k + 1 with a probability that depends on what they did."""
    found: Counter = Counter()

    def at(k: int, examined: bool, done: tuple[int, ...], probability: float) -> None:
        if k == len(gammas):
            found[done] += probability
        elif not examined:
            at(k + 1, False, (*done, 0), probability)
        else:
            for clicked, chance in ((1, gammas[k]), (0, 1 - gammas[k])):
                on = after_click(k) if clicked else after_skip(k)
                at(k + 1, True, (*done, clicked), probability * chance * on)
                at(k + 1, False, (*done, clicked), probability * chance * (1 - on))

    at(0, True, (), 1.0)
    return dict(found)


def cascade(gammas, stops, rule: str) -> Patterns:
    skip = {"after-click": lambda k: 1.0, "anywhere": lambda k: 1 - stops[k]}[rule]
    return downwards(gammas, lambda k: 1 - stops[k], skip)


def bayesian(gammas, satisfied, going_on: float) -> Patterns:
    return downwards(gammas, lambda k: going_on * (1 - satisfied[k]), lambda k: going_on)


def click_chain(gammas, tau) -> Patterns:
    return downwards(gammas, lambda k: tau[1] * (1 - gammas[k]) + tau[2] * gammas[k], lambda k: tau[0])


def browsing(gammas, theta) -> Patterns:
    """P(click at k) = γ θ[k, distance to the last click], the last column where there is none; ranks from 1."""
    made = {}
    for pattern in itertools.product((0, 1), repeat=len(gammas)):
        probability = 1.0
        for k in range(1, len(gammas) + 1):
            above = [j for j in range(1, k) if pattern[j - 1]]
            chance = gammas[k - 1] * (theta[k - 1][k - max(above) - 1] if above else theta[k - 1][-1])
            probability *= chance if pattern[k - 1] else 1 - chance
        made[pattern] = probability
    return made


def trust(gammas) -> Patterns:
    """α_k γ + β_k, rank r from 0."""
    chances = []
    for r, gamma in enumerate(gammas):
        theta = 0.35 / (r + 1) + 0.65 / (1 + 0.05 * r)
        plus, minus = 1 / (1 + 0.005 * r), 0.65 / (r + 1)
        chances.append(theta * (plus - minus) * gamma + theta * minus)
    return independent(chances)


def mixed(parts: Sequence[tuple[float, Patterns]]) -> Patterns:
    """One of several, drawn for the whole page."""
    return {pattern: sum(share * one[pattern] for share, one in parts) for pattern in parts[0][1]}


def marginals(patterns: Patterns) -> list[float]:
    """P(click) of each rank."""
    return [sum(p for pattern, p in patterns.items() if pattern[k]) for k in range(len(next(iter(patterns))))]
