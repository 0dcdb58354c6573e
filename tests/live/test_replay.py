"""Replays: the model's own settings give the live bits, another learner's value is estimated before anybody sees it."""

import msgspec
import numpy as np
import pytest
from upkeep.logs import QUERIES, Log, World, model_settings

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, ROLTR
from rankloop.live.events import Kind
from rankloop.live.learning import settings_of
from rankloop.live.settings import Guards, IncomingOrder
from rankloop.live.stores import open_store
from rankloop.logs.access import at_one_moment
from rankloop.logs.exported import write_export
from rankloop.logs.replay import Replay, open_log, other_settings, replay
from rankloop.logs.replay.replaying import LIVE_THEN, REPLAYED, Options
from rankloop.offpolicy import PlackettLuce, position_probabilities

FREE = Guards(influence_window=0)
LOGS = 6


@pytest.mark.parametrize(
    "settings",
    [
        model_settings(),
        model_settings(learner=PDGD(), scaling="running"),
        model_settings(learner=COLTR(candidates=5)),
        model_settings(late_updates="drawn"),
        model_settings(learner=DBGD(), scaling="query"),
        model_settings(start=IncomingOrder("f1"), guards=Guards(update_cap=0.1, client_share=0.2, influence_window=20)),
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


def test_another_learner_makes_of_the_log_what_it_would_have_learned_from_those_pages(tmp_path):
    store = open_store(tmp_path / "log.db")
    log = Log.filled(store, model_settings(guards=FREE), impressions=40)
    log.roll_back(20)
    log.visit(10)
    other = other_settings(log.settings, "PDGD", ["learning_rate=0.2"])
    twin = Log(open_store(tmp_path / "twin.db"), msgspec.structs.replace(other, name="twin"))
    found = replay(tmp_path / "log.db", Options(learner="PDGD", changes=("learning_rate=0.2",), evaluate=0))
    assert found.passed_over == {"rolled_back": 1}
    assert found.fates == {"learned": 50}
    # The same learner, fed the same pages one by one.
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        shown = store.event(msgspec.msgpack.decode(event.body)[0])
        twin.fold.apply(event, shown)
    assert found.weights == twin.fold.ranker.weights.tolist()
    assert found.distance > 0


@pytest.mark.parametrize("logged", [ROLTR(), COLTR(candidates=3), DBGD()], ids=lambda learner: learner.name)
@pytest.mark.parametrize("new", ["ROLTR", "PDGD", "COLTR", "FixedWeights"])
def test_any_log_can_be_replayed_with_any_learner_that_does_not_fill_pages_itself(tmp_path, logged, new):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, model_settings(learner=logged), impressions=30)
    changes = ("candidates=3",) if new == "COLTR" else ()
    found = replay(tmp_path / "log.db", Options(learner=new, changes=changes, evaluate=0))
    assert sum(found.fates.values()) == 30
    assert np.isfinite(found.weights).all()
    assert (new == "FixedWeights") == (not any(found.weights))


def test_coltr_finds_the_scores_that_drew_a_page_in_any_log(tmp_path):
    """What it remembers of its own pages is what it finds in those of others."""
    store = open_store(tmp_path / "log.db")
    Log.filled(store, model_settings(learner=COLTR(candidates=3)), impressions=20)
    with open_log(tmp_path / "log.db") as found:
        own = Replay(found, found.models()[0])
        shown = found.events(0, 1, kinds=(Kind.SHOWN,))[0]
        own._logged = msgspec.structs.replace(own._logged, learner=ROLTR())  # as if another had drawn it
        assert own._noted(shown).body == shown.body


def test_a_snapshot_can_be_begun_with(tmp_path):
    store = open_store(tmp_path / "log.db")
    log = Log.filled(store, impressions=40)
    log.visit(10)
    found = replay(tmp_path / "log.db", Options(begin=40, changes=("learning_rate=1",), evaluate=0))
    assert found.begins == "version 40"
    assert sum(found.fates.values()) == 10
    with open_log(tmp_path / "log.db") as opened:
        model = opened.models()[0]
        then = opened.snapshot(model.id, 40)
        begun = Replay(opened, model, other_settings(settings_of(model), "PDGD"), then)
        assert (begun.fold.ranker.weights == Replay(opened, model, begin=then).fold.ranker.weights).all()
    with pytest.raises(SettingsError, match="no snapshot of version 41; kept are 40, 30"):
        replay(tmp_path / "log.db", Options(begin=41))
    log.snapshot()
    with pytest.raises(SettingsError, match="nothing was closed"):
        replay(tmp_path / "log.db", Options(begin=50))


# What is refused


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
        (None, ["scaling=often"], "scaling"),
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


def test_with_several_models_one_must_be_chosen(tmp_path):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, impressions=10)
    Log.filled(store, model_settings("shoes"), impressions=10)
    with pytest.raises(SettingsError, match="say which model with --model; there is shop, shoes"):
        replay(tmp_path / "log.db", Options())
    assert replay(tmp_path / "log.db", Options(model="shoes", evaluate=0)).model == "shoes"


# Estimates


def clicks_per_page(world, weights, temperature):
    """The truth: expected clicks on a page of a Plackett–Luce policy, over all queries, by exact probabilities."""
    total = 0.0
    for query in range(QUERIES):
        scores = world.features[query] @ weights
        places = position_probabilities(scores, len(world.examination), PlackettLuce(temperature))
        total += float(world.attraction[query] @ places @ world.examination)
    return total / QUERIES


def estimates(found, policy, estimator="examination model"):
    return {value.method: value.estimate for value in found.evaluation.values
            if (value.policy, value.estimator) == (policy, estimator)}  # fmt: skip


@pytest.fixture(scope="module")
def slow_learners(tmp_path_factory):
    """Logs of a model that learns far too slowly, one per seed."""
    folder = tmp_path_factory.mktemp("logs")
    for seed in range(LOGS):
        store = open_store(folder / f"{seed}.db")
        settings = model_settings(learner=ROLTR(learning_rate=0.002), seed=seed, guards=FREE)
        log = Log(store, settings, seed=seed)
        for _ in range(10):
            log.visit(100)
        log.snapshot()
        store.close()
    return folder


@pytest.mark.slow
@pytest.mark.xdist_group("replay-estimates")
def test_a_better_learner_is_estimated_better_and_intervals_hold_the_truth(slow_learners):
    world, faster = World(), ("learning_rate=0.02",)
    held, all_of_them = {"plain": 0, "self-normalised": 0, "live": 0, "item": 0}, 0
    for log in sorted(slow_learners.glob("?.db")):
        found = replay(log, Options(changes=faster, evaluate=0.4))
        with open_log(log) as store:
            model = store.models()[0]
            split = found.learned_before_split
            learned = [
                Replay(store, model, other_settings(settings_of(model), None, change)) for change in (faster, ())
            ]
            closings = store.events(0, 1_000_000, kinds=(Kind.CLOSED,))
            for one in learned:
                one.follow(closings[split - 1].offset)
            truth, live = (clicks_per_page(world, one.fold.ranker.weights, 1.0) for one in learned)
        assert split == 600
        assert truth > 1.1 * live  # the other learner is really better
        mine, theirs = estimates(found, REPLAYED), estimates(found, LIVE_THEN)
        assert mine["plain"].value > theirs["plain"].value
        gain = next(v.estimate for v in found.evaluation.differences if v.policy == f"{REPLAYED} − {LIVE_THEN}")
        assert gain.low > 0  # and the log is sure of it
        for method in ("plain", "self-normalised"):
            held[method] += mine[method].low <= truth <= mine[method].high
        item = estimates(found, REPLAYED, "item-position")["plain"]
        held["item"] += item.low <= truth <= item.high
        held["live"] += theirs["plain"].low <= live <= theirs["plain"].high
        all_of_them += 1
    # If 95 % intervals are what they say, fewer than four of six hold the truth in 1 of 450 worlds.
    assert all_of_them == LOGS
    assert min(held.values()) >= 4, held


@pytest.mark.slow
@pytest.mark.xdist_group("replay-estimates")
def test_too_little_evidence_is_refused_with_a_reason(slow_learners):
    found = replay(slow_learners / "0.db", Options(changes=("learning_rate=30",), evaluate=0.4, minimum_effective=300))
    for estimator in ("examination model", "item-position"):
        for told in estimates(found, REPLAYED, estimator).values():
            assert told.value is None
            assert "at least 300 needed" in told.reason
    assert estimates(found, LIVE_THEN)["plain"].value is not None


@pytest.mark.slow
@pytest.mark.xdist_group("replay-estimates")
def test_at_most_so_many_impressions_are_evaluated(slow_learners):
    found = replay(slow_learners / "1.db", Options(evaluate=0.4, at_most=200))
    assert found.evaluation.impressions == 200
    assert found.evaluation.values[0].estimate.impressions == 200


def test_pages_that_tell_nothing_of_other_policies_are_left_out_and_counted(tmp_path):
    store = open_store(tmp_path / "log.db")
    log = Log.filled(store, model_settings(guards=Guards(control=0.3)), impressions=60)
    log.control(Kind.FROZEN)
    log.visit(20)
    log.snapshot()
    found = replay(tmp_path / "log.db", Options(evaluate=0.9, minimum_effective=5)).evaluation
    assert set(found.left_out) == {"control group", "shown without exploration"}
    assert found.impressions + sum(found.left_out.values()) == 72
    assert found.left_out["shown without exploration"] + found.left_out["control group"] > 20


def test_a_log_of_compared_rankers_tells_what_it_earned_itself(tmp_path):
    store = open_store(tmp_path / "log.db")
    Log.filled(store, model_settings(learner=DBGD()), impressions=400)
    found = replay(tmp_path / "log.db", Options(learner="ROLTR", evaluate=0.5)).evaluation
    assert [value.policy for value in found.values] == ["logged"]
    assert found.values[0].estimate.impressions == 200
    assert list(found.left_out) == ["drawn by DBGD, whose pages have no probability for each rank"]
