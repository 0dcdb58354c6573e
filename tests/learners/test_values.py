"""Values between 0 and 1 are learned from as expected value: by enumeration, of every outcome of a small page."""

import itertools

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, PDGD, ROLTR, Posterior
from rankloop.learners.rank_gradient import click_slope, correct_reward
from rankloop.online import OnlineRanker

from .test_page_likelihood import a_page, evidence, evidence_of_the_number, log_scores

OUTCOMES = (0.0, 0.2, 1.0)
"""Nothing, a click, a purchase."""


def every_outcome(chances):
    """(probability, values) of all that can happen on a page; `chances` are those of OUTCOMES, for each document."""
    for happened in itertools.product(range(len(OUTCOMES)), repeat=len(chances)):
        probability = np.prod([chances[k][what] for k, what in enumerate(happened)])
        yield probability, np.array([OUTCOMES[what] for what in happened])


def chances_for(expected, purchases):
    """Chances of nothing, click and purchase with these expected values, of which so much comes from purchases."""
    bought = purchases * expected
    clicked = (expected - bought) / 0.2
    return np.stack([1 - clicked - bought, clicked, bought], axis=1)


@pytest.mark.parametrize("purchases", [0.0, 0.5, 1.0])
def test_the_truth_is_where_posteriors_evidence_is_zero_on_average(purchases):
    """However a document's expected value comes about, by clicks or by purchases: a quasi-likelihood asks no more."""
    X, page, rank, spread, _, truth = a_page(seed=3, shown=4)
    expected = np.exp(log_scores(truth, X, page, rank, spread))
    expected *= 0.15 / expected.max()
    mean, weight = np.zeros(len(truth)), 0.0
    for probability, values in every_outcome(chances_for(expected, purchases)):
        mean += probability * evidence(truth, X, page, rank, spread, values)[1]
        weight += probability
    assert weight == pytest.approx(1.0)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_page_and_the_rest_of_it_later_are_the_whole_page(seed):
    """At one mean: gradients and information add up, with what the page has of its own counted once."""
    X, page, rank, spread, first, at = a_page(seed, shown=4)
    rest = np.array([0.0, 0.8, 0.0, 0.5])
    given = at, X, page, rank, spread
    whole, parts = evidence(*given, first + rest), [evidence(*given, one) for one in (first, rest)]
    np.testing.assert_allclose(parts[0][1] + parts[1][1], whole[1], atol=1e-12)
    np.testing.assert_allclose(parts[0][2] + parts[1][2], whole[2], atol=1e-12)
    gradient, level = evidence_of_the_number(*given, first)
    all_at_once, same_level = evidence_of_the_number(*given, first + rest)
    more, none = evidence_of_the_number(*given, rest, once=0.0)
    np.testing.assert_allclose(gradient + more, all_at_once, atol=1e-6)
    np.testing.assert_allclose(level, same_level)
    assert not none.any()  # its information is not counted twice


def test_roltrs_update_is_linear_in_the_values():
    """So its mean over outcomes is the update at the expected values."""
    learner, scores, page = ROLTR(), [0.3, -0.2, 0.5, 0.0], [2, 0, 3]
    expected = np.array([0.3, 0.1, 0.25])
    mean = sum(
        probability * learner.score_gradient(scores, page, values)
        for probability, values in every_outcome(chances_for(expected, 0.6))
    )
    np.testing.assert_allclose(mean, learner.score_gradient(scores, page, expected), atol=1e-12)


@pytest.mark.parametrize("exposure", [0.3, 0.9])
def test_what_plrank_makes_of_a_click_is_linear_in_its_value(exposure):
    [chances] = chances_for(np.array([0.3]), 0.5)
    worth = [correct_reward(0.4, value, exposure, 0.0, exposure, 0.1) for value in (*OUTCOMES, 0.3)]
    slope = [click_slope(0.4, value, exposure, 0.0) for value in (*OUTCOMES, 0.3)]
    for *each, expected in (worth, slope):
        assert chances @ each == pytest.approx(expected, abs=1e-12)


def test_methods_say_whether_they_learn_from_values():
    binary = {name for name, kind in LEARNERS.items() if not kind.graded}
    assert binary == {"PDGD", "COLTR", "PairRank", "DBGD", "PMGD"}
    assert {name for name, kind in LEARNERS.items() if kind.takes_more} == {"Posterior"}
    same = [PDGD().score_gradient([0.0] * 3, [2, 0], clicks) for clicks in ([0.5, 0.4], [1, 0])]
    np.testing.assert_array_equal(*same)


def taught(*, late: bool, pages: int = 60):
    """A ranker that has learned from many pages; the rest of the last one comes with it, or after it."""
    rng = np.random.default_rng(4)
    ranker = OnlineRanker(Posterior(), features=3, seed=1, page_size=4)
    for number in range(pages):
        page = ranker.rank(rng.normal(size=(8, 3)))
        values = rng.choice(OUTCOMES, size=4)
        if number < pages - 1:
            ranker.learn(page, values)
    first, rest = np.array([0.2, 0.0, 0.0, 0.2]), np.array([0.8, 0.0, 0.0, 0.0])
    if late:
        ranker.learn(page, first)
        before = ranker.weights
        ranker.learn(page, rest, more=True)
        assert (ranker.weights != before).any()
    else:
        ranker.learn(page, first + rest)
    return ranker


def test_late_or_not_a_posterior_comes_to_nearly_the_same():
    late, prompt = taught(late=True), taught(late=False)
    assert late.model.pages == prompt.model.pages  # it was one page
    np.testing.assert_array_equal(late.model.spread, prompt.model.spread)
    apart = np.linalg.norm(late.weights - prompt.weights)
    assert apart < 0.02 * np.linalg.norm(prompt.weights)


def test_methods_that_learn_once_refuse_the_rest():
    ranker = OnlineRanker(ROLTR(), features=3, seed=1, page_size=4)
    page = ranker.rank(np.eye(8, 3))
    with pytest.raises(SettingsError, match="ROLTR learns from a page once"):
        ranker.learn(page, [0, 1, 0, 0], more=True)
