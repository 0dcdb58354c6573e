"""PDGD as a learner: what a page changes, and what it refuses."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import PDGD
from rankloop.online import OnlineRanker

from ..proofs import literal

X = np.random.default_rng(5).normal(size=(6, 3)).astype(np.float32)


def step_of(learner: PDGD, clicks) -> tuple[np.ndarray, OnlineRanker, object]:
    ranker = OnlineRanker(learner, features=3, seed=4, page_size=4, weights=[0.3, -0.2, 0.5])
    page = ranker.rank(X)
    before = ranker.weights
    ranker.learn(page, clicks=clicks)
    return ranker.weights - before, ranker, page


def test_one_step_is_the_rate_times_features_times_score_gradient():
    moved, _, page = step_of(PDGD(), [0, 1, 0, 1])
    wanted = 0.1 * X.T.astype(float) @ literal.pdgd_gradient(page.scores, list(page), [0, 1, 0, 1])
    # Features and the sum over documents are float32.
    np.testing.assert_allclose(moved, wanted, rtol=1e-5, atol=1e-8)


def test_with_a_temperature_it_is_the_method_of_the_scores_over_it():
    moved, _, page = step_of(PDGD(temperature=0.25), [0, 1, 0, 1])
    z = np.asarray(page.scores, float) / 0.25
    wanted = 0.1 / 0.25 * X.T.astype(float) @ literal.pdgd_gradient(z, list(page), [0, 1, 0, 1])
    np.testing.assert_allclose(moved, wanted, rtol=1e-5, atol=1e-8)
    gradient = PDGD(temperature=0.25).score_gradient(page.scores, list(page), [0, 1, 0, 1])
    np.testing.assert_allclose(X.T.astype(float) @ gradient * 0.1, wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("clicks", [[0, 0, 0, 0], [1, 1, 1, 1]])
def test_a_page_without_a_preference_changes_nothing(clicks):
    moved, ranker, _ = step_of(PDGD(decay=0.5), clicks)
    assert not moved.any()
    assert ranker.model.rate[0] == 0.1


def test_the_rate_decays_after_each_update_down_to_its_floor():
    _, ranker, _ = step_of(PDGD(decay=0.5, floor=0.03), [1, 0, 0, 0])
    rates = [ranker.model.rate[0]]
    for _ in range(2):
        ranker.learn(ranker.rank(X), clicks=[1, 0, 0, 0])
        rates.append(ranker.model.rate[0])
    assert rates == [0.05, 0.03, 0.03]


@pytest.mark.parametrize(
    ("scores", "page", "clicks", "reason"),
    [
        ([0.0, 1.0], [0, 1], [1], "one value per shown document: 2; got 1"),
        ([0.0, 1.0], [0, -1], [1, 0], "page"),
        ([0.0, 1.0], [0, 0], [1, 0], "page"),
        ([0.0, np.nan], [0, 1], [1, 0], "scores"),
    ],
)
def test_an_impossible_impression_is_refused(scores, page, clicks, reason):
    with pytest.raises(SettingsError, match=reason):
        PDGD().score_gradient(scores, page, clicks)
