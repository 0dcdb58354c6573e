"""P(stop) by grade is the literature's."""

from rankloop.users import STOPS

# Written out: a table checked against itself says nothing.
LITERATURE = {
    "perfect": ((0, 0, 0, 0, 0), (0, 0, 0)),
    "navigational": ((0.2, 0.3, 0.5, 0.7, 0.9), (0.2, 0.5, 0.9)),
    "informational": ((0.1, 0.2, 0.3, 0.4, 0.5), (0.1, 0.3, 0.5)),
    "almost-random": ((0.5, 0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
}


def test_the_tables_are_the_literatures():
    assert {name: (STOPS[name][5], STOPS[name][3]) for name in LITERATURE} == LITERATURE


def test_the_papers_names_mean_the_same_people():
    assert STOPS["noisy"] == STOPS["informational"]
    assert STOPS["near-random"] == STOPS["almost-random"]
