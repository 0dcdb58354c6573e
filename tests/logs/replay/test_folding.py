"""Another learner, fed the pages of a log one by one."""

import msgspec
import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, ROLTR
from rankloop.live.as_drawn import page_as_drawn
from rankloop.live.events import Kind, decode
from rankloop.live.loading import settings_of
from rankloop.live.settings import Guards
from rankloop.live.stores import open_store
from rankloop.logs.replay import Replay, open_log, other_settings, replay
from rankloop.logs.replay.replaying import Options
from rankloop.propensities import PowerLaw, learned

from ..writing import Log, model_settings

FREE = Guards(control=0.0, client_pages=0)


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
    # The same learner, fed the same pages one by one, as pages of others.
    twin.fold.drawers = {0: log.settings}
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
        own = settings_of(found.models()[0])
        shown = found.events(0, 1, kinds=(Kind.SHOWN,))[0]
        impression = decode(shown.kind, shown.body)
        X, clicks = impression.matrix(own.precision), [0.0] * len(impression.page)
        page, _ = page_as_drawn(impression, 0, X, clicks, own.learner, ROLTR())  # as if another had drawn it
        assert page.notes.tobytes() == impression.notes


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


@pytest.mark.parametrize("logged", [PowerLaw(1.0), learned()], ids=["assumed", "learned"])
def test_the_same_learner_may_begin_or_cease_to_learn_how_far_people_look(tmp_path, logged):
    """Pages then need other notes than those in the log, though the method is the same."""
    Log.filled(open_store(tmp_path / "log.db"), model_settings(learner=ROLTR(propensities=logged)), impressions=30)
    other = '{"kind": "learned"}' if isinstance(logged, PowerLaw) else '{"kind": "power_law", "eta": 1.0}'
    found = replay(tmp_path / "log.db", Options(changes=(f"propensities={other}",), evaluate=0))
    assert found.fates == {"learned": 30}
    assert found.distance > 0
