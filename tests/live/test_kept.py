"""What there is to see of a kept state is what the fold held; one that is damaged is refused by those who look, too."""

import msgspec
import numpy as np
import pytest

from rankloop.live.errors import StateError
from rankloop.live.events import Event, Kind
from rankloop.live.fold import Fold
from rankloop.live.kept import guard_of, looks_of, restored_by, summary_of
from rankloop.live.settings import Guards, ModelSettings

from .diary import Diary

SETTINGS = ModelSettings(name="m", features=3, page_size=4, seed=7, guards=Guards(control=0.4))


@pytest.fixture(scope="module")
def fold() -> Fold:
    diary, draws = Diary(SETTINGS), np.random.default_rng(1)
    for number in range(12):
        shown = diary.show(draws.normal(size=(5, 3)).astype(np.float32), client=b"%8d" % number)
        diary.close(shown, [1.0, 0.0, 0.0, 0.25])
    assert len(diary.fold.fates) > 1
    return diary.fold


def spoiled(state, **other):
    return msgspec.msgpack.encode(msgspec.msgpack.decode(state) | other)


def test_what_there_is_to_see_of_a_kept_state_is_what_the_fold_holds(fold):
    state = fold.state()
    seen = summary_of(state)
    assert seen.weights.tobytes() == fold.ranker.weights.tobytes()
    assert (seen.version, seen.mode, seen.fates) == (fold.version, fold.mode, fold.fates)
    assert (seen.clicks, seen.explored) == (fold.clicks, fold.explored)
    assert guard_of(state).kept() == fold.guard.kept()
    assert looks_of(SETTINGS, state).kept() == fold.looks.kept()


def test_a_damaged_state_is_refused_by_those_who_only_look_at_it_too(fold):
    state = fold.state()
    for damaged in (state[:40], spoiled(state, arrays={}), spoiled(state, arrays={"ranker.weights": b"123"})):
        with pytest.raises(StateError, match="its kept state is damaged"):
            summary_of(damaged)
    with pytest.raises(StateError, match="its kept state is damaged"):
        restored_by(Event(1, 1, Kind.ROLLED_BACK, 0, 0, b"", b"\xc1"))


def test_a_state_without_something_that_is_needed_is_called_another_version_s(fold):
    with pytest.raises(StateError, match=r"damaged \(it lacks .ranker\.weights., so another version may have"):
        summary_of(spoiled(fold.state(), arrays={}))
