"""Rewards as public functions: shapes, graded clicks and refusals. The theorems are in proofs/."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.rewards import REWARDS, returns, reward_table, rewards


def test_there_are_six_and_both_signs_are_the_sum_of_one_of_each():
    assert REWARDS == ("naive+", "naive-", "naive+-", "ips+", "ips-", "ips+-")
    p = [1.0, 0.4, 0.2]
    for family in ("naive", "ips"):
        both = np.array(reward_table(f"{family}+-", p))
        parts = np.array(reward_table(f"{family}+", p)) + reward_table(f"{family}-", p)
        np.testing.assert_allclose(both, parts, rtol=1e-15)


def test_naive_is_ips_with_every_rank_surely_examined():
    for sign in ("+", "-", "+-"):
        naive = reward_table(f"naive{sign}", [1.0, 0.4, 0.2])
        sure = reward_table(f"ips{sign}", [1.0, 1.0, 1.0])
        assert np.array_equal(naive, sure)


def test_a_fractional_click_is_worth_the_mixture():
    p = [1.0, 0.5]
    mixed = rewards("ips+-", [0.25, 0.25], p)
    ends = 0.25 * rewards("ips+-", [1, 1], p) + 0.75 * rewards("ips+-", [0, 0], p)
    np.testing.assert_allclose(mixed, ends, rtol=1e-15)


def test_a_short_page_uses_the_first_propensities():
    assert rewards("ips+", [1], [0.5, 0.25, 0.1]).tolist() == [2.0]


def test_an_unknown_reward_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"'naive\+'.*'ips\+-'; got 'ips'"):
        rewards("ips", [1], [1.0])


@pytest.mark.parametrize("propensities", [[0.0], [-0.5], [1.5], [float("nan")]])
def test_propensities_that_are_no_probabilities_are_refused(propensities):
    with pytest.raises(SettingsError, match="propensit"):
        rewards("ips+", [1], propensities)


def test_fewer_propensities_than_clicks_are_refused():
    with pytest.raises(SettingsError, match="propensit"):
        rewards("ips+", [1, 0], [0.5])


@pytest.mark.parametrize("discount", [-0.1, 1.1, float("nan")])
def test_a_discount_outside_zero_to_one_is_refused(discount):
    with pytest.raises(SettingsError, match="discount"):
        returns([1.0], discount)
