"""What a search tries is checked against the learner, and the same point is tried once."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.studies.tuning.space import LEARNING_RATES, chosen_of, learners_of, parse_search, search_space


def test_the_grid_is_every_combination_in_the_order_of_the_search_each_once():
    space = search_space(rl.ROLTR(discount=0.5), {"reward": ["ips+", "naive+"], "learning_rate": [0.1, 0.2, 0.1]})
    learners = learners_of(rl.ROLTR(discount=0.5), space)
    assert [(one.reward, one.learning_rate) for one in learners] == [
        ("ips+", 0.1), ("ips+", 0.2), ("naive+", 0.1), ("naive+", 0.2),
    ]  # fmt: skip
    assert {one.discount for one in learners} == {0.5}
    assert chosen_of(learners[1], space) == {"reward": "ips+", "learning_rate": 0.2}


def test_values_of_numpy_and_of_rankloop_become_plain():
    curve = rl.propensities.power_law(0.5)
    space = search_space(rl.ROLTR(), {"learning_rate": np.array([0.1, 0.2]), "propensities": [curve]})
    assert [type(value) for value in space["learning_rate"]] == [float, float]
    assert isinstance(space["propensities"][0], dict)
    assert learners_of(rl.ROLTR(), space)[0].propensities == curve


def test_without_a_search_learning_rates_are_tried_where_there_are_any():
    assert search_space(rl.PDGD()) == {"learning_rate": list(LEARNING_RATES)}
    with pytest.raises(SettingsError, match="Oracle has no learning_rate; say which settings to search"):
        search_space(rl.Oracle())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("discount=0,0.5", [0, 0.5]),
        ("reward=ips+, naive+", ["ips+", "naive+"]),
        ('reward="ips+"', ["ips+"]),
        ("baseline=true,false", [True, False]),
        (" discount = 1 ", [1]),
    ],
)
def test_the_command_line_writes_values_as_toml_or_as_bare_words(text, values):
    assert list(parse_search([text]).values()) == [values]


def test_a_search_from_nothing_is_no_search_and_a_setting_comes_once():
    assert parse_search([]) is None
    for wrong in (["discount"], ["=1"], ["discount= "], ["discount=0", " discount=1"]):
        with pytest.raises(SettingsError, match=r"takes SETTING=VALUE|set twice"):
            parse_search(wrong)
