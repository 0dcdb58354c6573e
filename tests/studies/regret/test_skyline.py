"""The skyline is what its definition says: loss and gradient against literal ones, the fit at a minimum, S by hand."""

import math

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.collection import Split
from rankloop.studies.regret.skyline import RIDGE, TOLERANCE, GradedQueries, fit, value_of

# Two queries with something relevant, of three and two documents, and one between them without.
SPLIT = Split.of(
    features=[[0.1, 0.9], [0.5, 0.2], [0.3, 0.3], [0.7, 0.7], [0.2, 0.1], [0.9, 0.4], [0.0, 1.0]],
    grades=[2, 0, 1, 0, 0, 1, 0],
    queries=[1, 1, 1, 2, 2, 3, 3],
)


def literal_loss(weights):
    """Query by query, as the definition is written."""
    total, queries = 0.0, 0
    for query in range(SPLIT.queries):
        rows = range(SPLIT.offsets[query], SPLIT.offsets[query + 1])
        gains = [2 ** int(SPLIT.grades[row]) - 1 for row in rows]
        if not sum(gains):
            continue
        scores = [float(SPLIT.features[row].astype(float) @ weights) for row in rows]
        mass = sum(map(math.exp, scores))
        total -= sum(gain / sum(gains) * math.log(math.exp(s) / mass) for gain, s in zip(gains, scores, strict=True))
        queries += 1
    return total / queries + RIDGE * sum(w * w for w in weights)


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.5, -2.0), (-30.0, 12.0)])
def test_the_loss_and_its_gradient_are_the_definitions(weights):
    loss, gradient = GradedQueries.of(SPLIT).loss(np.array(weights))
    assert loss == pytest.approx(literal_loss(np.array(weights)), rel=1e-9)
    for j, step in enumerate(np.eye(2) * 1e-5):
        ends = [literal_loss(np.array(weights) + sign * step) for sign in (1, -1)]
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_fit_ends_where_the_gradient_is_gone():
    found = fit(SPLIT)
    assert found.gradient_norm <= TOLERANCE
    assert np.linalg.norm(GradedQueries.of(SPLIT).loss(found.weights)[1]) <= TOLERANCE
    least = literal_loss(found.weights)
    draws = np.random.default_rng(1)
    assert all(literal_loss(found.weights + draws.normal(0, 0.1, 2)) > least for _ in range(20))


def test_a_real_collection_is_fitted_to_the_same_norm():
    data = rl.load("tiny")
    found = fit(data.train)
    assert found.gradient_norm <= TOLERANCE
    assert value_of(found.weights, data.train, 10) > value_of(np.ones(data.features), data.train, 10)


def test_a_query_with_nothing_relevant_counts_nothing():
    weights = np.array([0.0, 1.0])  # orders the first query perfectly, the last one the wrong way round
    wrong = 1 / math.log2(3)
    assert value_of(weights, SPLIT, 10) == pytest.approx((1.0 + 0.0 + wrong) / 3)


def test_with_nothing_to_be_told_there_is_nothing_to_fit():
    nothing = Split.of(features=[[1.0], [2.0]], grades=[0, 0], queries=[1, 1])
    assert fit(nothing).weights.tolist() == [0.0]
