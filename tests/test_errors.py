"""Errors say whose fault something is: a wrong input is a ValueError, what goes wrong with sound input is not."""

import pytest

import rankloop as rl
from rankloop.errors import DataError, DivergenceError, RankloopError, SettingsError


@pytest.mark.parametrize("error", [DataError, SettingsError])
def test_a_wrong_input_is_a_value_error(error):
    assert issubclass(error, ValueError)
    assert issubclass(error, RankloopError)


def test_a_divergence_is_nobodys_wrong_input():
    assert issubclass(DivergenceError, RankloopError)
    assert not issubclass(DivergenceError, ValueError)
    huge = rl.Split.of([[3e38], [-3e38], [1.0]], [1, 0, 0], [1, 1, 1])
    with pytest.raises(DivergenceError, match="lower the learning rate or scale the features"):
        rl.simulate(rl.ROLTR(learning_rate=1e6), rl.users.perfect(), rl.Collection("huge", huge, huge), 50, seed=1)
