"""Replays: the model's own settings give the live bits, another learner's value is estimated before anybody sees it."""

import msgspec
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, ROLTR, Posterior
from rankloop.live.events import Kind, Promoted, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking
from rankloop.live.settings import Guards, IncomingOrder
from rankloop.live.stores import open_store
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import write_export
from rankloop.logs.replay import Replay, open_log, replay
from rankloop.logs.replay.replaying import Options

from ..writing import Log, model_settings


@pytest.mark.parametrize(
    "settings",
    [
        model_settings(),
        model_settings(learner=PDGD(), scaling="running"),
        model_settings(learner=COLTR(candidates=5)),
        model_settings(late_updates="drawn"),
        model_settings(learner=DBGD(), scaling="query"),
        model_settings(start=IncomingOrder("f1"), guards=Guards(control=0.0, update_cap=0.1, client_pages=1)),
    ],
    ids=lambda settings: settings.learner.name,
)
def test_with_a_models_own_settings_a_replay_is_the_live_fold_in_every_bit(store, address, settings):
    log = Log.filled(store, settings, impressions=40)
    log.control(Kind.PAUSED)
    log.visit(5)
    log.control(Kind.RESUMED)
    kept = [snapshot.version for snapshot in store.snapshots(log.model)]
    log.roll_back(kept[2])
    log.visit(15)
    live = log.fold.state()
    with open_log(address) as found:
        model = found.models()[0]
        for begin in (None, *(found.snapshot(model.id, version) for version in kept)):
            again = Replay(found, model, begin=begin)
            again.follow(found.last_offset())
            assert again.fold.state() == live
    told = replay(address, Options(evaluate=0))
    assert told.own_settings
    assert told.same_bits
    assert told.weights == told.live_weights == log.fold.ranker.weights.tolist()
    assert told.fates == dict(log.fold.fates)


def test_an_exported_file_is_replayed_like_the_log_it_is_from(store, address, tmp_path):
    Log.filled(store, impressions=40)
    with at_one_moment(address) as moment:
        write_export(moment, tmp_path / "shop.log", at=0)
    options = Options(learner="PDGD", changes=("learning_rate=0.05",), minimum_effective=10)
    assert replay(tmp_path / "shop.log", options) == replay(address, options)


def test_with_several_models_one_must_be_chosen(tmp_path):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, impressions=10)
    Log.filled(store, model_settings("shoes"), impressions=10)
    with pytest.raises(SettingsError, match="say which model with --model; there are shop and shoes"):
        replay(tmp_path / "log.db", Options())
    assert replay(tmp_path / "log.db", Options(model="shoes", evaluate=0)).model == "shoes"


def promoted(store, settings):
    """A log of 40 pages, after which a challenger with these settings took the model's place, and of 60 more."""
    log = Log.filled(store, model_settings(learner=Posterior()), impressions=40)
    rival = Fold(settings)
    body = Promoted(log.model + 1, msgspec.json.encode(settings), rival.state(), 0, log.fold.offset)
    log.control(Kind.PROMOTED, encode(body))
    log.snapshot()
    log._ranking = Ranking(settings)
    log.visit(200)
    return log


def test_after_a_promotion_the_live_policy_is_that_of_the_settings_in_force(store, address):
    """A policy gradient that hardly learns would have drawn the pages that it drew."""
    promoted(store, model_settings(learner=ROLTR(learning_rate=1e-6)))
    told = replay(address, Options(changes=("learning_rate=0.1",)))
    [then] = [
        value.estimate
        for value in told.evaluation.values
        if (value.policy, value.estimator, value.method) == ("live, then", "examination model", "plain")
    ]
    assert then.effective_sample_size == pytest.approx(told.evaluation.impressions, rel=1e-3)


def test_the_settings_that_a_promoted_model_was_made_with_are_not_its_own_any_more(store, address):
    promoted(store, model_settings(learner=ROLTR(learning_rate=0.1)))
    told = replay(address, Options(learner="Posterior", evaluate=0))
    assert not told.own_settings
    assert told.passed_over == {"promoted": 1}
    now = replay(address, Options(changes=("learning_rate=0.1",), evaluate=0))  # what it has by now
    assert now.own_settings
    assert now.same_bits


def test_where_no_page_that_was_held_back_tells_anything_it_says_why_and_what_to_do(store, address):
    log = Log.filled(store, impressions=60)
    log.control(Kind.FROZEN)
    log.visit(40)
    told = replay(address, Options(changes=("learning_rate=0.2",))).conclusion.sentences
    assert told[-1] == (
        "What it would have earned cannot be estimated: none of the 30 pages held back tells of other policies "
        "(30 shown without exploration). Hold back more of the log, such as --evaluate 0.9."
    )


def test_a_click_can_be_worth_less_where_it_is_all_that_can_happen(store, address):
    Log.filled(store, impressions=40)
    told = replay(address, Options(changes=("actions.click=0.5",), evaluate=0))
    assert told.distance > 0


def test_a_model_with_actions_earns_value(store, address):
    Log.filled(store, model_settings(actions={"click": 1.0, "buy": 1.0}, learner=ROLTR()), impressions=400)
    told = replay(address, Options(changes=("learning_rate=0.012",), minimum_effective=10))
    assert told.evaluation.unit == "value"
    assert any("value a page" in sentence for sentence in told.conclusion.sentences), told.conclusion.sentences
    own = replay(address, Options())
    assert own.conclusion.sentences == [
        "The settings are the model's own, so its own pages taught it what they taught it then."
    ]  # and it would have earned what it earned
