"""People who change: at once, or more and more of them over a stretch."""

import pytest

from rankloop.errors import SettingsError
from rankloop.users import PositionBased, drift, mixture

ALL, NONE = PositionBased([1.0], [1.0] * 3, name="all"), PositionBased([0.0], [1.0] * 3, name="none")


def test_at_once_everybody_is_another_from_the_given_impression_on():
    change = drift([NONE, ALL, NONE], at=[5, 6])
    assert [change.clicks([0], 1, i).item() for i in range(8)] == [0, 0, 0, 0, 0, 1, 0, 0]
    assert [change.click_probabilities([0], impression=i).item() for i in range(8)] == [0, 0, 0, 0, 0, 1, 0, 0]


def test_a_change_may_come_at_the_very_first_impression_but_one():
    assert [drift([NONE, ALL], at=[1]).clicks([0], 1, i).item() for i in range(3)] == [0, 1, 1]


@pytest.mark.thorough
def test_over_a_stretch_the_share_of_the_new_grows_evenly():
    change = drift([NONE, ALL], at=[1000], over=2000)
    drawn = [change.clicks([0], 1, i).item() for i in range(4000)]
    assert sum(drawn[:1001]) == 0
    assert all(drawn[3000:])
    # 1,000 draws with mean 1/4, then as many with 3/4: 4 standard errors, false alarm 6e-5.
    for first, share in ((1000, 0.25), (2000, 0.75)):
        assert sum(drawn[first : first + 1000]) / 1000 == pytest.approx(share, abs=4 * (0.25 * 0.75 / 1000) ** 0.5)
    wanted = [min(max((i - 1000) / 2000, 0), 1) for i in range(0, 4000, 250)]
    assert [change.click_probabilities([0], impression=i).item() for i in range(0, 4000, 250)] == pytest.approx(wanted)


def test_one_stretch_may_begin_where_another_ends():
    change = drift([NONE, ALL, NONE], at=[10, 20], over=10)
    at = [change.click_probabilities([0], impression=i).item() for i in (10, 15, 20, 25, 30)]
    assert at == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_mixtures_may_change():
    change = drift([mixture([ALL, NONE]), ALL], at=[3])
    assert [change.click_probabilities([0], impression=i).item() for i in (2, 3)] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("people", "at", "over", "reason"),
    [
        (["perfect", "noisy"], [], 0, "from which impression on each of the people but the first comes, 1 in all"),
        (["perfect", "noisy"], [0], 0, "at must be a whole number, at least 1; got 0"),
        (["perfect", "noisy", "perfect"], [10, 5], 0, "at must increase"),
        (["perfect", "noisy", "perfect"], [10, 15], 6, "each change beginning after the one before has ended"),
        (["perfect", "noisy"], [10], -1, "over must be a whole number"),
        ([drift(["perfect", "noisy"], at=[5]), "noisy"], [9], 0, "must not drift themselves"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(people, at, over, reason):
    with pytest.raises(SettingsError, match=reason):
        drift(people, at, over=over)
