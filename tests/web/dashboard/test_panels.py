"""What the panels say is what the reading says."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.learners import DBGD, PDGD, ROLTR, Posterior
from rankloop.live.fold import Fold
from rankloop.live.http.recent import Answers
from rankloop.live.settings import IncomingOrder, Zeros
from rankloop.live.start import Report, starting_point
from rankloop.live.stores.rows import Tally
from rankloop.web.dashboard import panels
from rankloop.web.dashboard.intervals import Sums
from rankloop.web.dashboard.panels import card, per_page, whisker
from rankloop.web.dashboard.reading import EMPTY, Day
from rankloop.web.dashboard.tallied import CONTROL, GUARDED, LEARNED
from rankloop.web.dashboard.verdict import Verdict

from .running import shop


def model(weights=(0.1, -3.0, 0.0, 2.0), mode="learning", version=5):
    view = SimpleNamespace(
        mode=mode, guarded=False, model=SimpleNamespace(ranker=SimpleNamespace(weights=np.array(weights)))
    )
    return SimpleNamespace(id=1, settings=shop(), version=version, damage=None, view=lambda: view)


def service(fates=None):
    folds = {}
    if fates is not None:
        folds[1] = Fold(shop())
        folds[1].fates.update(fates)
    learner = SimpleNamespace(alive=True, error="", folds=lambda: folds)
    return SimpleNamespace(learner=learner, counts=Counter(), started=0, steering=SimpleNamespace(found={}))


def test_the_largest_weights_come_first_and_the_largest_fills_its_side():
    bars = panels.weight_bars(model())
    assert [bar.label for bar in bars] == ["freshness", "rating", "engine", "price"]
    assert [bar.width for bar in bars] == [50.0, 33.33, 1.67, 0.0]


def test_a_roll_back_lists_what_it_changes_most_and_nothing_else():
    then = np.array([0.1, -2.0, 0.5, 0.0])
    assert panels.changes(model(), then) == [("rating", 2.0, 0.0), ("freshness", -3.0, -2.0), ("price", 0.0, 0.5)]
    assert panels.changes(model(), np.array([0.1, -3.0, 0.0, 2.0])) == []


def test_learned_and_control_pages_are_compared_and_the_gain_is_relative_to_control():
    groups = {LEARNED: {0: Sums(200, 300.0, 600.0)}, CONTROL: {0: Sums(100, 100.0, 150.0)}}
    told = panels.summary(
        service({"learned": 200, "control": 100}), model(), EMPTY._replace(groups=groups, ever=groups)
    )
    assert [(row.label, row.pages, row.clicks) for row in told["rows"]] == [
        ("Learned order", 200, 300.0), ("Engine’s order (control)", 100, 100.0),
    ]  # fmt: skip
    assert (told["gain"], told["relative"]) == pytest.approx((0.5, 0.5))
    assert (told["closed"], told["clicks"]) == (300, 400.0)
    assert told["fates"] == [("learned from", 200), ("control group, never learned from", 100)]


def test_without_a_control_group_there_is_nothing_to_compare():
    told = panels.summary(service(), model(), EMPTY._replace(groups={LEARNED: {0: Sums(3, 1.0, 1.0)}}))
    assert (told["gain"], told["relative"]) == (None, None)
    assert panels.summary(service(), model(), EMPTY)["rows"] == []


def test_guarded_pages_have_a_row_of_their_own_and_are_no_part_of_the_gain():
    groups = {
        group: {0: Sums(100, clicks, 2 * clicks)}
        for group, clicks in ((LEARNED, 50.0), (CONTROL, 80.0), (GUARDED, 90.0))
    }
    told = panels.summary(service(), model(), EMPTY._replace(groups=groups, ever=groups))
    assert [row.clicks for row in told["rows"]] == [50.0, 80.0, 90.0]
    assert told["gain"] == pytest.approx(-0.3)


def test_a_reward_is_told_of_those_who_learn_from_one():
    groups = {LEARNED: {0: Sums(200, 300.0, 600.0), 1: Sums(200, 300.0, 600.0)}}
    for learner, told in ((ROLTR(), True), (Posterior(), False), (PDGD(), False)):
        one = model()
        one.settings = shop(learner=learner)
        summary = panels.summary(service(), one, EMPTY._replace(groups=groups))
        assert (summary["reward"] is not None, summary["rows"][0].reward is not None) == (told, told)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"learner": Posterior()}, "Posterior starts in the engine’s order and explores as far as it is unsure,"),
        ({"learner": DBGD()}, "No budget was stated for this model (DBGD shows what its comparison"),
        ({"start": Zeros()}, "No budget was stated for this model (Posterior's own start)."),
    ],
)
def test_the_exploration_that_was_stated_is_told_as_it_was(settings, text):
    one = model(version=100)
    one.settings = shop(**settings)
    told = panels.exploration(one, EMPTY._replace(start=starting_point(one.settings)))["budget"]
    assert told.startswith(text)
    assert ("the engine’s first 34 results now" in told) == told.startswith("Posterior starts")
    one.settings = shop(start=IncomingOrder("engine", caution=0))
    assert "made of any result now" in panels.exploration(one, EMPTY)["budget"]
    stated = EMPTY._replace(start=Report([1.0], 0.9, 0.5, "20 candidates"))
    assert panels.exploration(one, stated)["budget"] == "Expected for 20 candidates."


def test_a_frozen_model_always_keeps_the_first():
    assert panels.exploration(model(mode="frozen"), EMPTY)["keeps_first"] == 1.0
    assert panels.exploration(model(), EMPTY)["keeps_first"] is None


def test_the_api_s_own_endpoints_stand_first_and_only_fates_of_clicks_are_told():
    of = service()
    of.counts.update({("clicks", "late"): 2, ("clicks", "accepted"): 5, ("impressions", "fallback"): 1})
    told = panels.answers(of, {name: Answers() for name in ("models", "rank", "clicks", "health")})
    assert [name for name, _ in told["answers"]] == ["clicks", "rank", "health", "models"]
    assert told["click_fates"] == [("accepted", 5), ("late", 2)]
    assert told["fallback"] == 1


def test_an_interval_is_drawn_beside_zero_and_inside_its_room():
    at = whisker(Verdict("good", "", "", 0.1, 0.05, 0.2))
    assert 0 < at.zero < at.low < at.middle < at.high < 100
    at = whisker(Verdict("bad", "", "", -0.1, -0.2, -0.05))
    assert 0 < at.low < at.middle < at.high < at.zero < 100
    assert whisker(Verdict("open", "", "")) is None
    assert whisker(Verdict("good", "", "", 0.1, 0.05, math.inf)) is None


def test_a_card_draws_the_clicks_per_page_of_both_orders_and_counts_its_pages():
    one = SimpleNamespace(settings=shop(), view=lambda: SimpleNamespace(mode="learning", guarded=False))
    clicks = {0: 4.0, 1: 2.0}
    tallies = [Tally(1, 1, minute, group, 0, 2, clicks[group], 0.0, 0.0) for minute in (0, 1) for group in clicks]
    found = card(one, Day(1, tallies, Verdict("open", "Too early to say", ""), {}))
    assert found.pages == 8
    assert found.lines == [["0.0,2.0 100.0,2.0"], ["0.0,14.0 100.0,14.0"]]
    assert card(one, None).verdict.words == "Too early to say"
    assert card(one, None, store_down=True).verdict.words == "Unknown right now"


def test_the_card_of_a_guarded_model_says_what_it_has_cost_as_its_page_does():
    ever = {LEARNED: {0: Sums(10, 5.0, 5.0)}, CONTROL: {0: Sums(10, 8.0, 8.0)}}
    for guarded, cost in ((True, -0.375), (False, None)):
        view = SimpleNamespace(mode="learning", guarded=guarded)
        one = SimpleNamespace(settings=shop(), view=lambda view=view: view)
        assert card(one, Day(1, [], Verdict("bad", "No, it hurts", ""), ever)).lost == cost


def test_clicks_per_page_of_both_orders_since_the_model_was_made():
    learned, control = {0: Sums(10, 5.0, 5.0)}, {0: Sums(4, 4.0, 4.0)}
    assert per_page({LEARNED: learned, CONTROL: control}) == (0.5, 1.0)
    assert per_page({LEARNED: learned}) is None
