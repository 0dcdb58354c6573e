"""Since when a model helps: the newest unbroken run of one answer, and what was known at each kept state."""

import math

import pytest

from rankloop.live.events import Event, Kind
from rankloop.live.guard import Guard
from rankloop.live.settings import Guards
from rankloop.web.dashboard.trail import Anew, Known, Since, before_worse, began_anew, decided, known_at, points, since
from rankloop.web.dashboard.verdict import Verdict

from .test_verdict import compared


def trail(tones):
    return [Known(1000 * place, place, Verdict(tone, "", "")) for place, tone in enumerate(tones)]


@pytest.mark.parametrize(
    ("tones", "found"),
    [
        (["open", "open", "good", "good"], Since(2000, 2, 1000, 1)),
        (["good", "bad", "good"], Since(2000, 2, 1000, 1)),
        (["good", "good"], Since(0, 0, None)),
        (["good", "open"], None),
        ([], None),
    ],
)
def test_it_helps_since_the_answer_last_became_yes(tones, found):
    assert since(trail(tones), "good") == found


def test_a_kept_state_says_what_was_known_then():
    one = known_at(5, 3, compared(0.7, 0.5), Guards())
    assert (one.at, one.version, one.verdict.tone) == (5, 3, "good")
    assert one.verdict.low < one.verdict.gain < one.verdict.high
    assert known_at(5, 3, Guard(), Guards()).verdict.tone == "open"


def test_points_begin_where_somebody_could_say_and_have_gaps_where_nobody_could():
    known = Verdict("good", "", "", 0.1, 0.05, 0.2)
    nobody = Verdict("open", "", "")
    story = [nobody, known, nobody, known]
    made = points([Known(1000 * place, place, one) for place, one in enumerate(story)])
    drawn = tuple(100 * value for value in (0.1, 0.05, 0.2))
    assert made == [(1.0, *drawn), (2.0, None, None, None), (3.0, *drawn)]


def test_an_answer_without_an_upper_end_is_drawn_too():
    endless = Verdict("good", "", "", 0.5, 0.25, math.inf)
    drawn = points([Known(1000, 1, endless), Known(2000, 2, endless)])
    assert drawn == [(1.0, 50.0, 25.0, math.inf), (2.0, 50.0, 25.0, math.inf)]


def test_one_answer_alone_is_no_line():
    known, nobody = Verdict("open", "", "", 0.1, -0.05, 0.2), Verdict("bad", "", "")
    assert points([Known(1000, 1, known), Known(2000, 2, nobody)]) == []


def test_after_a_roll_back_it_is_known_that_measuring_began_anew_and_what_was_known_before():
    """“Too early to say. No pages to compare yet”, beside “3,000 pages closed”."""
    before = Verdict("good", "", "", 0.29, 0.07, 0.6)
    story = [Known(1000, 1, before), Known(2000, 2, Verdict("open", "", ""))]
    guard = Guard()
    guard.begin_anew(7)
    rolled_back = Event(7, 1, Kind.ROLLED_BACK, 0, 2000, b"", b"")
    paused = Event(9, 1, Kind.PAUSED, 0, 3000, b"", b"")
    assert began_anew([paused, rolled_back], guard, story) == Anew(2000, "the rollback", before)
    assert began_anew([paused], guard, story) is None
    assert began_anew([paused, rolled_back], Guard(), story) is None


def test_the_state_to_return_to_is_the_newest_that_was_not_known_to_lose():
    def story(*gains):
        verdicts = [Verdict("bad", "", "") if gain is None else Verdict("open", "", "", gain, -1, 1) for gain in gains]
        return [Known(place, place, one) for place, one in enumerate(verdicts)]

    assert before_worse(story(None, 0.1, 0.2, -0.1, None)).version == 2
    assert before_worse(story(None, -0.2, -0.1)) is None
    assert before_worse([]) is None


def test_what_the_guard_was_decided_by_is_known_while_it_is_on():
    worse, on = Verdict("bad", "", "", -0.6, -0.8, -0.4), Verdict("bad", "", "")
    assert decided([Known(1, 1, worse), Known(2, 2, on)]) == worse
    assert decided([Known(1, 1, Verdict("open", "", "", 0.1, -0.1, 0.3)), Known(2, 2, on)]) is None
