"""The course of a comparison: where the answer changed is kept, however many pages follow, and in few points."""

import msgspec
import numpy as np
import pytest

from rankloop.live.course import MOST, Course, KeptCourse
from rankloop.live.events import Group
from rankloop.live.guard import Guard, KeptGuard
from rankloop.live.settings import Guards, ModelSettings


def visited(course, guard, pages, learned, control, *, begin=0, seed=1):
    """So many pages, every fifth in control; the course and the guard follow them."""
    draw = np.random.default_rng(seed)
    for page in range(begin + 1, begin + pages + 1):
        group, mean = (Group.CONTROL, control) if page % 5 == 0 else (Group.LEARNED, learned)
        guard.note(group, float(draw.poisson(mean)), page, page, page)
        course.follow(guard, 1000 * page, page)
    return begin + pages


@pytest.mark.thorough
def test_where_the_answer_changed_is_kept_however_many_pages_follow():
    course, guard = Course(), Guard()
    page = visited(course, guard, 2_000, 0.9, 0.5)
    first = next(place for place, one in enumerate(course.points) if one.tone == "good")
    before, clear = course.points[first - 1 : first + 1]
    assert before.tone == "open"
    assert all(one.tone == "good" for one in course.points[first:])
    visited(course, guard, 20_000, 0.9, 0.5, begin=page)
    assert {before, clear} <= set(course.points)
    assert len(course.points) <= MOST
    assert course.points == sorted(course.points)


def test_a_guard_that_comes_on_leaves_what_it_was_decided_by_and_a_roll_back_leaves_what_was_known():
    course, guard = Course(), Guard()
    page = visited(course, guard, 2_000, 0.3, 0.9)
    assert guard.is_on
    decided, on = next(pair for pair in zip(course.points, course.points[1:], strict=False) if pair[1].gain is None)
    assert (decided.tone, on.tone) == ("bad", "bad")
    assert decided.high < 0
    guard.begin_anew(page)
    course.follow(guard, 1000 * page, page)
    assert course.points[-1] == (1000 * page, page, "open", None, None, None)


@pytest.mark.thorough
def test_it_goes_on_from_a_kept_state_to_the_same_points():
    whole, guard = Course(), Guard()
    page = visited(whole, guard, 1_500, 0.7, 0.5)
    again = Course(msgspec.convert(msgspec.msgpack.decode(msgspec.msgpack.encode(whole.kept())), KeptCourse))
    assert again.kept() == whole.kept()
    other = Guard(msgspec.convert(guard.kept(), KeptGuard))
    for course, own in ((whole, guard), (again, other)):
        visited(course, own, 1_500, 0.7, 0.5, begin=page, seed=2)
    assert again.kept() == whole.kept()


def test_a_model_without_a_control_group_has_none():
    assert Course.of(ModelSettings(name="shop", features=2, guards=Guards(control=0.0))) is None
