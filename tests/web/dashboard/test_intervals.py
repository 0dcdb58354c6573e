"""Intervals cover the truth as often as they say."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from rankloop.web.dashboard import intervals
from rankloop.web.dashboard.intervals import Estimate, Sums

from .summed import sums_of


@pytest.mark.parametrize(("clicks", "shown"), [(0, 1), (3, 10), (10, 10), (1, 5000)])
def test_click_through_has_wilsons_interval(clicks, shown):
    reference = binomtest(clicks, shown).proportion_ci(method="wilson")
    told = intervals.share(Sums(shown, float(clicks)))
    assert told == pytest.approx((clicks / shown, reference.low, reference.high), abs=1e-12)


def test_wilsons_interval_covers_the_truth_in_about_95_of_100_cases():
    # Exactly, over all outcomes of 50 pages; single p vary around 95 %, so the mean over p is looked at.
    told = [intervals.share(Sums(50, float(clicks))) for clicks in range(51)]
    shares = np.linspace(0.01, 0.99, 99)
    covered = [sum(binom.pmf(k, 50, p) for k, one in enumerate(told) if one.low <= p <= one.high) for p in shares]
    assert 0.94 < np.mean(covered) < 0.96
    assert min(covered) > 0.85


def test_a_mean_has_the_normal_interval_of_its_pages():
    clicks = np.random.default_rng(1).poisson(1.3, 400).astype(float)
    half = 1.96 * clicks.std(ddof=1) / 20
    assert intervals.mean(sums_of(clicks)) == pytest.approx(
        (clicks.mean(), clicks.mean() - half, clicks.mean() + half), rel=1e-4
    )


def test_clicks_are_never_fewer_than_none():
    assert intervals.mean(Sums(3, 1.0, 1.0)).low == 0.0


def test_too_little_is_not_made_into_an_interval():
    assert intervals.mean(Sums()) == Estimate(None)
    assert intervals.mean(Sums(1, 2.0, 4.0)) == Estimate(2.0)
