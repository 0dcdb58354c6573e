"""The probability in the log is that of the page: held against plain exponentials, all assignments and all pages."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights, Posterior
from rankloop.learners.contract import copy_of
from rankloop.learners.directions import draw_direction, draw_directions
from rankloop.live.ranking import Ranking
from rankloop.live.settings import ModelSettings, Weights

from ..proofs import literal
from ..proofs.chisquare import agrees
from .diary import FOR_ALL, Diary, page_of, request

FEATURES, SEED = 4, 12
START = (1.0, -0.5, 0.25, 2.0)
X = np.random.default_rng(3).normal(size=(6, FEATURES)).astype(np.float32)
SOFTMAX = [ROLTR(), ROLTR(temperature=0.3), ROLTR(temperature=4.0), PDGD(), COLTR(candidates=5, temperature=0.5)]
COMPARING = [
    DBGD(),
    DBGD(delta=0.3),
    DBGD(interleaving="team-draft"),
    PMGD(candidates=3),
    PMGD(candidates=2, delta=0.5),
]


def model(learner, **more) -> ModelSettings:
    given = {
        "features": FEATURES,
        "page_size": 3,
        "seed": SEED,
        "scaling": "none",
        "start": Weights(START),
        "guards": FOR_ALL,
    }
    return ModelSettings(name="m", learner=learner, **(given | more))


def temperature_of(learner) -> float:
    return getattr(learner, "temperature", 1.0)


# Plackett–Luce


@examples(150)
@given(
    st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=6),
    st.sampled_from([0.05, 0.5, 1.0, 3.0, 100.0]),
    st.randoms(use_true_random=False),
)
def test_a_drawn_page_is_as_likely_as_plain_exponentials_say(scores, spread, random):
    page = random.sample(range(len(scores)), random.randint(1, len(scores)))
    told = ROLTR(temperature=spread).page_log_probability(None, np.array(scores, np.float32), np.array(page))
    exact = literal.page_probability(scores, page, spread)
    assert told == pytest.approx(float(exact.ln()), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("learner", SOFTMAX, ids=str)
def test_the_probabilities_of_all_pages_sum_to_one(learner):
    scores = X @ np.array(START, np.float32)
    told = [learner.page_log_probability(None, scores, np.array(page)) for page in literal.all_pages(6, 3)]
    assert math.fsum(map(math.exp, told)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", SOFTMAX, ids=str)
def test_pages_are_drawn_as_often_as_their_logged_probability_says(learner):
    diary = Diary(model(learner, page_size=2))
    view, asked = diary.fold.view(), request(X[:4], diary.settings)
    drawn: Counter = Counter()
    logged = {}
    for number in range(4000):
        page = diary.ranking.rank(view, asked, number).impression
        drawn[tuple(page.page)] += 1
        logged[tuple(page.page)] = math.exp(page.log_probability)
    scores = np.frombuffer(page.scores, np.float32)
    exact = {p: float(literal.page_probability(scores, p, temperature_of(learner))) for p in literal.all_pages(4, 2)}
    assert logged == pytest.approx({p: exact[p] for p in logged}, rel=1e-12)
    assert agrees(drawn, exact)


# Comparisons of rankers, and fixed weights


def rivals_of(learner, number: int) -> np.ndarray:
    """(rivals, features): the search directions of an impression, drawn again."""
    if isinstance(learner, DBGD):
        u = np.zeros(FEATURES, np.float32)
        draw_direction(np.uint64(SEED), number, learner.delta, u)
        return u[None]
    width = 16
    U = np.zeros((FEATURES, width), np.float32)
    draw_directions(np.uint64(SEED), number, learner.delta, np.zeros(width, np.float32), U)
    return U[:, 1 : learner.candidates + 1].T


def best_order(weights, documents) -> list[int]:
    return np.argsort(-(documents.astype(np.float64) @ weights), kind="stable").tolist()


@pytest.mark.parametrize("pinned", [{}, {4: 1}], ids=["free", "pinned"])
@pytest.mark.parametrize("learner", COMPARING, ids=str)
def test_a_page_of_compared_rankers_is_logged_with_its_probability_given_their_rankings(learner, pinned):
    diary = Diary(model(learner))
    free = [d for d in range(len(X)) if d not in pinned]
    for number in range(12):
        page = page_of(diary.show(X, pinned=pinned))
        rankers = [np.array(START), *(np.array(START) + rivals_of(learner, number).astype(np.float64))]
        rankings = [best_order(weights, X[free]) for weights in rankers]
        drawn = [free.index(d) for d in page.page if d not in pinned]
        literally = literal.multileaved_probability
        if getattr(learner, "interleaving", "") == "team-draft":
            literally = literal.drafted_probability
        assert page.log_probability == pytest.approx(math.log(literally(rankings, drawn)), rel=1e-9)


def test_fixed_weights_show_their_order_and_every_order_of_equals_is_as_likely():
    settings = model(FixedWeights(), features=1, start=Weights((1.0,)), page_size=4)
    diary = Diary(settings)
    tied = np.array([[1.0], [2.0], [1.0], [1.0], [0.0]])
    view, asked = diary.fold.view(), request(tied, settings)
    pages = [diary.ranking.rank(view, asked, number).impression for number in range(1200)]
    exact = {(1, *order): 1 / 6 for order in itertools.permutations([0, 2, 3])}
    assert agrees(Counter(tuple(page.page) for page in pages), exact)
    assert {round(math.exp(page.log_probability), 12) for page in pages} == {round(1 / 6, 12)}


def test_of_equals_that_do_not_all_fit_on_the_page_every_choice_is_as_likely():
    scores = np.array([1, 1, 1, 3], np.float32)
    for first, second in itertools.permutations([0, 1, 2], 2):
        told = FixedWeights().page_log_probability(None, scores, np.array([3, first, second]))
        assert math.exp(told) == pytest.approx(1 / 6, rel=1e-12)


# Pins


@pytest.mark.parametrize("learner", SOFTMAX, ids=str)
@pytest.mark.parametrize("pinned", [{5: 0}, {0: 2}, {1: 0, 3: 2}], ids=str)
def test_with_pins_the_probability_is_that_of_the_free_positions(learner, pinned):
    diary = Diary(model(learner))
    free = [d for d in range(len(X)) if d not in pinned]
    for _ in range(10):
        page = page_of(diary.show(X, pinned=pinned))
        scores = np.frombuffer(page.scores, np.float32)[free]
        drawn = [free.index(d) for d in page.page if d not in pinned]
        exact = literal.page_probability(scores, drawn, temperature_of(learner))
        assert page.log_probability == pytest.approx(float(exact.ln()), rel=1e-12)


# Weights that are drawn for each page


@pytest.mark.parametrize("pinned", [{}, {4: 1}], ids=["free", "pinned"])
def test_a_page_of_drawn_weights_is_logged_with_the_scores_and_the_probability_of_its_draw(pinned):
    diary = Diary(model(Posterior(softness=1.0)))
    for number in range(12):
        diary.close(diary.show(X), [0.0, float(number % 3 > 0), 1.0])
    free = [d for d in range(len(X)) if d not in pinned]
    own = diary.fold.view().scores_of(page_of(diary.show(X)), "float32")
    logged = []
    for _ in range(10):
        page = page_of(diary.show(X, pinned=pinned))
        scores = np.frombuffer(page.scores, np.float32)[free]
        drawn = [free.index(d) for d in page.page if d not in pinned]
        exact = literal.page_probability(scores, drawn)
        assert page.log_probability == pytest.approx(float(exact.ln()), rel=1e-9, abs=1e-12)
        logged.append(scores.tolist())
        if not pinned:
            rank = np.argsort(np.argsort(-own, kind="stable"))
            assert page.displacement == pytest.approx(np.abs(rank[page.page] - np.arange(3)).mean())
    assert len({tuple(scores) for scores in logged}) == 10


# What else is known of a policy


def test_temperatures():
    assert [learner.policy_temperature for learner in SOFTMAX] == [1.0, 0.3, 4.0, 1.0, 0.5]
    assert {learner.policy_temperature for learner in [*COMPARING, FixedWeights()]} == {None}


@pytest.mark.parametrize("learner", [*SOFTMAX, *COMPARING, FixedWeights()], ids=str)
def test_a_view_ranks_as_it_did_whatever_is_learned_later(learner):
    diary = Diary(model(learner))
    view = diary.fold.view()
    before = [Ranking(diary.settings).rank(view, request(X, diary.settings), n).impression for n in range(5)]
    for _ in range(20):
        diary.close(diary.show(X), [0.0, 1.0, 0.0])
    after = [Ranking(diary.settings).rank(view, request(X, diary.settings), n).impression for n in range(5)]
    assert after == before
    copied = copy_of(diary.fold.ranker.model)
    assert copied.ranker.weights.tolist() == diary.fold.ranker.weights.tolist()
    assert not np.shares_memory(copied.ranker.weights, diary.fold.ranker.model.ranker.weights)
