"""What is kept of a state is read back whole; what is damaged, or of another format, is refused."""

import msgspec
import pytest

from rankloop.learners import ROLTR, Posterior
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import Event, Kind, Restored, encode
from rankloop.live.fold import Fold
from rankloop.live.keeping import content_of, is_same
from rankloop.live.kept import Kept, summary_of
from rankloop.live.settings import Guards

from .lively import lively, model


def test_all_that_is_written_is_known_to_the_reader():
    fold = lively(ROLTR()).fold
    assert content_of(fold).keys() <= set(Kept.__struct_fields__)


def test_what_a_model_does_without_is_not_kept():
    compared, alone = (Fold(model(guards=Guards(control=share))) for share in (0.1, 0.0))
    assert "guard" in content_of(compared)
    assert not {"guard", "experiments", "reign", "shadow", "drawers"} & content_of(alone).keys()


def test_a_challenger_keeps_whose_settings_drew_its_pages():
    parent = model()
    challenger = Fold(msgspec.structs.replace(parent, name="rival", challenges="m"), drawn_by=parent)
    assert content_of(challenger)["drawers"] == {0: msgspec.json.encode(parent)}


def numbered(state, number):
    return msgspec.msgpack.encode(msgspec.msgpack.decode(state) | {"format": number})


def test_a_kept_state_has_a_format_and_one_from_before_there_were_any_is_readable():
    fold = lively(ROLTR()).fold
    kept = msgspec.msgpack.decode(fold.state())
    assert kept.pop("format") == 1
    before = msgspec.msgpack.encode(kept)
    assert Fold.restored(fold.settings, before, fold.offset).state() == fold.state()
    assert fold.is_kept_as(before)
    assert fold.is_kept_as(fold.state())


def test_a_state_whose_course_of_the_gain_began_later_is_the_same_and_another_course_is_not():
    fold = lively(ROLTR()).fold
    whole = msgspec.msgpack.decode(fold.state()) | {
        "course": {"since": 0, "every": 10, "passed": 3, "pages": 9, "points": []}
    }
    own = msgspec.msgpack.encode(whole)

    def kept(**course):
        return msgspec.msgpack.encode(whole | {"course": whole["course"] | course})

    without = {name: each for name, each in whole.items() if name != "course"}
    assert is_same(msgspec.msgpack.encode(without), own)
    assert is_same(kept(pages=5, passed=1), own)
    assert not is_same(kept(passed=1), own)  # as many pages, and something else of them
    assert not is_same(kept(pages=11), own)


@pytest.mark.parametrize("damaged", [b"", b"\xc1", b"\xa2\xff\xff", msgspec.msgpack.encode([1, 2])])
def test_bytes_that_are_no_state_are_none_of_anybody(damaged):
    assert not lively(ROLTR()).fold.is_kept_as(damaged)


def test_a_kept_state_of_a_format_nobody_knows_is_refused_with_a_sentence():
    fold = lively(ROLTR()).fold
    newer = numbered(fold.state(), 2)
    assert not fold.is_kept_as(newer)
    back = Event(fold.offset + 1, 1, Kind.ROLLED_BACK, 0, 0, b"", encode(Restored(1, newer)))
    for read in (
        lambda: Fold.restored(fold.settings, newer, fold.offset),
        lambda: summary_of(newer),
        lambda: fold.apply(back),
    ):
        with pytest.raises(StoreError, match="format 2, and this rankloop reads format 1"):
            read()


def spoiled(state, **other):
    return msgspec.msgpack.encode(msgspec.msgpack.decode(state) | other)


@pytest.mark.parametrize("damage", [
    lambda state: b"",
    lambda state: b"\xc1" + state,
    lambda state: state[: len(state) // 2],
    lambda state: msgspec.msgpack.encode([1, 2]),
    lambda state: msgspec.msgpack.encode({"version": 3}),
    lambda state: spoiled(state, arrays={}),
    lambda state: spoiled(state, arrays={"ranker.weights": b"123"}),
    lambda state: spoiled(state, scaling={"count": 1.0, "mean": b"", "m2": b"", "frozen": False}),
    lambda state: spoiled(state, scaling={"count": None}),
    lambda state: spoiled(state, influence={"counts": b"\0" * 8, "pages": 0, "named": 0, "unnamed": 0}),
    lambda state: spoiled(state, mode="asleep"),
    lambda state: spoiled(state, version=None),
])  # fmt: skip
def test_a_damaged_state_is_refused_with_a_sentence_that_names_the_model(damage):
    fold = lively(ROLTR()).fold
    with pytest.raises(StateError, match=r"^model 'm': its kept state is damaged \(.+\); rankloop log refold computes"):
        Fold.restored(fold.settings, damage(fold.state()), fold.offset)


def test_a_state_that_names_settings_of_an_earlier_version_is_the_same():
    """What a setting was before there was one is put in when settings are read, and is no other state."""
    parent = model()
    fold = Fold(msgspec.structs.replace(parent, name="rival", challenges="m"), drawn_by=parent)
    content = msgspec.msgpack.decode(fold.state(), strict=False)
    earlier = msgspec.json.decode(content["drawers"][0])
    earlier["guards"]["client_pages"] = 7
    other = {0: msgspec.json.encode(earlier)}
    assert not fold.is_kept_as(msgspec.msgpack.encode(content | {"drawers": other}))
    old = model(learner=Posterior(memory=0, common_variance=0.0, common_weight=0.0))
    fold = Fold(msgspec.structs.replace(old, name="rival", challenges="m"), drawn_by=old)
    content = msgspec.msgpack.decode(fold.state(), strict=False)
    earlier = msgspec.json.decode(content["drawers"][0])
    for name in ("memory", "common_variance", "common_weight"):
        del earlier["learner"][name]
    assert fold.is_kept_as(msgspec.msgpack.encode(content | {"drawers": {0: msgspec.json.encode(earlier)}}))
    assert not fold.is_kept_as(msgspec.msgpack.encode(content | {"drawers": {0: b"{"}}))
