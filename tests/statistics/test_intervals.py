"""Intervals are as wide as the tables in the back of a textbook say."""

import math

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.statistics import Difference, interval, ratios
from rankloop.statistics.intervals import (
    MIXED,
    anytime_confidence,
    anytime_half_width,
    half_width,
    ratio_interval,
    sample_variance,
    wilson,
)
from rankloop.statistics.summaries import (
    interquartile_mean_interval,
    performance_profile_band,
    probability_of_improvement_interval,
)


@pytest.mark.parametrize(
    ("confidence", "degrees", "wanted"),
    [(0.95, float("inf"), 1.95996), (0.9, float("inf"), 1.64485), (0.95, 1, 12.7062), (0.99, 10, 3.16927)],
)
def test_a_standard_error_is_multiplied_by_the_two_sided_quantile(confidence, degrees, wanted):
    assert half_width(2.0, confidence, degrees) == pytest.approx(2.0 * wanted, rel=1e-5)


def test_wilsons_interval_is_where_the_share_is_just_not_rejected():
    """Its ends are the shares p with |share − p| = z √(p(1 − p)/n)."""
    for share, n in ((0.3, 20), (0.5, 7), (0.99, 400)):
        for end in wilson(share, n):
            assert abs(share - end) == pytest.approx(1.959964 * (end * (1 - end) / n) ** 0.5, rel=1e-6)
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == 1.0


@pytest.mark.parametrize("n", [1, 60, 4_000])
def test_an_interval_for_all_times_ends_where_the_mixture_of_likelihood_ratios_is_one_over_its_level(n):
    """For a sum S of n standard normal numbers: ∫ exp(μS − nμ²/2) dN(μ; 0, 1/m) = 1/α (Robbins, 1970)."""
    total = n * anytime_half_width(1 / math.sqrt(n), n)
    mu = np.linspace(-20, 20, 400_001) / math.sqrt(MIXED)
    prior = np.exp(-(mu**2) * MIXED / 2) * math.sqrt(MIXED / (2 * math.pi))
    mixture = (np.exp(mu * total - n * mu**2 / 2) * prior).sum() * (mu[1] - mu[0])
    assert mixture == pytest.approx(1 / 0.05, rel=1e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_confidence_of_a_distance_is_that_of_the_interval_which_ends_there(confidence):
    for n in (30, 4_000):
        errors = anytime_half_width(1.0, n, confidence)
        assert anytime_confidence(errors, n) == pytest.approx(confidence)
    assert anytime_confidence(0.1, 50) == 0.0


@pytest.mark.parametrize("above", [0.0, 0.1, 1.0, 1.5])
@pytest.mark.parametrize("below", [0.0, 0.15, 1.0])
def test_an_interval_of_ratios_holds_those_that_the_difference_does_not_rule_out(above, below):
    """Against the definition, ratio by ratio."""
    low, high = ratio_interval(above, below, 0.02, 0.01, 1.9)
    for ratio in np.linspace(0.001, 40, 4_001):
        ruled_out = abs(above - ratio * below) > 1.9 * math.sqrt(0.02 + ratio**2 * 0.01)
        assert ruled_out == (not low <= ratio <= high), ratio


def test_a_variance_is_that_of_the_numbers_summed():
    values = np.array([0.0, 1.0, 1.0, 3.0])
    assert sample_variance(4, values.sum(), (values**2).sum()) == pytest.approx(values.var(ddof=1))
    assert sample_variance(1, 2.0, 4.0) == 0.0
    assert sample_variance(3, 0.3, 3 * 0.1**2) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, math.nan, None, "sure", True])
@pytest.mark.parametrize(
    "make",
    [
        lambda confidence: half_width(1.0, confidence),
        lambda confidence: half_width(1.0, confidence, degrees=3),
        lambda confidence: wilson(0.5, 10, confidence),
        lambda confidence: anytime_half_width(1.0, 100, confidence),
        lambda confidence: Difference(1.0, 0.0, 2.0).half_width(confidence),
        lambda confidence: interval([1.0], confidence=confidence),
        lambda confidence: ratios.ratio([1.0, 2.0], [1.0, 2.0], paired=True, confidence=confidence),
        lambda confidence: ratios.fieller([1.0], [2.0], confidence=confidence),
        lambda confidence: interquartile_mean_interval([1.0, 2.0], confidence=confidence),
        lambda confidence: probability_of_improvement_interval([1.0], [2.0], confidence=confidence),
        lambda confidence: performance_profile_band([1.0], [0.5], confidence=confidence),
    ],
)
def test_a_confidence_that_is_none_is_refused_wherever_intervals_are_made(make, confidence):
    with pytest.raises(SettingsError, match=r"confidence must be a number, above 0 and at most 0\.999999"):
        make(confidence)
