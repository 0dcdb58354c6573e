"""User browsing: examination by rank and distance to the last click."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.users import UserBrowsing, user_browsing

# As published; the last of each row is for no click yet.
PUBLISHED = """
    1 | .98 1 | 1 .62 .95 | 1 .77 .42 .82 | 1 .92 .55 .31 .69 | 1 .96 .63 .40 .22 .54 | 1 .99 .73 .46 .29 .17 .47 |
    1 1 .89 .52 .35 .24 .14 .43 | 1 1 .95 .68 .40 .29 .19 .12 .41 | 1 1 1 .96 .52 .36 .27 .18 .12 .43
"""


def test_the_table_is_the_published_one():
    rows = tuple(tuple(map(float, row.split())) for row in PUBLISHED.split("|"))
    assert user_browsing("noisy").examination == rows


def test_the_row_is_the_rank_and_the_column_the_distance():
    look = user_browsing("noisy").behaviour(10).look
    assert look[9, 0] == 0.43  # rank 10, no click yet
    assert look[9, 9] == 1.0  # last click at rank 9
    assert look[9, 1] == 0.12  # last click at rank 1
    assert look[3, 2] == 0.77  # rank 4, last click at rank 2


def test_without_a_click_it_is_the_last_column():
    nobody = user_browsing([0.0]).examination_probabilities([0] * 10)
    assert nobody == pytest.approx(np.array([1, 1, 0.95, 0.82, 0.69, 0.54, 0.47, 0.43, 0.41, 0.43]))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[1.0], [1.0]], r"examination\[1\] must have 2 probabilities"),
        ([[1.0], [1.0, 3.0]], r"examination\[1\]\[1\] must be a probability"),
        ([], "examination must be a list of rows"),
        ("slow", "examination must be a list of rows"),
    ],
)
def test_a_table_of_another_shape_is_refused(rows, reason):
    with pytest.raises(SettingsError, match=reason):
        UserBrowsing("noisy", rows)


def test_a_page_longer_than_the_table_is_refused():
    with pytest.raises(SettingsError, match="given for 10 ranks, but a page shows 11"):
        user_browsing("noisy").click_probabilities([0] * 11)
