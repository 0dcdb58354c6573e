"""The dynamic Bayesian network: λ (1 − σ) after a click, λ after a skip."""

import pytest

from rankloop.errors import SettingsError
from rankloop.users import dbn


def test_without_continuation_nobody_looks_at_the_second_rank():
    assert dbn("noisy", continuation=0.0).examination_probabilities([1, 1, 1]).tolist() == [1.0, 0.0, 0.0]


def test_satisfaction_may_be_a_table_of_its_own():
    user = dbn([0.0, 1.0], satisfaction=[0.0, 0.5], continuation=1.0)
    assert user.click_probabilities([1, 1, 0]).tolist() == [1.0, 0.5, 0.0]


def test_an_impossible_continuation_is_refused():
    with pytest.raises(SettingsError, match="continuation must be a number, at least 0 and at most 1"):
        dbn("noisy", continuation=1.5)
