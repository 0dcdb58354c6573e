"""Intervals and tests agree with scipy; degenerate samples get the certain answer instead of NaN."""

import math

import numpy as np
import pytest
from scipy import stats

from rankloop.studies.statistics import compare, interval


@pytest.mark.parametrize("seed", range(5))
def test_intervals_and_p_values_are_scipys(seed):
    draws = np.random.default_rng(seed)
    a, b = draws.normal(1.0, 2.0, 15), draws.normal(0.0, 1.0, 15)
    low, high = stats.t.interval(0.95, len(a) - 1, loc=a.mean(), scale=stats.sem(a))
    ours = interval(a)
    assert ours.mean - ours.half_width == pytest.approx(low, rel=1e-12)
    assert ours.mean + ours.half_width == pytest.approx(high, rel=1e-12)
    compared = compare(a, b)
    assert compared.welch_p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-12)
    assert compared.paired_p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)


def test_one_run_has_no_interval_and_no_p_value():
    assert math.isnan(interval([3.0]).half_width)
    compared = compare([3.0], [2.0])
    assert math.isnan(compared.welch_p)
    assert math.isnan(compared.paired_p)
    assert compared.mark == ""


def test_samples_without_spread_are_certain():
    assert compare([1.0, 1.0], [1.0, 1.0]).welch_p == 1.0
    assert compare([2.0, 2.0], [1.0, 1.0]).welch_p == 0.0
    assert compare([2.0, 3.0], [1.0, 2.0]).paired_p == 0.0


def test_marks_tell_gain_from_loss_and_strong_from_weak():
    base = np.array([0.0, 0.1, -0.1, 0.05, -0.05])
    assert compare(base + 5, base).mark == "▲"
    assert compare(base - 5, base).mark == "▼"
    assert compare(base, base).mark == ""
    weak = compare(base + 0.13, base)
    assert 0.01 < weak.welch_p < 0.05
    assert weak.mark == "△"
