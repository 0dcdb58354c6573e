"""What has been run is told from what was asked for."""

import pytest

from rankloop.studies.coverage import Coverage, learns_from_clicks
from rankloop.studies.specification import Grid, Study

from .small_studies import small

METHODS = ({"learner": "ROLTR"}, {"learner": "PDGD", "label": "rival"})
PLACE = ("g", "tiny", "noisy", "ROLTR")


def test_runs_are_found_by_their_place_and_stand_in_the_order_of_their_seeds(made_up):
    results = made_up(small(*METHODS, repeats=3))
    results.records.reverse()
    coverage = Coverage(results)
    assert [record.seed for record in coverage.runs(*PLACE)] == [1, 2, 3]
    assert coverage.runs("g", "tiny", "nobody", "ROLTR") == []
    assert (coverage.collections("g"), coverage.labels("g")) == (["tiny"], ["ROLTR", "rival"])


def test_what_nothing_was_run_of_is_absent_and_no_axis_names_it(made_up):
    coverage = Coverage(made_up(small(*METHODS), keep=lambda cell: (cell.label, cell.user.name) == ("ROLTR", "noisy")))
    assert coverage.absent("g") == ["perfect", "rival"]
    assert (coverage.users("g"), coverage.labels("g")) == (["noisy"], ["ROLTR"])
    assert Coverage(made_up(small(*METHODS))).absent("g") == []


@pytest.mark.parametrize(
    ("repeats", "kept", "words"),
    [(3, 3, "3 runs each"), (1, 1, "1 run each"), (3, 2, "8 of 12 runs finished"), (3, 0, "0 of 12 runs finished")],
)
def test_the_runs_of_a_grid_in_words(made_up, repeats, kept, words):
    coverage = Coverage(made_up(small(*METHODS, repeats=repeats), keep=lambda cell: cell.seed <= kept))
    assert coverage.of_grid("g") == words


def test_a_label_leads_to_its_method(made_up):
    coverage = Coverage(made_up(small(*METHODS)))
    assert coverage.learner("g", "rival") == "PDGD"
    assert coverage.compares_methods("g")
    rates = ({"learner": "ROLTR", "learning_rate": rate, "label": f"{rate}"} for rate in (0.1, 0.2))
    assert not Coverage(made_up(small(*rates))).compares_methods("g")


def test_grids_of_the_very_same_runs_are_one(made_up):
    twice = tuple(Grid(name=name, learners=METHODS[:1]) for name in ("first", "again"))
    other = Grid(name="other", learners=METHODS[1:])
    study = Study(
        name="s", grids=(*twice, other), impressions=2000, repeats=1, evaluate_every=500, collections=("tiny",)
    )
    assert Coverage(made_up(study)).distinct_grids() == {"first": ["again"], "other": []}


def test_runs_that_end_before_people_have_changed_are_named(made_up):
    people = [{"kind": "drift", "people": ["noisy", "perfect"], "at": [at], "name": str(at)} for at in (1999, 2000)]
    people += ["noisy", {"kind": "drift", "people": ["noisy", "perfect"], "at": [100], "over": 1950, "name": "slow"}]
    assert Coverage(made_up(small(*METHODS, impressions=2000, users=tuple(people)))).unseen_changes == [
        "runs of 2,000 impressions end before the last change of 2000 is over, at impression 2,000",
        "runs of 2,000 impressions end before the last change of slow is over, at impression 2,050",
    ]


def test_skylines_do_not_learn_from_clicks():
    assert [learns_from_clicks(name) for name in ("ROLTR", "MDPRank", "unheard of")] == [True, False, True]
