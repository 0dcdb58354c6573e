"""The linear ranker: scores, steps and starts, held against NumPy."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.kernels.matrix import padded
from rankloop.rankers.linear import (
    INITIALS,
    LINEAR,
    LinearWeights,
    ascend_linear,
    score_linear,
    score_linear_columns,
    starting_weights,
    take_step,
)

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_a_step_is_the_transposed_product(rows):
    X = RNG.normal(size=(rows, 21)).astype(np.float32)
    g = RNG.normal(size=rows)
    g[rows // 2] = 0.0
    start = RNG.normal(size=21)
    ranker = LinearWeights.of(start)
    ascend_linear(ranker, X, np.pad(g, (0, 16)), 0.25, np.zeros(padded(21), np.float32))
    assert ranker.weights == pytest.approx(start + 0.25 * X.T.astype(float) @ g, rel=1e-5, abs=1e-6)
    assert ranker.rounded.tolist() == ranker.weights.astype(np.float32).tolist()


def test_a_million_small_steps_add_up():
    ranker = LinearWeights.of([1.0])
    for _ in range(1000):
        take_step(ranker, np.array([1.0], np.float32), 1e-9)  # each is lost in float32
    assert ranker.weights[0] == pytest.approx(1.0 + 1e-6, rel=1e-12)


def test_many_rankers_score_as_one_by_one():
    X, W = RNG.normal(size=(5, 8)).astype(np.float32), RNG.normal(size=(3, 8))
    together = np.full((5, padded(3)), 7.0, np.float32)
    score_linear_columns(LINEAR.several(W, 8), X, together)
    for ranker, weights in enumerate(W):
        alone = np.zeros(5, np.float32)
        score_linear(LinearWeights.of(weights), X, alone)
        assert together[:, ranker] == pytest.approx(alone, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("initial", INITIALS)
def test_a_start_is_a_function_of_the_seed(initial):
    one, two = starting_weights(initial, 50, 1), starting_weights(initial, 50, 2)
    assert one.tolist() == starting_weights(initial, 50, 1).tolist()
    assert (one.tolist() == two.tolist()) == (initial == "zeros")


def test_the_truncated_normal_ends_at_two_standard_deviations_and_fills_them():
    """Of 10,000 weights the largest lies beyond 1.9 of the 2 with a probability of 1 − 10^-30."""
    weights = starting_weights("truncated-normal", 10_000, 3) * 100 / 0.1
    assert 1.9 < np.abs(weights).max() < 2.0


@pytest.mark.parametrize(
    ("weights", "reason"), [([1.0], "3 finite numbers, one per feature; got shape"), ([1, 2, np.inf], "not finite")]
)
def test_weights_that_do_not_fit_are_refused(weights, reason):
    with pytest.raises(SettingsError, match=reason):
        LINEAR.parameters("zeros", 3, 1, weights)


def test_given_weights_are_copied():
    given = np.ones(3)
    LINEAR.parameters("zeros", 3, 1, given).weights[0] = 5.0
    assert given.tolist() == [1.0, 1.0, 1.0]
