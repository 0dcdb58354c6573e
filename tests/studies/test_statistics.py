"""Intervals and tests agree with scipy, Holm with a worked example; degenerate samples get a defined answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloop.studies.published import TABLE_2
from rankloop.studies.statistics import (
    compare,
    d_z,
    difference,
    hedges_g,
    holm,
    interval,
    log_ratio,
    ratio,
)

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("paired", [True, False])
def test_one_sided_tests_and_equivalence_are_scipys(seed, paired):
    draws = np.random.default_rng(seed)
    a, b, margin = draws.normal(0.1, 0.4, 12), draws.normal(0.0, 0.5, 12 if paired else 9), 0.5
    ours = difference(a, b, paired=paired)

    def scipys(shift, alternative):
        if paired:
            return stats.ttest_rel(a - shift, b, alternative=alternative)
        return stats.ttest_ind(a - shift, b, equal_var=False, alternative=alternative)

    above, below = scipys(-margin, "greater").pvalue, scipys(margin, "less").pvalue
    assert ours.p_above(-margin) == pytest.approx(above, rel=1e-9)
    assert ours.p_below(margin) == pytest.approx(below, rel=1e-9)
    assert difference(a, b, paired=paired).p_within(-margin, margin) == pytest.approx(max(above, below), rel=1e-9)
    assert ours.p(0.2) == pytest.approx(scipys(0.2, "two-sided").pvalue, rel=1e-9)
    low, high = scipys(0.0, "two-sided").confidence_interval(0.95)
    assert ours.estimate - ours.half_width() == pytest.approx(low, rel=1e-9)
    assert ours.estimate + ours.half_width() == pytest.approx(high, rel=1e-9)


def test_a_large_p_is_not_equivalence():
    draws = np.random.default_rng(2)
    a, b = draws.normal(0, 1, 4), draws.normal(0, 1, 4)
    assert compare(a, b).paired_p > 0.05
    assert difference(a, b, paired=True).p_within(-0.01, 0.01) > 0.05


def test_pairs_must_be_pairs():
    with pytest.raises(ValueError, match="the same size; got 2 and 3"):
        difference([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)


def test_holm_by_hand():
    # Sorted: 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 gives 0.02, 0.03, 0.06, 0.04; the last may not fall below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_leaves_out_tests_that_were_not_made():
    adjusted = holm([0.02, math.nan, 0.03])
    assert adjusted[0] == adjusted[2] == pytest.approx(0.04)
    assert math.isnan(adjusted[1])


@given(P_VALUES)
def test_holm_is_never_below_the_raw_p_nor_above_1_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(raw <= corrected <= 1 for raw, corrected in zip(p_values, adjusted, strict=True))
    in_order = [adjusted[i] for i in np.argsort(p_values, kind="stable")]
    assert in_order == sorted(in_order)


@given(P_VALUES, st.randoms())
def test_holm_does_not_depend_on_the_order_of_the_tests(p_values, random):
    places = list(range(len(p_values)))
    random.shuffle(places)
    shuffled = holm([p_values[i] for i in places])
    assert shuffled == [holm(p_values)[i] for i in places]


def test_effect_sizes_by_hand():
    # Means 3 and 2, pooled deviation 1, 4 degrees of freedom: J = Γ(2) / (√2 Γ(1.5)) = 0.7979.
    assert hedges_g([2, 3, 4], [1, 2, 3]) == pytest.approx(0.797885, abs=1e-6)
    # Differences 1, 2, 3: mean 2, deviation 1, 2 degrees of freedom: J = Γ(1) / (1 · Γ(0.5)) = 0.5642.
    assert d_z([2, 3, 4], [1, 1, 1]) == pytest.approx(2 * 0.564190, abs=1e-6)


def test_effect_sizes_are_unbiased():
    draws = np.random.default_rng(1)
    a, b = draws.normal(1, 1, (4000, 5)), draws.normal(0, 1, (4000, 5))
    # The standard error of the mean of 4000 draws is about 0.012 (g) and 0.012 (d_z).
    assert np.mean([hedges_g(x, y) for x, y in zip(a, b, strict=True)]) == pytest.approx(1.0, abs=0.05)
    assert np.mean([d_z(x, np.zeros(5)) for x in a]) == pytest.approx(1.0, abs=0.05)


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


def test_the_inverse_ratio_has_the_inverse_interval():
    a, b = [1.0, 1.2, 0.9], [2.0, 2.1, 2.3]
    one, other = ratio(a, b, paired=True), ratio(b, a, paired=True)
    assert (1 / one.estimate, 1 / one.high, 1 / one.low) == pytest.approx(other)
    assert math.exp(log_ratio(a, b, paired=True).estimate) == pytest.approx(one.estimate)


def test_degenerate_samples_get_a_defined_answer():
    assert difference([1.0, 1.0], [1.0, 1.0], paired=True).p_within(-0.01, 0.01) == 0.0
    assert difference([2.0, 2.0], [1.0, 1.0], paired=False).p_within(-0.01, 0.01) == 1.0
    assert math.isnan(difference([1.0], [1.0], paired=True).p_within(-0.01, 0.01))
    assert difference([0.1 + 0.2] * 3, [0.3] * 3, paired=True).p() == 1.0
    assert hedges_g([1.0, 1.0], [1.0, 1.0]) == 0.0
    assert d_z([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]) == math.inf
    assert math.isnan(hedges_g([1.0], [1.0, 2.0]))
    assert math.isnan(d_z([1.0, 2.0], [1.0, 1.0]))
    assert ratio([2.0, 2.0], [1.0, 1.0], paired=False) == pytest.approx((2.0, 2.0, 2.0))
    assert math.isnan(ratio([1.0, 2.0], [-1.0, 1.0], paired=True).estimate)
    assert math.isnan(ratio([], [], paired=True).estimate)


def test_nan_among_the_values_is_never_significant():
    with_nan = [1.0, math.nan, 2.0]
    assert math.isnan(compare(with_nan, [5.0, 6.0, 7.0]).welch_p)
    assert math.isnan(compare(with_nan, [5.0, 6.0, 7.0]).paired_p)
    assert compare(with_nan, [5.0, 6.0, 7.0]).mark == ""
    assert math.isnan(difference(with_nan, with_nan, paired=True).p_within(-0.1, 0.1))
    assert math.isnan(hedges_g(with_nan, [5.0, 6.0, 7.0]))
    assert math.isnan(interval(with_nan).mean)
    assert math.isnan(interval([]).mean)
    assert math.isnan(compare([], []).difference)


def test_table_2_is_the_papers():
    assert len(TABLE_2) == 30
    assert TABLE_2["perfect", "ROLTR", "mslr-web10k"] == (587.46, "△")
    assert TABLE_2["noisy", "COLTR", "istella"] == (238.30, "")
    assert TABLE_2["noisy", "ROLTR", "istella"] == (654.04, "▲")
    assert TABLE_2["perfect", "PDGD", "yahoo-set1"] == (1310.99, "")
