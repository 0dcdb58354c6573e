"""Numbers look the same wherever people read them."""

import math

import pytest

from rankloop.display import (
    MISSING,
    count,
    counted,
    duration,
    in_a_row,
    listed,
    mean_text,
    number,
    percent,
    signed,
    size,
)


@pytest.mark.parametrize("shown", [count, number, signed, percent])
def test_what_is_not_known_is_a_dash(shown):
    assert shown(None) == MISSING


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (9.96, "10 s"), (90, "90 s"), (119, "119 s"), (120, "2 min"), (7100, "118 min"), (7200, "2 h")],
)
def test_a_duration_has_the_unit_that_suits_it(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(("value", "text"), [(1e-9, "0.00"), (-1e-9, "0.00"), (0.005001, "+0.01"), (-2.0, "−2.00")])
def test_a_difference_that_rounds_to_nothing_has_no_sign(value, text):
    assert signed(value, 2) == text


def test_a_share_too_small_to_show_is_not_shown_as_none():
    assert percent(0.0004) == "0.04 %"
    assert percent(0.0) == "0.0 %"


def test_one_is_singular_and_none_is_plural():
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert listed(["a", "b"]) == "a and b"


def test_a_single_run_has_a_mean_and_no_interval():
    assert mean_text(1.25, math.nan, 1) == "1.2"


def test_sizes_count_in_thousands():
    assert [size(n) for n in (999, 1000, 1e6, 2.5e12)] == ["999 B", "1.0 kB", "1.0 MB", "2.5 TB"]


def test_labels_with_commas_are_told_apart():
    assert in_a_row(["ROLTR", "ROLTR, MLP", "PDGD"]) == "ROLTR; ROLTR, MLP; PDGD"
    assert listed(["ROLTR", "ROLTR, MLP", "PDGD"]) == "ROLTR; ROLTR, MLP and PDGD"
