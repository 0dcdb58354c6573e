"""PairRank against a slow, literal version of itself: pairs, A⁻¹, and a refit on all history after every page."""

import collections
import math

import numpy as np
import pytest
from scipy import optimize

import rankloop as rl
from rankloop.errors import DivergenceError, SettingsError
from rankloop.learners import pairrank
from rankloop.online import OnlineRanker

from ..proofs import small

LAMBDA = 0.1


def literal_pairs(X, page, clicks):
    """x_i − x_j for i clicked, j not clicked, up to one past the last click."""
    clicked = [k for k, click in enumerate(clicks) if click]
    if not clicked:
        return []
    seen = range(min(max(clicked) + 2, len(page)))
    return [X[page[i]].astype(float) - X[page[j]] for i in seen for j in seen if clicks[i] and not clicks[j]]


def refit(pairs, features):
    """The θ of all history, by L-BFGS from zeros: what the authors do."""
    D = np.array(pairs)

    def loss(theta):
        z = D @ theta
        value = np.logaddexp(0.0, -z).mean() + LAMBDA * theta @ theta
        return value, -D.T @ (1.0 / (1.0 + np.exp(z))) / len(D) + 2.0 * LAMBDA * theta

    return optimize.minimize(loss, np.zeros(features), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}).x


def played(pages, learner=None, features=5, sizes=(12, 25, 7, 10)):
    """Pages of a small collection with noisy clicks: the ranker, and all pairs."""
    data = small.collection(sizes=sizes, features=features)
    history = []
    ranker = small.drive(
        learner or rl.PairRank(), rl.users.noisy(), data, pages, seed=4,
        seen=lambda i, page, clicks, grades: history.append((page, clicks)),
    )  # fmt: skip
    return ranker, [pair for page, clicks in history for pair in literal_pairs(page.candidates, page.documents, clicks)]


def test_a_inverse_is_that_of_all_pairs():
    ranker, pairs = played(150)
    D = np.array(pairs)
    A = LAMBDA * np.eye(5) + D.T @ D
    assert ranker.model.inverse == pytest.approx(np.linalg.inv(A), rel=1e-8, abs=1e-12)
    assert ranker.model.rounded_inverse[:, :5] == pytest.approx(ranker.model.inverse, rel=1e-6, abs=1e-9)
    assert ranker.model.pairs[0] == len(pairs)


def test_rank_one_updates_one_pair_at_a_time_come_to_the_same():
    _, pairs = played(30)
    P = np.eye(5) / LAMBDA
    for x in pairs:
        P -= np.outer(P @ x, x @ P) / (1.0 + x @ P @ x)
    ranker, _ = played(30)
    assert ranker.model.inverse == pytest.approx(P, rel=1e-9, abs=1e-12)


def test_the_step_solves_the_expanded_problem():
    """B, b and N from the definition; the solution's residual is nothing."""
    ranker, _ = played(100)
    model = ranker.model
    ridge = 2 * LAMBDA * model.pairs[0]
    residual = model.target - (model.information @ model.ranker.weights + ridge * model.ranker.weights)
    assert np.linalg.norm(residual) < 1e-5 * np.linalg.norm(model.target)
    assert model.residual == pytest.approx(residual, abs=1e-10 * np.linalg.norm(model.target))
    assert model.information == pytest.approx(model.information.T)


def test_the_first_page_is_newton_s_step_from_zero():
    X = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
    ranker = OnlineRanker(rl.PairRank(), features=5, seed=1, page_size=4)
    page = ranker.rank(X)
    ranker.learn(page, clicks=[0, 1, 1, 0])
    D = np.array(literal_pairs(X, page.documents, [0, 1, 1, 0]))
    H = D.T @ D / 4 / len(D) + 2 * LAMBDA * np.eye(5)
    assert len(D) == 4
    assert ranker.weights == pytest.approx(np.linalg.solve(H, D.mean(axis=0) / 2), rel=1e-4)


@pytest.mark.parametrize(("pages", "length"), [(5, 0.1), (50, 0.05), (400, 0.02)])
def test_a_warm_step_per_page_stays_with_the_refit_on_all_history(pages, length):
    """The direction within half a percent, the length within some; the loss within 1 % of what there is to gain."""
    ranker, pairs = played(pages)
    theta, exact = ranker.weights, refit(pairs, 5)
    assert theta @ exact / np.linalg.norm(theta) / np.linalg.norm(exact) > 0.995
    assert np.linalg.norm(theta) == pytest.approx(np.linalg.norm(exact), rel=length)
    D = np.array(pairs)

    def loss(w):
        return np.logaddexp(0.0, -D @ w).mean() + LAMBDA * w @ w

    assert loss(theta) - loss(exact) < 0.01 * (loss(np.zeros(5)) - loss(exact))


def test_it_ranks_as_well_as_the_refit_on_all_history():
    """After every 25 pages of the same history, both rank the test queries: nDCG differs by less than .005."""
    data, pairs, gaps = small.collection(sizes=(12, 25, 18, 10), features=5), [], []

    ranker, user = OnlineRanker(rl.PairRank(), features=5, seed=4), rl.users.noisy().on(data)
    for i in range(400):
        rows = slice(*data.train.offsets[[i % 4, i % 4 + 1]])
        page = ranker.rank(data.train.features[rows])
        chance = user.click_probabilities(data.train.grades[rows][page.documents])
        clicks = (np.random.default_rng([7, i]).random(10) < chance).astype(float)
        pairs += literal_pairs(page.candidates, page.documents, clicks)
        ranker.learn(page, clicks=clicks)
        if i % 25 == 24:
            gaps.append(np.subtract(*rl.evaluate(np.array([ranker.weights, refit(pairs, 5)]), data.test)))
    assert len(gaps) == 16
    assert abs(np.mean(gaps)) < 0.005


def test_with_little_regularisation_it_still_does():
    """Where |θ·x| grows, old expansions are rougher: the direction stays within a few percent."""
    ranker, pairs = played(400, rl.PairRank(regularisation=0.001))
    D = np.array(pairs)

    def loss(w):
        z = D @ w
        return np.logaddexp(0.0, -z).mean() + 0.001 * w @ w, -D.T @ (1 / (1 + np.exp(z))) / len(D) + 0.002 * w

    exact = optimize.minimize(loss, np.zeros(5), jac=True, method="L-BFGS-B").x
    theta = ranker.weights
    assert theta @ exact / np.linalg.norm(theta) / np.linalg.norm(exact) > 0.99
    assert loss(theta)[0] - loss(exact)[0] < 0.02 * (loss(np.zeros(5))[0] - loss(exact)[0])


@pytest.mark.parametrize("clicks", [[0, 0, 0], [1, 1, 1], [0.4, 0.4, 0.4]])
def test_a_page_without_a_preference_changes_nothing(clicks):
    ranker = OnlineRanker(rl.PairRank(), features=2, seed=1, page_size=3)
    page = ranker.rank(np.eye(3, 2, dtype=np.float32))
    ranker.learn(page, clicks=clicks)
    assert ranker.weights.tolist() == [0.0, 0.0]
    assert ranker.model.pairs[0] == 0.0


def test_documents_beyond_one_past_the_last_click_are_in_no_pair():
    ranker = OnlineRanker(rl.PairRank(), features=4, seed=1, page_size=4)
    page = ranker.rank(np.eye(4, dtype=np.float32))
    ranker.learn(page, clicks=[1, 0, 0, 0])
    assert ranker.model.pairs[0] == 1.0
    moved = ranker.weights[page.documents]
    assert moved[0] > 0 > moved[1]
    assert moved[2:].tolist() == [0.0, 0.0]


def test_given_weights_are_what_the_regulariser_pulls_towards():
    start = np.array([2.0, -1.0])
    ranker = OnlineRanker(rl.PairRank(regularisation=100.0), features=2, seed=1, page_size=3, weights=start)
    ranker.learn(ranker.rank(np.eye(3, 2, dtype=np.float32)), clicks=[0, 1, 0])
    assert ranker.weights == pytest.approx(start, abs=0.01)
    assert ranker.weights.tolist() != start.tolist()


def test_contrasts_square_to_the_sum_over_pairs():
    rows = np.random.default_rng(3).normal(size=(5, 3))
    laplacian, expected = np.zeros((5, 5)), np.zeros((3, 3))
    for i, j, weight in ((0, 1, 0.25), (0, 3, 0.2), (4, 1, 0.1), (4, 3, 1.0)):  # document 2 is in no pair
        pairrank.link(laplacian, i, j, weight)
        expected += weight * np.outer(rows[i] - rows[j], rows[i] - rows[j])
    out = np.zeros((5, 3))
    count = pairrank.contrasts(laplacian, rows, out)
    assert count == 3
    assert out[:count].T @ out[:count] == pytest.approx(expected)


def test_it_learns():
    data = rl.load("tiny")
    run = rl.simulate(rl.PairRank(), rl.users.perfect(), data, impressions=1000, seed=1)
    assert run.offline_ndcg > run.offline_curve[0, 1] + 0.1
    assert run.online_curve[-200:].mean() > run.online_curve[:100].mean() + 0.1


def test_too_many_features_are_refused():
    with pytest.raises(SettingsError, match="2,001 features are too many"):
        rl.PairRank().require_affordable(2_001, 10)
    rl.PairRank().require_affordable(700, 10)
    assert math.isclose(rl.PairRank().regularisation, 0.1)


def test_a_wild_value_that_breaks_what_is_known_of_the_weights_is_told():
    """Else nothing would ever be sure again, and every page shuffled, with weights that look sound."""
    ranker = OnlineRanker(rl.PairRank(), features=4, seed=1, page_size=4)
    X = np.random.default_rng(2).normal(size=(6, 4))
    X[:, 0] *= 1e30

    def visit():
        ranker.learn(ranker.rank(X), clicks=[0, 1, 0, 0])

    with pytest.raises(DivergenceError, match="PairRank diverged"):
        collections.deque(visit() for _ in range(20))
