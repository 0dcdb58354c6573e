"""Small worlds in which everything can be counted: all pages, all clicks, with their probabilities."""

import itertools
import math

import numpy as np

from rankloop.offpolicy import Greedy
from rankloop.policies import probability
from rankloop.users import PositionBased


def pages(candidates: int, size: int):
    return [list(page) for page in itertools.permutations(range(candidates), size)]


def page_probability(scores, page, policy) -> float:
    if isinstance(policy, Greedy):
        best = sorted(range(len(scores)), key=lambda d: (-scores[d], d))
        return float(page == best[: len(page)])
    return probability(scores, page, policy.temperature)


def counted_positions(scores, ranks: int, policy) -> np.ndarray:
    """P(document at rank), by adding up the probabilities of all pages."""
    found = np.zeros((len(scores), ranks))
    for page in pages(len(scores), ranks):
        found[page, range(ranks)] += page_probability(scores, page, policy)
    return found


def outcomes(user: PositionBased, grades, page):
    """Every combination of clicks on a page, with its probability."""
    chances = user.click_probabilities([grades[d] for d in page])
    for clicks in itertools.product([0, 1], repeat=len(page)):
        yield list(clicks), math.prod(p if c else 1 - p for c, p in zip(clicks, chances, strict=True))


def true_value(scores, grades, user: PositionBased, policy, gains) -> float:
    """Expected gain of a policy's page, by adding up all pages."""
    return math.fsum(
        page_probability(scores, page, policy)
        * float(np.array(gains) @ user.click_probabilities([grades[d] for d in page]))
        for page in pages(len(scores), len(gains))
    )
