"""What is noted of pages beside what is learned: by both kinds of sums, and put right when something comes late."""

import numpy as np

from rankloop.live.events import Closing, Event, Kind, Late, Restored, encode
from rankloop.live.fold import Fold
from rankloop.live.noted import Noted
from rankloop.live.settings import Guards, ModelSettings

from .diary import Diary, page_of

X = np.random.default_rng(2).normal(size=(6, 3)).astype(np.float32)


def settings(**more):
    usual = {"features": 3, "page_size": 3, "seed": 7, "actions": {"click": 0.25, "purchase": 1.0}}
    return ModelSettings(name="shop", **(usual | more))


def closed(diary, who, clicks, actions):
    """A page of somebody's, closed; its event and that of its closing."""
    shown = diary.show(X, client=who.to_bytes(8, "little"))
    closing = diary._write(Kind.CLOSED, shown.number, b"", encode(Closing(shown.offset, clicks, "asked", actions)))
    diary.fold.apply(closing, shown)
    return shown, closing


def later(diary, shown, closing, *said):
    event = diary._write(Kind.LATE, shown.number, b"", encode(Late(shown.offset, closing.offset, *said)))
    diary.fold.apply(event, shown)
    return event


LATE = [0.25, 0.0, 0.0], [1.0, 0.0, 0.0], [1, 0, 0], [3, 0, 0]


def test_a_page_and_what_came_late_are_noted_as_the_whole_page_would_have_been():
    late, prompt = Diary(settings()), Diary(settings())
    for who in range(1, 30):
        shown, closing = closed(late, who, [0.25, 0.0, 0.0], [1, 0, 0])
        later(late, shown, closing, *LATE)
        closed(prompt, who, [1.0, 0.0, 0.0], [3, 0, 0])
    mine, theirs = late.fold, prompt.fold
    assert mine.noted.acts.people.tobytes() == theirs.noted.acts.people.tobytes()
    assert mine.noted.evidence.queries.sums.tobytes() == theirs.noted.evidence.queries.sums.tobytes()
    assert (mine.clicks, mine.noted.acts.counts) == (theirs.clicks, theirs.noted.acts.counts)
    assert mine.noted.acts.late == [0, 29]
    for one, other in ((mine.guard.learned, theirs.guard.learned), (mine.guard.incoming, theirs.guard.incoming)):
        assert one == other
    assert mine.guard.learned_people.sums.tobytes() == theirs.guard.learned_people.sums.tobytes()
    again = Fold.restored(late.settings, mine.state(), mine.offset)
    assert again.state() == mine.state()


def test_killed_after_any_event_it_goes_on_to_the_same_bits():
    diary = Diary(settings(guards=Guards(control=0.3)))
    rng = np.random.default_rng(5)
    pages = []
    for who in range(1, 40):
        bits = rng.integers(4, size=3)
        values = [max((bit & 1) * 0.25, (bit >> 1) * 1.0) for bit in bits.tolist()]
        pages.append((*closed(diary, who % 9, values, bits.tolist()), values, bits.tolist()))
        if who % 4 == 0:
            shown, closing, before, known = pages[int(rng.integers(len(pages)))]
            later(diary, shown, closing, before, [1.0] * 3, known, [bit | 2 for bit in known])
        if who == 20:
            diary.control(Kind.ROLLED_BACK, encode(Restored(0, diary.fold.state())))
    fold = Fold(diary.settings)
    for event in diary.events:
        diary.apply_to(fold, event)
        fold = Fold.restored(diary.settings, fold.state(), fold.offset)
    assert fold.state() == diary.fold.state()
    assert fold.noted.acts.late[1] > 0


def test_what_is_late_on_an_erased_page_is_of_nobody():
    diary = Diary(settings())
    shown, closing = closed(diary, 1, [0.25, 0.0, 0.0], [1, 0, 0])
    before = diary.fold.state()
    event = diary._write(Kind.LATE, shown.number, b"", encode(Late(shown.offset, closing.offset, *LATE)))
    diary.fold.apply(event, None)
    assert diary.fold.state() == before


def test_a_paused_model_counts_what_is_late_and_does_not_learn_from_it():
    diary = Diary(settings(guards=Guards(control=0.0)))
    shown, closing = closed(diary, 1, [0.25, 0.0, 0.0], [1, 0, 0])
    diary.control(Kind.PAUSED)
    weights, version = diary.fold.ranker.weights, diary.fold.version
    later(diary, shown, closing, *LATE)
    assert (diary.fold.ranker.weights == weights).all()
    assert (diary.fold.version, diary.fold.noted.acts.counts) == (version, [1, 1])
    diary.control(Kind.RESUMED)
    later(diary, shown, closing, *LATE)
    assert (diary.fold.ranker.weights != weights).any()
    assert diary.fold.version == version + 1


def test_a_roll_back_begins_the_comparison_anew():
    diary = Diary(settings())
    state = diary.fold.state()
    for who in range(1, 6):
        closed(diary, who, [0.25, 0.0, 0.0], [1, 0, 0])
    noted = diary.fold.noted
    assert noted.acts.people.any()
    diary.control(Kind.ROLLED_BACK, encode(Restored(0, state)))
    assert not noted.acts.people.any()
    assert not noted.evidence.queries.sums.any()
    assert (noted.acts.counts, noted.evidence.pages) == ([5, 0], 5)
    assert noted.evidence.queries.texts == ["a query"]


def test_a_refold_takes_over_what_it_has_counted():
    diary = Diary(settings())
    state = diary.fold.state()
    for who in range(1, 6):
        closed(diary, who, [0.25, 0.0, 0.0], [1, 0, 0])
    diary.control(Kind.REFOLDED, encode(Restored(0, state)))
    assert diary.fold.noted.evidence.queries.keys == []
    assert diary.fold.noted.acts.counts == [0, 0]


def test_a_model_may_do_without_either():
    plain = Noted(ModelSettings(name="shop", features=3, evidence=False, guards=Guards(control=0.0)))
    assert (plain.acts, plain.evidence, plain.kept()) == (None, None, {})
    shown = Diary(settings()).show(X)
    event = Event(2, 1, int(Kind.CLOSED), 0, 0, b"", b"")
    plain.note(page_of(shown), event, Closing(1, [0.0] * 3, "asked"), 2, 1)
    plain.correct(page_of(shown), event, Late(1, 2, *LATE), 1)
    plain.begin_anew(3)
    assert Noted(settings(evidence=False)).kept().keys() == {"acts", "course"}
