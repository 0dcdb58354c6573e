"""The drawing of the curve: every value where it belongs, marks where the taste changed, names that can be read."""

from itertools import pairwise

import pytest

from rankloop.web.demo.crowd import Point
from rankloop.web.demo.curve import FEWEST, HEIGHT, WIDTH, curve_of, percent
from rankloop.web.demo.tastes import TASTES


def points_of(*phases, rival=None):
    """Points every 20 visits: (taste, values of the model) for each phase."""
    points, visits = [], 0
    for taste, values in phases:
        for value in values:
            points.append(Point(visits, taste, value, 0.5, rival))
            visits += 20
        visits -= 20  # a new taste is measured where the old one was last
    return points


def places(stroke):
    return [tuple(map(float, place.split(","))) for place in stroke.split()]


def test_values_are_drawn_to_scale():
    curve = curve_of(points_of(("readers", [0.5, 0.75, 1.0])), 1000)
    model, engine = curve.lines
    [stroke] = model.strokes
    (x0, y0), (x1, _), (x2, y2) = places(stroke)
    assert (x0, y2) == (curve.left, curve.top)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert x1 - x0 == pytest.approx((curve.right - curve.left) * 20 / 1000, abs=0.06)
    assert y0 - y2 == pytest.approx((curve.bottom - curve.top) / 2, abs=0.11)
    assert model.end == (x2, y2)
    assert (model.value, engine.value) == (100, 50)


def test_there_is_room_for_all_who_were_sent_and_the_axis_stands_meanwhile():
    assert [tick.label for tick in curve_of(points_of(("readers", [0.5])), 0).x_ticks] == ["0", "500", "1,000"]
    assert [tick.label for tick in curve_of(points_of(("readers", [0.5])), 3 * FEWEST).x_ticks][-1] == "3,000"


def test_where_the_taste_changes_the_line_breaks_off_and_a_mark_says_what_they_want_now():
    curve = curve_of(points_of(("explorers", [0.5, 0.6, 0.7]), ("readers", [0.3, 0.4])), 100)
    model = curve.lines[0]
    first, second = map(places, model.strokes)
    assert (len(first), len(second)) == (3, 2)
    assert first[-1][0] == second[0][0] == curve.marks[1].x
    assert first[-1][1] < second[0][1]
    assert [mark.label for mark in curve.marks] == [TASTES["explorers"].wants, TASTES["readers"].wants]
    assert curve.marks[0].level != curve.marks[1].level


def test_one_taste_needs_no_mark_and_of_many_the_last_two_have_words():
    assert curve_of(points_of(("readers", [0.5, 0.6])), 100).marks == []
    many = points_of(*((taste, [0.5, 0.6]) for taste in ("readers", "callers", "typists", "explorers")))
    assert [bool(mark.label) for mark in curve_of(many, 100).marks] == [False, False, True, True]
    # Nobody came between two choices: the first of them was none.
    assert curve_of(points_of(("readers", [0.5]), ("callers", [0.5, 0.6])), 100).marks == []


def test_a_rival_has_a_line_only_where_there_is_one():
    assert [line.name for line in curve_of(points_of(("readers", [0.5])), 0).lines] == ["model", "engine"]
    assert [line.name for line in curve_of(points_of(("readers", [0.5]), rival=0.4), 0).lines] == [
        "model", "rival", "engine",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [(0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.52, 0.5, 0.48)])
def test_names_stand_apart_and_inside(values):
    model, engine, rival = values
    curve = curve_of([Point(0, "readers", model, engine, rival)], 0)
    heights = sorted(line.label_y for line in curve.lines)
    assert min(high - low for low, high in pairwise(heights)) >= 17.9
    assert 0 < heights[0] < heights[-1] < HEIGHT
    assert all(line.strokes == [] and 0 <= line.end[0] <= WIDTH for line in curve.lines)


def test_before_anything_is_measured_there_is_an_empty_chart():
    curve = curve_of([], 0)
    assert curve.lines == curve.marks == []
    assert len(curve.y_ticks) == 3


def test_a_match_is_a_whole_number_of_100():
    assert [percent(value) for value in (0.0, 0.4615, 1.0)] == [0, 46, 100]
