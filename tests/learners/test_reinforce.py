"""What REINFORCE's learners share: a learning rate that falls, and where it stops."""

import pytest

from rankloop.learners.reinforce import decayed


def test_a_rate_falls_by_its_factor_and_stops_at_the_floor():
    rates = [0.1]
    for _ in range(4):
        rates.append(decayed(rates[-1], 0.5, 0.03))
    assert rates == [0.1, 0.05, 0.03, 0.03, 0.03]


def test_a_rate_that_begins_below_the_floor_is_not_raised_to_it():
    assert decayed(0.01, 0.5, 0.03) == 0.01


@pytest.mark.parametrize("rate", [1.0, 0.01])
def test_without_decay_or_floor_a_rate_stays_and_without_a_floor_it_always_falls(rate):
    assert decayed(rate, 1.0, 0.0) == rate
    assert decayed(rate, 0.9, 0.0) == rate * 0.9
