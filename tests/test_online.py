"""The live ranker draws what the simulation draws and learns what it learns, to the last bit."""

import numpy as np
import pytest

from rankloop.errors import DivergenceError, SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, MDPRank, Posterior
from rankloop.online import OnlineRanker
from rankloop.propensities import PowerLaw
from rankloop.simulation import simulate
from rankloop.users import noisy

from .proofs import small

DATA = small.collection()
LEARNERS = [
    ROLTR(),
    ROLTR(reward="naive-", discount=0.5, propensities=PowerLaw(0.5), temperature=0.5),
    ROLTR(
        baseline=True,
        skip_clickless=True,
        clip=0.2,
        decay=0.99,
        initial="truncated-normal",
        discount=0.3,
        discount_steps=True,
    ),
    PDGD(),
    DBGD(),
    DBGD(interleaving="team-draft"),
    PMGD(candidates=5),
    COLTR(candidates=20),
    MDPRank(),
    MDPRank(variant="authors"),
    FixedWeights(weights=(1.0, 0.0, 0.0, 0.5, 0.0)),
    Posterior(),
    Posterior(half_life=40.0, intervals=True),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize(("delay", "late_scores"), [(0, "current"), (0, "drawn"), (3, "current"), (3, "drawn")])
def test_the_live_ranker_ends_with_the_bits_of_the_simulation(learner, delay, late_scores):
    run = simulate(learner, noisy(), DATA, 120, seed=9, delay=delay, late_scores=late_scores)
    ranker = small.drive(learner, noisy(), DATA, 120, seed=9, delay=delay, as_drawn=late_scores == "drawn")
    assert ranker.weights.tobytes() == run.weights.tobytes()
    assert ranker.impressions == 120


def test_late_updates_against_current_and_drawing_scores_differ():
    runs = [simulate(ROLTR(), noisy(), DATA, 120, seed=9, delay=3, late_scores=kind) for kind in ("current", "drawn")]
    assert runs[0].weights.tolist() != runs[1].weights.tolist()


def test_other_page_sizes_and_given_weights_agree_as_well():
    start = [0.1, 0.2, 0.3, 0.4, 0.5]
    run = simulate(ROLTR(), noisy(), DATA, 100, seed=2**63 + 5, page_size=3, weights=start)
    ranker = small.drive(ROLTR(), noisy(), DATA, 100, seed=2**63 + 5, page_size=3, weights=start)
    assert ranker.weights.tobytes() == run.weights.tobytes()


def test_a_page_is_the_list_of_what_is_shown():
    ranker = OnlineRanker(ROLTR(), features=2, seed=1, page_size=3)
    X = np.arange(10.0).reshape(5, 2)
    page = ranker.rank(X)
    assert len(page) == 3
    assert len(set(page)) == 3
    assert X[page].shape == (3, 2)
    assert [page[0], page[1], page[2]] == list(page) == np.asarray(page).tolist()
    assert [ranker.rank(X).impression for _ in range(2)] == [1, 2]


def test_changing_the_candidates_after_ranking_changes_nothing():
    X = np.random.default_rng(3).normal(size=(6, 2)).astype(np.float32)
    rankers = [OnlineRanker(ROLTR(), features=2, seed=1) for _ in range(2)]
    for ranker, meddle in zip(rankers, (False, True), strict=True):
        mine = X.copy()
        page = ranker.rank(mine)
        if meddle:
            mine[:] = 0.0
        ranker.learn(page, clicks=[1, 0, 0, 0, 0, 0])
    assert rankers[0].weights.tolist() == rankers[1].weights.tolist()


def test_a_growing_number_of_candidates_is_welcome():
    ranker = OnlineRanker(PMGD(candidates=4), features=2, seed=1)
    for candidates in (1, 30, 2, 100):
        X = np.random.default_rng(candidates).normal(size=(candidates, 2))
        page = ranker.rank(X)
        ranker.learn(page, clicks=[1] + [0] * (len(page) - 1))
    assert np.isfinite(ranker.weights).all()


def test_scores_beyond_single_precision_are_told_and_no_page_is_drawn_by_them():
    ranker = OnlineRanker(ROLTR(), features=2, seed=1, weights=[1e30, 0.0])
    with pytest.raises(DivergenceError, match=r"ROLTR: features times weights .* scale the features"):
        ranker.rank([[1e30, 1.0], [1.0, 0.0]])
    assert ranker.impressions == 0


@pytest.mark.filterwarnings("error")
def test_weights_beyond_single_precision_are_refused():
    with pytest.raises(SettingsError, match="weights must be within the range of float32"):
        OnlineRanker(ROLTR(), features=2, seed=1, weights=[1e300, 0.0])


def ranked() -> tuple:
    ranker = OnlineRanker(ROLTR(), features=2, seed=1)
    return ranker, ranker.rank([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("feedback", "reason"),
    [
        ({"clicks": [1]}, "clicks must have one value per shown document: 2; got 1"),
        ({"clicks": [1, 2]}, "clicks must lie between 0 and 1"),
        ({"clicks": [1, float("nan")]}, "clicks must be finite"),
        ({"clicks": ["yes", "no"]}, "clicks"),
        ({"clicks": [[1, 0]]}, "clicks"),
        ({"grades": [1, 0]}, "ROLTR learns from clicks"),
        ({}, "ROLTR learns from clicks"),
    ],
    ids=str,
)
def test_feedback_that_does_not_fit_is_refused_and_changes_nothing(feedback, reason):
    ranker, page = ranked()
    with pytest.raises(SettingsError, match=reason):
        ranker.learn(page, **feedback)
    assert ranker.weights.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("grades", "reason"), [([0.5, 0], "grades"), ([-1, 0], "grades"), ([31, 0], "grades")])
def test_grades_that_are_no_grades_are_refused(grades, reason):
    ranker = OnlineRanker(MDPRank(), features=2, seed=1)
    page = ranker.rank([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(SettingsError, match=reason):
        ranker.learn(page, grades=grades)


@pytest.mark.parametrize(
    ("X", "reason"),
    [
        ([[1.0]], "2 features per row"),
        (np.zeros((0, 2)), "at least one row"),
        ([[1.0, float("nan")]], "candidate 0, feature 1 is nan"),
        ([["a", "b"]], "candidates"),
        (np.zeros((2, 2, 2)), "2 features per row"),
    ],
    ids=str,
)
def test_candidates_that_do_not_fit_are_refused(X, reason):
    ranker, _ = ranked()
    with pytest.raises(SettingsError, match=reason):
        ranker.rank(X)
    assert ranker.impressions == 1


@pytest.mark.parametrize(
    ("query", "ids", "reason"),
    [
        ("q", ["a"], "each of the 2 candidates; got 1"),
        ("q", ["a", 7], "candidate 1 is 7"),
        ("q", ["a", "a"], "'a' names two candidates"),
        ("q", "ab", "a list with a text for each of the 2 candidates; got 'ab'"),
        ("q", 5, "a list with a text for each"),
        (None, ["a", "b"], "query must be a text; got None"),
        (" ", ["a", "b"], "give query= as well"),
    ],
    ids=str,
)
def test_names_that_do_not_fit_are_refused(query, ids, reason):
    ranker = OnlineRanker(Posterior(), features=1, seed=1)
    with pytest.raises(SettingsError, match=reason):
        ranker.rank([[1.0], [2.0]], query=query, ids=ids)
    assert ranker.impressions == 0


@pytest.mark.parametrize(
    "settings",
    [{"features": 0}, {"features": 1.5}, {"seed": -1}, {"seed": 2**64}, {"page_size": 0}],
    ids=str,
)
def test_impossible_settings_are_refused_with_name_and_value(settings):
    name, value = next(iter(settings.items()))
    with pytest.raises(SettingsError, match=rf"OnlineRanker.*{name}.*{value}"):
        OnlineRanker(ROLTR(), **({"features": 2, "seed": 1} | settings))
