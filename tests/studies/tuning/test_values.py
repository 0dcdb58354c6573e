"""A value written as TOML is read back as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.studies.tuning.values import described, toml

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(values)
def test_any_value_comes_back_from_one_line_of_toml(value):
    line = toml(value)
    assert "\n" not in line
    assert tomllib.loads(f"value = {line}") == {"value": value}


def test_zero_keeps_its_sign_and_a_tuple_is_a_list():
    assert str(tomllib.loads(f"value = {toml(-0.0)}")["value"]) == "-0.0"
    assert toml((1, (True, "a"))) == '[1, [true, "a"]]'


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({}, ""),
        ({"reward": "ips+", "learning_rate": 1e-06}, "reward=ips+, learning_rate=1e-06"),
        ({"propensities": {"eta": 0.5}, "baseline": True}, "propensities={ eta = 0.5 }, baseline=true"),
    ],
)
def test_settings_in_a_word(chosen, words):
    assert described(chosen) == words
