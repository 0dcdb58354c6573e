"""What a replay is asked to do: the settings of another learner, and which model."""

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import DBGD, ROLTR
from rankloop.logs.replay import other_settings

from ..writing import model_settings


@pytest.mark.parametrize(
    ("learner", "changes", "told"),
    [
        ("DBGD", [], "filled together"),
        ("PMGD", [], "filled together"),
        ("MDPRank", [], "needs more than clicks"),
        ("ROLTRR", [], "learner must be one of"),
        (None, ["learning_rate"], "SETTING=VALUE"),
        (None, ["learning_rate=fast"], "learning_rate"),
        (None, ["page_size=3"], "there is no setting 'page_size'"),
        (None, ["guards.update_cap=-1"], "update_cap"),
        (None, ["scaling=often"], "scaling must be one of 'none', 'query', 'robust', 'running'"),
        (None, ["learning_rate=1e20"], "ROLTR: learning_rate must be a number, at least 1e-12 and at most 1e\\+06"),
        ("PDGD", ["learning_rate=1e20"], "PDGD: learning_rate must be"),
        (None, ['ranker={"kind": "neurla"}'], "ranker: kind must be one of linear"),
        (None, ["ranker={kind"], "ranker must be"),
        (None, ["guards={x=1}"], "guards: unknown field `x`; use control, update_cap"),
        ("PDGD", ["reward=ips+"], "there is no setting 'reward'; PDGD has"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_a_sentence(learner, changes, told):
    with pytest.raises(SettingsError, match=told):
        other_settings(model_settings(), learner, changes)


def test_changes_reach_the_learner_and_the_model():
    found = other_settings(
        model_settings(), None, ["learning_rate=0.5", "reward=naive+", "late_updates=drawn", "guards.update_cap=2"]
    )
    assert found.learner == ROLTR(learning_rate=0.5, reward="naive+")
    assert (found.late_updates, found.guards.update_cap) == ("drawn", 2.0)
    assert other_settings(model_settings()) == model_settings()
    # A comparison of rankers may be replayed with other steps, not with other rivals.
    assert other_settings(model_settings(learner=DBGD()), None, ["learning_rate=0.5"]).learner.learning_rate == 0.5


@pytest.mark.parametrize("written", ['{"kind": "linear"}', '{kind = "linear"}'])
def test_a_ranker_is_given_as_json_or_as_toml(written):
    assert other_settings(model_settings(), None, [f"ranker={written}"]) == model_settings()
