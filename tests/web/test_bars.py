"""Bars lie within their drawing, on the side of their sign."""

import pytest

from rankloop.web.bars import bar


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("value", [-3.0, -0.01, 0.0, 0.5, 3.0])
def test_a_bar_lies_on_the_side_of_its_sign(value, root):
    shown = bar("f", value, largest=3.0, root=root)
    assert shown.x >= 0
    assert shown.x + shown.width <= 100
    assert (shown.x + shown.width <= 50) if value < 0 else (shown.x == 50)
    assert shown.tone == ("minus" if value < 0 else "plus")


def test_the_largest_fills_its_half_and_nothing_has_no_length():
    assert bar("f", -2.0, largest=2.0).width == 50
    assert bar("f", 0.0, largest=0.0).width == 0


def test_a_root_shows_small_values_longer():
    assert bar("f", 0.01, largest=1.0).width == 0.5
    assert bar("f", 0.01, largest=1.0, root=True).width == 5.0
