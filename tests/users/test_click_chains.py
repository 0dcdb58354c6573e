"""The click chain: τ₁ after a skip, τ₂ (1 − γ) + τ₃ γ after a click."""

import pytest

from rankloop.errors import SettingsError
from rankloop.users import click_chain


def test_what_follows_a_click_depends_on_what_was_clicked():
    sure = click_chain([0.0, 1.0], tau=[1.0, 0.5, 0.25])
    assert sure.examination_probabilities([1, 1, 0, 0]).tolist() == [1.0, 0.25, 0.0625, 0.0625]
    assert click_chain([0.5], tau=[1.0, 0.6, 0.2]).examination_probabilities([0, 0]) == pytest.approx([1.0, 0.7])


def test_three_probabilities_are_needed():
    with pytest.raises(SettingsError, match="tau must be three probabilities"):
        click_chain("noisy", tau=(0.9, 0.5))
