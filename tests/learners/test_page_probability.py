"""How likely a page of compared rankers was: the product over ranks, held against all assignments and all pages."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import DBGD, PMGD
from rankloop.learners.multileaving import drafted_log_probability, multileaved_log_probability
from rankloop.online import OnlineRanker

from ..proofs import literal
from .test_comparisons import SIZE, START, X, directions, one_direction, ranking


def ranks_on(rankings, page) -> np.ndarray:
    """(page, rankers): where each ranker has the documents of a page, from 1 on."""
    return np.array([[order.index(document) + 1 for order in rankings] for document in page])


def keys_of(rankings) -> np.ndarray:
    return -np.array([np.argsort(order) for order in rankings])


@st.composite
def compared(draw, least: int = 1, most: int = 4):
    documents = draw(st.integers(1, 5))
    rankings = [draw(st.permutations(range(documents))) for _ in range(draw(st.integers(least, most)))]
    return rankings, draw(st.integers(1, documents))


@given(compared())
@examples(60)
def test_multileaved_pages_have_probabilities_that_sum_to_one(comparison):
    rankings, size = comparison
    documents = len(rankings[0])
    total = sum(
        math.exp(multileaved_log_probability(ranks_on(rankings, page), documents))
        for page in literal.all_pages(documents, size)
    )
    assert total == pytest.approx(1.0, rel=1e-12)


@given(compared(most=3), st.randoms(use_true_random=False))
@examples(100)
def test_a_multileaved_page_is_as_likely_as_all_assignments_of_rankers_to_it(comparison, random):
    rankings, size = comparison
    page = random.sample(range(len(rankings[0])), size)
    told = multileaved_log_probability(ranks_on(rankings, page), len(rankings[0]))
    assert told == pytest.approx(math.log(literal.multileaved_probability(rankings, page)), rel=1e-12, abs=1e-13)


@given(compared(least=2, most=2))
@examples(100)
def test_a_drafted_page_is_as_likely_as_the_coins_that_lead_to_it(comparison):
    rankings, size = comparison
    total = 0.0
    for page in literal.all_pages(len(rankings[0]), size):
        told = math.exp(drafted_log_probability(keys_of(rankings), np.array(page)))
        assert told == pytest.approx(literal.drafted_probability(rankings, page), rel=1e-12, abs=0)
        total += told
    assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("order", [range(1, 1001), range(1000, 0, -1)], ids=["best first", "worst first"])
def test_the_end_of_a_long_page_keeps_its_digits(order):
    """With 1,000 of 1,000 documents shown, one minus what was shown would have lost the last ones."""
    cubes = [1.0 / rank**3 for rank in order]
    exact = math.fsum(math.log(cubes[t] / math.fsum(cubes[t:])) for t in range(1000))
    assert multileaved_log_probability(np.array(order)[:, None], 1000) == pytest.approx(exact, rel=1e-12)


LEARNERS = [DBGD(), DBGD(delta=0.3), DBGD(interleaving="team-draft"), PMGD(candidates=3), PMGD(candidates=3, delta=0.5)]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_the_methods_tell_the_probability_of_the_page_they_have_just_drawn(learner):
    """With the rankings rebuilt from the weights and the search directions, not from the method's scratch."""
    ranker = OnlineRanker(learner, features=X.shape[1], seed=12, page_size=SIZE, weights=START)
    for impression in range(10):
        before = ranker.weights
        page = ranker.rank(X)
        told = learner.page_log_probability(ranker._work, page.scores, page.documents)
        U = [one_direction(impression)] if isinstance(learner, DBGD) else directions(3, impression)
        rankings = [ranking(before), *(ranking(before + learner.delta * u) for u in U)]
        literally = literal.multileaved_probability
        if getattr(learner, "interleaving", "") == "team-draft":
            literally = literal.drafted_probability
        assert told == pytest.approx(math.log(literally(rankings, list(page))), rel=1e-12)
        ranker.learn(page, clicks=[0, 1, 0, 1])


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_scratch_of_a_larger_query_before_does_not_matter(learner):
    told = []
    for warm in (False, True):
        ranker = OnlineRanker(learner, features=X.shape[1], seed=12, page_size=SIZE, weights=START)
        if warm:
            ranker.rank(np.vstack([X, X + 1, X - 1]))
            ranker.impressions = 0
        page = ranker.rank(X[:5])
        told.append(learner.page_log_probability(ranker._work, page.scores, page.documents))
    assert told[0] == told[1]
