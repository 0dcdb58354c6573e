"""Settings that several methods share are refused alike, whichever method has them."""

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS
from rankloop.learners.contract import LINEAR
from rankloop.settings import rules_of

BAD = {
    "learning_rate": 0.0,
    "decay": 1.01,
    "floor": -1e-9,
    "temperature": 0,
    "delta": -1.0,
    "initial": "ones",
    "candidates": 0,
    "ranker": "linear",
}


@pytest.mark.parametrize("setting", BAD)
def test_a_shared_setting_is_refused_by_every_method_that_has_it(setting):
    having = [kind for kind in LEARNERS.values() if setting in kind.__struct_fields__]
    assert len(having) >= 2
    for kind in having:
        with pytest.raises(SettingsError, match=f"^{kind.name}: {setting} must be"):
            kind(**{setting: BAD[setting]})


def test_every_setting_of_every_method_has_a_rule():
    for kind in LEARNERS.values():
        assert set(rules_of(kind)) == set(kind.__struct_fields__)


def test_gradient_methods_take_a_ranker_and_methods_that_search_weights_do_not():
    having = {name for name, kind in LEARNERS.items() if "ranker" in kind.__struct_fields__}
    assert having == {"ROLTR", "PDGD", "PLRank", "MDPRank"}
    assert {kind().scoring_ranker for kind in LEARNERS.values()} == {LINEAR}
