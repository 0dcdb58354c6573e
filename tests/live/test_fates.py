"""What becomes of closed pages: which are learned from, and why the others are not."""

import msgspec
import pytest

from rankloop.learners import COLTR, DBGD, ROLTR, Posterior
from rankloop.live.events import Closing, Group, Kind, encode
from rankloop.live.fates import FATES, fate_of, learns_from_drafts

from .diary import Diary, page_of
from .lively import FEATURES, candidates, model


def test_control_and_fallback_pages_are_counted_and_never_learned_from():
    diary = Diary(model())
    shown = diary.show(candidates(4))
    for group in (Group.CONTROL, Group.FALLBACK):
        other = shown._replace(body=encode(msgspec.structs.replace(page_of(shown), group=int(group))))
        assert diary.close(other, [1.0, 0.0, 0.0, 0.0]) == group.name.lower()
    assert diary.fold.ranker.weights.tolist() == [0.0] * FEATURES
    assert diary.fold.version == 0
    assert diary.fold.fates == {"control": 1, "fallback": 1}
    assert diary.fold.clicks == 2.0


def test_a_page_that_nobody_got_is_not_learned_from_and_its_clicks_do_not_count():
    diary = Diary(model())
    assert diary.close(diary.show(candidates(4)), [1.0, 0.0, 0.0, 0.0], why="void") == "void"
    assert (diary.fold.version, diary.fold.clicks) == (0, 0.0)
    assert diary.fold.ranker.weights.tolist() == [0.0] * FEATURES


@pytest.mark.parametrize("stop", [Kind.PAUSED, Kind.FROZEN])
def test_nothing_is_learned_while_a_model_is_paused_or_frozen_and_it_goes_on_when_resumed(stop):
    diary = Diary(model())
    clicks = [1.0, 0.0, 0.0, 0.0]
    assert diary.close(diary.show(candidates(4)), clicks) == "learned"
    diary.control(stop)
    before = diary.fold.ranker.weights.tolist()
    assert diary.close(diary.show(candidates(4)), clicks) == "paused"
    assert diary.fold.ranker.weights.tolist() == before
    assert diary.fold.mode == stop.name.lower()
    diary.control(Kind.RESUMED)
    assert diary.close(diary.show(candidates(4)), clicks) == "learned"
    assert diary.fold.ranker.weights.tolist() != before


@pytest.mark.parametrize(("stop", "fate"), [(Kind.PAUSED, "learned"), (Kind.FROZEN, "paused")])
def test_a_page_that_a_frozen_model_showed_was_not_drawn_and_teaches_nothing_later(stop, fate):
    diary = Diary(model())
    diary.control(stop)
    shown = diary.show(candidates(4))
    diary.control(Kind.RESUMED)
    assert diary.close(shown, [1.0, 0.0, 0.0, 0.0]) == fate


def test_a_page_whose_every_rank_was_pinned_was_not_chosen():
    diary = Diary(model())
    shown = diary.show(candidates(4), pinned={0: 0, 1: 1, 2: 2, 3: 3})
    assert diary.close(shown, [1.0, 0.0, 0.0, 0.0]) == "pinned"


@pytest.mark.parametrize(
    ("learner", "learns"), [(Posterior(), True), (ROLTR(), False), (DBGD(), False), (COLTR(), False)]
)
def test_an_interleaved_page_is_learned_from_only_where_the_update_is_right_whoever_drew_it(learner, learns):
    settings = model(learner=learner)
    impression = page_of(Diary(settings).show(candidates(4)))
    drafted = msgspec.structs.replace(impression, group=int(Group.INTERLEAVED))
    assert learns_from_drafts(settings) == learns
    fate = fate_of(Closing(1, [1.0, 0.0, 0.0, 0.0], "asked"), drafted, settings, "learning")
    assert fate == ("learned" if learns else "interleaved")
    assert fate in FATES
