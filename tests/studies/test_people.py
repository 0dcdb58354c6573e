"""Who wins with which people, and who merely wins on the people it assumes."""

import pytest

from rankloop.studies.coverage import Coverage
from rankloop.studies.people import has_people, meetings, people_table, verdicts

from .small_studies import small

METHODS = ({"learner": "ROLTR"}, {"learner": "PDGD"}, {"learner": "MDPRank"})
PEOPLE = ("noisy", {"attraction": "noisy", "examination": "slow"}, {"kind": "trust", "attraction": "noisy"})


def results(made_up, levels, repeats=5):
    """Online nDCG by user, for ROLTR and for PDGD; seeds spread by 1 in common, and a little on their own."""

    def online(cell):
        if cell.label == "MDPRank":
            return 900.0
        level = levels[cell.user.name][cell.label == "PDGD"]
        return level + cell.seed + 0.5 * (-1) ** cell.seed * (cell.label == "PDGD")

    return Coverage(made_up(small(*METHODS, users=PEOPLE, repeats=repeats), online=online))


def test_the_highest_mean_wins_and_whom_a_paired_test_cannot_tell_from_it(made_up):
    coverage = results(made_up, {"noisy": (520, 500), "noisy (slow)": (500, 500), "noisy trust": (500, 520)})
    alone, tied, other = meetings(coverage, "g")
    assert (alone.user, alone.standing.best, alone.winners) == ("noisy", "ROLTR", ("ROLTR",))
    assert (tied.user, set(tied.winners)) == ("noisy (slow)", {"ROLTR", "PDGD"})
    assert (other.standing.best, other.winners) == ("PDGD", ("PDGD",))
    single = results(made_up, {"noisy": (520, 500), "noisy (slow)": (500, 500), "noisy trust": (500, 520)}, repeats=1)
    assert not any(one.winners for one in meetings(single, "g"))  # one run each: nothing can be told


def test_the_skyline_is_shown_and_does_not_compete(made_up):
    coverage = results(made_up, {"noisy": (520, 500), "noisy (slow)": (500, 510), "noisy trust": (500, 520)})
    assert all("MDPRank" in one.means and "MDPRank" not in one.winners for one in meetings(coverage, "g"))
    assert not any(sentence.startswith("MDPRank") for sentence in verdicts(coverage, "g"))


def test_a_method_is_at_home_where_its_assumption_about_examination_is_true(made_up):
    coverage = results(made_up, {"noisy": (520, 500), "noisy (slow)": (500, 510), "noisy trust": (500, 520)})
    assert [one.assuming for one in meetings(coverage, "g")] == [("ROLTR",), (), ()]
    table = people_table(coverage, "g")
    assert table.rows[0][1].mark == "†"
    assert table.rows[0][1].best
    assert not any(entry.mark for row in table.rows[1:] for entry in row)


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ({"noisy": (520, 500), "noisy (slow)": (500, 510), "noisy trust": (500, 520)},
         "ROLTR wins only on the people it assumes: it is among the best with the one kind of people who look as it "
         "assumes, but with neither other kind."),
        ({"noisy": (520, 500), "noisy (slow)": (520, 510), "noisy trust": (500, 520)},
         "is among the best with the one kind of people who look as it assumes, and with 1 of the 2 other kinds."),
        ({"noisy": (500, 520), "noisy (slow)": (500, 510), "noisy trust": (500, 520)},
         "ROLTR is not among the best with any kind of people."),
    ],
)  # fmt: skip
def test_a_sentence_says_who_merely_wins_on_the_people_it_assumes(made_up, levels, sentence):
    first, second = verdicts(results(made_up, levels), "g")
    assert sentence in first
    assert second.startswith("PDGD is among the best with ")


def test_two_kinds_of_people_or_one_method_are_no_such_question(made_up):
    assert has_people(Coverage(made_up(small(*METHODS, users=PEOPLE))), "g")
    assert not has_people(Coverage(made_up(small(*METHODS))), "g")
    assert not has_people(Coverage(made_up(small(METHODS[0], users=PEOPLE))), "g")
