"""Who did what, and how to take it back: only what nothing newer has overtaken."""

import types

import pytest

from rankloop.live.events import Event, ExperimentStarted, Kind, Restored, encode
from rankloop.live.stores.rows import Snapshot
from rankloop.web.dashboard.history import NOBODY, entries, sentence_of


def model(experiment=None):
    view = types.SimpleNamespace(experiment=experiment)
    return types.SimpleNamespace(settings=types.SimpleNamespace(name="shop"), created=1, view=lambda: view)


def event(offset, kind, who=b"", body=b""):
    return Event(offset, 1, int(kind), 0, 1000 * offset, who, body)


def test_decisions_have_a_name_a_time_and_a_way_back():
    made = entries(model(), [event(9, Kind.PAUSED, b"ops"), event(5, Kind.RESUMED)], [])
    assert [(one.who, one.what, one.at) for one in made] == [
        ("ops", "Paused learning", 9000),
        (NOBODY, "Resumed learning", 5000),
        ("", "Created the model", 1),
    ]
    assert made[0].undo.address == "/models/shop/act/resume"
    assert made[1].undo is None  # a newer decision about the same is what there is to take back
    assert made[2].undo is None


def test_a_roll_back_is_undone_by_returning_to_the_newest_state_from_before_it():
    snapshots = [Snapshot(1, version, offset, 0, b"") for version, offset in ((40, 30), (12, 20), (7, 10))]
    back = event(25, Kind.ROLLED_BACK, b"ops", encode(Restored(7, b"")))
    [made, _] = entries(model(), [back], snapshots)
    assert made.what == "Rolled back to version 7"
    assert made.undo.address == "/models/shop/act/roll-back?version=12"
    [made, _] = entries(model(), [event(5, Kind.ROLLED_BACK, b"", encode(Restored(7, b"")))], snapshots)
    assert made.undo is None


@pytest.mark.parametrize("running", [None, object()])
def test_an_experiment_is_stopped_while_it_runs(running):
    started = event(3, Kind.EXPERIMENT_STARTED, b"", encode(ExperimentStarted(["incoming", "other"], [0, 2], 0.1)))
    [made, _] = entries(model(running), [started], [])
    assert made.what == "Started an experiment: the engine’s order and other"
    assert (made.undo is None) == (running is None)


def test_every_kind_of_decision_has_words_and_what_cannot_be_read_is_no_trouble():
    for kind in range(5, 20):
        assert sentence_of(event(1, kind, body=b"\xff"))
