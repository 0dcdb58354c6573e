"""The cascade has two meanings of *stop*, which are far apart and named apart."""

import pytest

from rankloop.errors import SettingsError
from rankloop.users import Cascade, cascade


@pytest.mark.parametrize(("stop", "ranks"), [("after-click", 9.6), ("anywhere", 4.5)])
def test_the_navigational_person_reads_as_much_of_an_irrelevant_page_as_the_rule_allows(stop, ranks):
    user = cascade("navigational", stop=stop)
    assert user.examination_probabilities([0] * 10).sum() == pytest.approx(ranks, abs=0.05)


def test_the_two_rules_have_names_of_their_own():
    names = {cascade("navigational", stop=stop).name for stop in ("after-click", "anywhere")}
    assert names == {"navigational cascade (after-click)", "navigational cascade (anywhere)"}


def test_a_perfect_cascade_reads_to_the_end():
    assert cascade("perfect", stop="anywhere").examination_probabilities([4] * 10).tolist() == [1.0] * 10


def test_tables_for_three_grades():
    user = cascade("navigational", stop="anywhere", grades=3)
    assert (user.attraction, user.stopping) == ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9))
    assert user.name == "navigational cascade (anywhere)"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"attraction": "perfect", "stop": "never"}, "stop must be one of 'after-click', 'anywhere'; got 'never'"),
        ({"attraction": [0.1, 0.9], "stop": "anywhere"}, "stopping must be given with an attraction of your own"),
        ({"attraction": [0.1, 0.9], "stop": "anywhere", "stopping": [0.1]}, "one probability for each grade.*got 1"),
        ({"attraction": "perfect", "stop": "anywhere", "stopping": [2.0]}, r"stopping\[0\] must be a probability"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(settings, reason):
    with pytest.raises(SettingsError, match=reason):
        Cascade(**settings)
