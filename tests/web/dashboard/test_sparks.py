"""Small lines on cards: one scale for all, gaps where nothing was shown, dots where a value stands alone."""

from rankloop.web.dashboard.sparks import EDGE, HEIGHT, lines


def test_series_share_a_scale_that_begins_at_zero():
    (high, low), _ = lines([[2.0, 2.0], [1.0, 1.0]])
    assert high == [f"0.0,{EDGE} 100.0,{EDGE}"]
    assert low == [f"0.0,{HEIGHT / 2} 100.0,{HEIGHT / 2}"]


def test_no_line_is_drawn_across_a_gap():
    drawn, dots = lines([[1.0, 1.0, None, 1.0, None, 1.0, 1.0]])
    assert [run.count(",") for run in drawn[0]] == [2, 2]
    assert [x for x, _ in dots[0]] == [50.0]


def test_nothing_is_drawn_of_nothing():
    assert lines([[], [None]]) == ([[], []], [[], []])


def test_without_any_line_there_are_no_dots_either():
    """Two dots in the middle of a card say nothing of how its last day went."""
    assert lines([[2.0], [1.0]]) == ([[], []], [[], []])
    assert lines([[2.0, None, 1.0], [1.0, None, None]]) == ([[], []], [[], []])
