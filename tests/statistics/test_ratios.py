"""Intervals of ratios cover the truth as often as they say; Fieller's holds what a paired test cannot refuse."""

import math

import numpy as np
import pytest
from scipy import stats

from rankloop.statistics.ratios import fieller, log_ratio, ratio


@pytest.mark.thorough
@pytest.mark.parametrize("paired", [True, False])
def test_the_interval_of_a_ratio_covers_the_truth_19_times_in_20(paired):
    draws = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        shared = draws.normal(0, 0.1, 15)
        a, b = 5 * (1 + shared + draws.normal(0, 0.1, 15)), 10 * (1 + shared + draws.normal(0, 0.1, 15))
        if not paired:
            b = 10 * (1 + draws.normal(0, 0.14, 15))
        ours = ratio(a, b, paired=paired)
        covered += ours.low < 0.5 < ours.high
    assert 925 < covered < 975  # 950 expected, standard deviation 7


@pytest.mark.thorough
@pytest.mark.parametrize("folds", [None, [1, 1, 1, 1, 2, 2, 2, 2]])
def test_fieller_s_interval_covers_a_ratio_19_times_in_20_in_small_samples_of_pairs(folds):
    """Eight pairs with a common part, 4,000 times: an exact interval misses 200 times, ± 50 once in 3,000 times."""
    draws = np.random.default_rng(11)
    shift = np.zeros(8) if folds is None else 3.0 * (np.array(folds) == 2)
    missed = 0
    for _ in range(4000):
        common = draws.normal(0, 1.5, 8)
        a, b = 5.0 + 0.5 * shift + common + draws.normal(0, 0.5, 8), 10.0 + shift + common + draws.normal(0, 1.0, 8)
        truth = (5.0 + 0.5 * shift.mean()) / (10.0 + shift.mean())
        found = fieller(a, b, folds)
        missed += not found.low <= truth <= found.high
    assert abs(missed - 200) <= 50


def test_fieller_holds_the_ratios_that_a_paired_test_cannot_refuse():
    a, b = np.array([1.0, 1.4, 0.9, 1.2, 1.1]), np.array([2.0, 2.3, 2.1, 1.8, 2.2])
    found = fieller(a, b)
    for rho, refused in ((found.low, False), (found.high, False), (found.low - 0.01, True), (found.high + 0.01, True)):
        p = stats.ttest_1samp(a - rho * b, 0.0).pvalue
        assert p < 0.05 if refused else p == pytest.approx(0.05)


def test_fieller_s_interval_is_unbounded_where_the_reference_may_be_0():
    assert fieller([1.0, 2.0, 3.0], [1.0, -1.0, 0.5])[1:] == (-math.inf, math.inf)
    assert math.isnan(fieller([1.0], [2.0]).low)
    assert math.isnan(fieller([], []).estimate)
    with pytest.raises(ValueError, match="same size"):
        fieller([1.0], [1.0, 2.0])


def test_the_inverse_ratio_has_the_inverse_interval():
    a, b = [1.0, 1.2, 0.9], [2.0, 2.1, 2.3]
    one, other = ratio(a, b, paired=True), ratio(b, a, paired=True)
    assert (1 / one.estimate, 1 / one.high, 1 / one.low) == pytest.approx(other)
    assert math.exp(log_ratio(a, b, paired=True).estimate) == pytest.approx(one.estimate)


def test_degenerate_samples_get_a_defined_answer():
    assert ratio([2.0, 2.0], [1.0, 1.0], paired=False) == pytest.approx((2.0, 2.0, 2.0))
    assert math.isnan(ratio([1.0, 2.0], [-1.0, 1.0], paired=True).estimate)
    assert math.isnan(ratio([], [], paired=True).estimate)
