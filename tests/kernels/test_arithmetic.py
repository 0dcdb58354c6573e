"""Elementary functions to a unit in the last place, and sums whose order is written down."""

import math

import numpy as np
import pytest

from rankloop.kernels.arithmetic import exp, exp32, log, log32, tanh32
from rankloop.rankers import LinearWeights
from rankloop.rankers.linear import score_linear

RNG = np.random.default_rng(1)
POINTS = 5000


def worst_error(function, reference, points, kind) -> float:
    """In units of the last place of the true value, which is taken in extended precision."""
    got = np.array([function(kind(x)) for x in points], kind)
    wanted = reference(points.astype(kind).astype(np.longdouble))
    unit = np.spacing(np.abs(wanted).astype(kind)).astype(np.longdouble)
    return float(np.max(np.abs(got.astype(np.longdouble) - wanted) / unit))


# "About one unit in the last place": a correctly rounded result would be within a half.
@pytest.mark.parametrize("spread", [1e-8, 1e-3, 1.0, 50.0, 707.0])
def test_exp_is_right_to_one_unit(spread):
    assert worst_error(exp, np.exp, RNG.uniform(-spread, spread, POINTS), np.float64) < 1.0


@pytest.mark.parametrize("spread", [1e-3, 1.0, 20.0, 86.0])
def test_exp32_is_right_to_one_unit(spread):
    assert worst_error(exp32, np.exp, RNG.uniform(-spread, spread, POINTS), np.float32) < 1.0


@pytest.mark.parametrize("spread", [1e-6, 0.3, 10.0, 700.0])
def test_log_is_right_to_one_unit(spread):
    points = np.exp(RNG.uniform(-spread, spread, POINTS))
    assert worst_error(log, np.log, points, np.float64) < 1.0


@pytest.mark.parametrize("spread", [1e-2, 0.3, 10.0, 80.0])
def test_log32_is_right_to_one_unit(spread):
    points = np.exp(RNG.uniform(-spread, spread, POINTS))
    assert worst_error(log32, np.log, points, np.float32) < 1.0


def test_exp_ends_at_zero_and_never_overflows():
    assert [exp(x) for x in (-math.inf, -1e308, -800.0, -709.0)] == [0.0] * 4
    assert exp(0.0) == 1.0
    assert exp(1e308) == exp(709.0) == pytest.approx(math.exp(709.0), rel=1e-15)
    assert [exp32(np.float32(x)) for x in (-np.inf, -1e30, -88.0)] == [0.0] * 3
    assert exp32(np.float32(0.0)) == 1.0
    assert np.isfinite(exp32(np.float32(1e30)))


def test_log_of_one_is_zero_and_of_small_numbers_is_right():
    assert log(1.0) == 0.0
    assert log(2.0**-53) == pytest.approx(-53 * math.log(2), rel=1e-15)
    assert log32(np.float32(1.0)) == 0.0


@pytest.mark.parametrize("length", [*range(71), 136, 220, 700])
def test_a_dot_product_of_any_length_is_right_to_its_rounding_bound(length):
    X = RNG.normal(size=(3, length)).astype(np.float32)
    w = RNG.normal(size=length).astype(np.float32)
    scores = np.zeros(3, np.float32)
    score_linear(LinearWeights.of(w), X, scores)
    exact = X.astype(float) @ w.astype(float)
    # Each lane adds ⌈n/16⌉ products with one rounding each, the tree four more.
    bound = (math.ceil(length / 16) + 4) * 2.0**-24 * (np.abs(X).astype(float) @ np.abs(w))
    assert (np.abs(scores - exact) <= bound).all()


@pytest.mark.parametrize("length", [1, 15, 16, 17, 136])
def test_a_dot_product_reads_nothing_beyond_its_row(length):
    X = np.full((3, length), np.nan, np.float32)
    X[1] = 1.0
    scores = np.zeros(3, np.float32)
    score_linear(LinearWeights.of(np.ones(length)), X, scores)
    assert np.isnan(scores[[0, 2]]).all()
    assert scores[1] == length


def test_tanh32_is_right_to_a_unit_of_the_last_place_of_1():
    points = np.concatenate([RNG.uniform(-4, 4, 500), RNG.uniform(-0.01, 0.01, 500)]).astype(np.float32)
    found = np.array([tanh32(x) for x in points])
    assert np.abs(found - np.tanh(points.astype(float))).max() < 2.0**-22
    assert [tanh32(np.float32(x)) for x in (-np.inf, -50.0, 0.0, 50.0, np.inf)] == [-1.0, -1.0, 0.0, 1.0, 1.0]
