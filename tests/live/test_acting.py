"""Actions have names: each is counted by itself, and both orders are compared in each."""

import re

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, PairRank, PLRank
from rankloop.live.acting import Acts, report
from rankloop.live.events import Group
from rankloop.live.settings import Guards, ModelSettings

SHOP = {"click": 0.2, "cart": 0.5, "purchase": 1.0}


def model(**more):
    return ModelSettings(name="shop", features=2, seed=1, **({"actions": SHOP} | more))


def test_a_model_has_one_action_unless_it_says_more():
    plain = ModelSettings(name="shop", features=2)
    assert plain.actions == {"click": 1.0}
    assert not plain.has_actions
    assert model().has_actions


@pytest.mark.parametrize(
    ("actions", "sentence"),
    [
        ({}, "1 to 12 names"),
        ({f"a{place}": 1 for place in range(13)}, "1 to 12 names"),
        ({"buy": 2}, "value of action 'buy' must be a number, at least 0 and at most 1"),
        ({"buy now": 1}, "name must be 1 to 64 letters"),
        ({"look": 0}, "worth more than 0"),
    ],
)
def test_actions_that_cannot_be_are_refused(actions, sentence):
    with pytest.raises(SettingsError, match=sentence):
        model(actions=actions)


@pytest.mark.parametrize("learner", [PDGD(), DBGD(), PMGD(), COLTR(), PairRank()])
def test_methods_that_know_clicks_alone_refuse_values_between(learner):
    with pytest.raises(SettingsError, match=r"cannot learn from click 0\.2, cart 0\.5"):
        model(learner=learner)
    assert model(learner=learner, actions={"click": 0, "purchase": 1}).has_actions


@pytest.mark.parametrize("learner", [ROLTR(), PLRank()])
def test_methods_that_learn_from_values_take_them(learner):
    assert model(learner=learner).actions == SHOP


def test_each_action_is_counted_once_for_each_document():
    acts = Acts(SHOP)
    assert acts.counted([1.0, 0.2, 0.0], [0b101, 0b001, 0]) == [2, 0, 1]
    assert acts.counted([1.0, 0.2, 0.0], []) == [2, 0, 0]  # a page from before actions were told apart
    acts.note(int(Group.LEARNED), [2, 0, 1], 5, who=3)
    acts.note(int(Group.INTERLEAVED), [1, 0, 0], 6, who=3)
    assert acts.counts == [3, 0, 1]
    assert acts.people[:, 0, :, 3].tolist() == [[1, 2, 4], [1, 0, 0], [1, 1, 1]]
    assert not acts.people[:, 1].any()
    acts.correct(int(Group.LEARNED), [2, 0, 1], [2, 1, 2], 5, who=3)
    assert (acts.counts, acts.late) == ([3, 1, 2], [0, 1, 1])
    assert acts.people[:, 0, :, 3].tolist() == [[1, 2, 4], [1, 1, 1], [1, 2, 4]]
    again = Acts(SHOP, acts.kept())
    assert (again.counts, again.late, again.people.tobytes()) == (acts.counts, acts.late, acts.people.tobytes())


def test_the_comparison_begins_anew_and_counts_stay():
    acts = Acts(SHOP)
    acts.note(int(Group.CONTROL), [1, 1, 1], 5, who=3)
    acts.begin_anew(10)
    acts.note(int(Group.CONTROL), [1, 0, 0], 9, who=3)  # shown before: other shares of people saw the orders then
    assert acts.counts == [2, 1, 1]
    assert not acts.people.any()


def test_the_report_says_how_many_more():
    rng = np.random.default_rng(1)
    acts = Acts(SHOP)
    for who in range(12_000):
        group, rate = (Group.LEARNED, 0.3) if who % 2 else (Group.CONTROL, 0.2)
        acts.note(int(group), [int(rng.random() < 0.5), 0, int(rng.random() < rate)], 1, who // 2)
    click, cart, purchase = report(model(), acts).actions
    assert purchase.ratio == pytest.approx(1.5, abs=0.12)
    assert 1 < purchase.low < purchase.ratio < purchase.high
    assert purchase.sure > 0.99
    assert re.fullmatch(r"purchase: \+\d+ % per page \([+−]\d+ % to (\+\d+ %|any)\)", purchase.sentence)
    assert click.low < 1 < click.high
    assert "none in the incoming order" in cart.sentence
    assert (cart.ratio, cart.value) == (None, 0.5)


def test_without_a_control_group_nobody_is_told_to_wait():
    [only] = report(ModelSettings(name="shop", features=2, guards=Guards(control=0)), None).actions
    assert only.sentence == "click: nothing to compare with, because the model has no control group"


def test_with_too_few_pages_nothing_is_said():
    [only] = report(ModelSettings(name="shop", features=2, evidence=False), None).actions
    assert (only.name, only.count, only.ratio) == ("click", 0, None)
    assert "too few pages" in only.sentence
