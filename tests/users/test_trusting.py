"""Trust: clicks that depend on the rank as well as on the document."""

import pytest

from rankloop.users import trust


def test_near_the_top_even_the_irrelevant_is_clicked():
    """α_k γ + β_k with γ = 0 and γ = 1, by the published curves at ranks 1 and 10."""
    low, high = trust([0.0, 1.0]).click_probabilities([0] * 10), trust([0.0, 1.0]).click_probabilities([1] * 10)
    assert (low[0], high[0]) == pytest.approx((0.65, 1.0))
    theta = 0.35 / 10 + 0.65 / (1 + 0.05 * 9)
    assert (low[9], high[9]) == pytest.approx((theta * 0.065, theta / 1.045))


def test_curves_may_be_given():
    user = trust([0.0, 1.0], examination="slow", attracted=[0.9, 0.8], repelled=[0.5, 0.25])
    assert user.click_probabilities([1, 0]) == pytest.approx([0.9, 0.85 * 0.25])
