"""A mixture: each impression has a person of one kind."""

from collections import Counter

import pytest

from rankloop.errors import SettingsError
from rankloop.users import PositionBased, User, cascade, drift, mixture

from ..proofs.chisquare import agrees

ALL, NONE = PositionBased([1.0], [1.0] * 3, name="all"), PositionBased([0.0], [1.0] * 3, name="none")


@pytest.mark.thorough
def test_a_page_has_one_person():
    pages = Counter(tuple(mixture([ALL, NONE], [3, 1]).clicks([0, 0, 0], 1, i)) for i in range(4000))
    assert agrees(pages, {(1.0, 1.0, 1.0): 0.75, (0.0, 0.0, 0.0): 0.25})


def test_who_has_no_weight_never_comes():
    assert all(mixture([NONE, ALL, NONE], [0, 1, 0]).clicks([0], 1, i) == 1.0 for i in range(100))


def test_mixtures_of_mixtures_and_of_people_who_change():
    inner = mixture([ALL, NONE], [1, 3], name="inner")
    assert mixture([inner, NONE]).click_probabilities([0]) == pytest.approx([0.125])
    changing = mixture([drift([NONE, ALL], at=[10], over=10), ALL], [1, 1])
    at = [changing.click_probabilities([0], impression=i).item() for i in (0, 10, 15, 20, 99)]
    assert at == pytest.approx([0.5, 0.5, 0.75, 1.0, 1.0])


def test_people_are_users_names_or_settings():
    made = mixture(["perfect", {"kind": "cascade", "attraction": "navigational", "stop": "anywhere"}])
    assert made.people[1] == cascade("navigational", stop="anywhere")
    assert made.name == "perfect + navigational cascade (anywhere)"
    assert [one.attraction for one in made.graded(3).people] == [(0.0, 0.5, 1.0), (0.05, 0.5, 0.95)]


class Silent(User, frozen=True):
    """Somebody from outside with a click of their own."""

    def compiled(self, page_size, split=None):
        return None


@pytest.mark.parametrize(
    ("people", "weights", "reason"),
    [
        ([], [], "people must be a list of users, at least one"),
        (["angel"], [], "users must be among perfect, noisy.*got 'angel'"),
        (["perfect"], [1, 2], "one for each of the 1 people"),
        (["perfect", "noisy"], [0, 0], "not all 0"),
        (["perfect", "noisy"], [2, -1], "numbers from 0"),
        (["perfect", "noisy"], ["a", 1], r"weights\[0\] must be a finite number"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(people, weights, reason):
    with pytest.raises(SettingsError, match=reason):
        mixture(people, weights)


def test_whoever_has_a_click_of_their_own_cannot_be_mixed():
    with pytest.raises(SettingsError, match="'silent' has a click of its own, and no tables"):
        mixture(["perfect", Silent()]).compiled(10)
