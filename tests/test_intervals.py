"""Intervals are as wide as the tables in the back of a textbook say."""

import pytest

from rankloop.intervals import half_width, wilson


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
