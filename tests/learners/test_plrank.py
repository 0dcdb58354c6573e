"""PLRank: an update is its definition, step by step; it learns, and its pages are the policy's."""

import math

import numpy as np
import pytest

import rankloop as rl
from rankloop.online import OnlineRanker

X = np.random.default_rng(2).normal(size=(6, 3)).astype(np.float32)
CLICKS = [0.0, 1.0, 0.0]


def ranker(**settings):
    return OnlineRanker(rl.PLRank(**settings), features=3, seed=1, page_size=3, weights=[0.5, -0.2, 0.1])


def literal_update(learner, weights, page, samples=4000):
    """The step with a model that knows nothing yet (R̂ = ½), its expectation estimated by many rankings."""
    scores = X.astype(float) @ weights
    examined, discount = np.array([1.0, 1 / 2, 1 / 3]), 1.0 / np.log2([2, 3, 4])
    draws = np.random.default_rng(0)
    rankings = [np.argsort(-(scores + draws.gumbel(size=6)))[:3] for _ in range(samples)]
    exposure = np.zeros(6)
    for ranking in rankings:
        exposure[ranking] += examined / samples
    worth = np.full(6, 0.5)
    for k, d in enumerate(page):
        worth[d] += (CLICKS[k] - examined[k] * 0.5) / max(exposure[d], learner.clip)
    gradient = np.zeros(6)
    for ranking in rankings:
        left = np.exp(scores)
        for k, d in enumerate(ranking):  # REINFORCE: the same expectation, from another formula
            later = discount[k:] @ worth[ranking[k:]]
            gradient += later * ((np.arange(6) == d) - left / left.sum()) / samples
            left[d] = 0.0
    return learner.learning_rate * gradient @ X.astype(float)


@pytest.mark.thorough
def test_a_step_is_the_metric_s_gradient_with_corrected_rewards():
    """Eight rankings a page, averaged over 400 seeds, against 4,000 rankings and REINFORCE: within 4 standard errors.

    Exposures are large here, so their clip plays no part and their noise little.
    """
    learner = rl.PLRank(clip=0.01, samples=32)
    steps = []
    for impression in range(400):
        one = ranker(clip=0.01, samples=32)
        one.impressions = impression
        page = one.rank(X)
        before = one.weights
        page = rl.Page(np.array([3, 0, 5]), impression, page.candidates, page.scores, page.notes)
        one.learn(page, clicks=CLICKS)
        steps.append(one.weights - before)
    expected = literal_update(learner, np.array([0.5, -0.2, 0.1]), [3, 0, 5])
    error = np.std(steps, axis=0) / math.sqrt(len(steps))
    scale = np.linalg.norm(expected)
    assert np.mean(steps, axis=0) == pytest.approx(expected, abs=4 * error.max() + 0.05 * scale)


def test_the_reward_model_learns_what_is_clicked():
    """Whoever looks at a document with a positive first feature clicks: R̂ finds out, though nobody looks far."""
    one = OnlineRanker(rl.PLRank(), features=3, seed=1)
    draws = np.random.default_rng(5)
    for _ in range(400):
        candidates = draws.normal(size=(12, 3)).astype(np.float32)
        page = one.rank(candidates)
        looked_at = draws.random(10) < 1 / np.arange(1, 11)
        one.learn(page, clicks=((candidates[page.documents, 0] > 0) & looked_at).astype(float))
    reward = one.model.reward
    assert reward[0] > 4 * np.abs(reward[1:]).max()
    assert one.weights[0] > 4 * np.abs(one.weights[1:]).max()


def test_features_that_all_candidates_share_teach_nothing():
    one = OnlineRanker(rl.PLRank(), features=3, seed=1)
    same = np.column_stack([X[:, 0], np.ones(6), X[:, 1]]).astype(np.float32)
    for _ in range(20):
        one.learn(one.rank(same), clicks=[1, 0, 0, 0, 1, 0])
    assert one.model.reward[1] == pytest.approx(0.0, abs=1e-6)
    assert one.weights[1] == pytest.approx(0.0, abs=1e-5)


def test_the_rate_falls_to_its_floor():
    one = ranker(learning_rate=0.2, decay=0.5, floor=0.1)
    for _ in range(3):
        one.learn(one.rank(X), clicks=CLICKS)
    assert one.model.rate[0] == 0.1


def test_pages_come_from_the_policy_at_its_temperature():
    one = ranker(temperature=0.5)
    page = one.rank(X)
    told = rl.PLRank(temperature=0.5).page_log_probability(None, page.scores, page.documents)
    assert told == pytest.approx(math.log(rl.policies.plackett_luce.probability(page.scores, page.documents, 0.5)))
    assert rl.PLRank().assumed_propensities == rl.propensities.power_law(1.0)


def test_it_learns():
    data = rl.load("tiny")
    run = rl.simulate(rl.PLRank(), rl.users.perfect(), data, impressions=1000, seed=1)
    assert run.offline_ndcg > run.offline_curve[0, 1] + 0.1
