"""A ranker from outside the package goes wherever the linear one goes: learners, live ranker, evaluation."""

from typing import NamedTuple

import msgspec
import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.kernels import implements
from rankloop.rankers.contract import ascend, score, score_several
from rankloop.rankers.linear import INITIALS, starting_weights

from ..proofs import small

DATA = small.collection()


class SquaresWeights(NamedTuple):
    weights: np.ndarray
    rounded: np.ndarray


class SquaresTable(NamedTuple):
    table: np.ndarray


class Squares(msgspec.Struct, frozen=True, tag="squares", tag_field="kind"):
    """f(x) = u·x + v·x², which no linear ranker can be."""

    name = "squares"

    def parameters(self, initial, features, seed, weights=None):
        values = starting_weights(initial, 2 * features, seed, weights)
        return SquaresWeights(values, values.astype(np.float32))

    def several(self, weights, features):
        assert weights.shape[1] == 2 * features
        return SquaresTable(weights.astype(np.float32))


@implements(score, SquaresWeights)
def score_squares(ranker, X, scores):
    features = X.shape[1]
    for i in range(X.shape[0]):
        total = np.float32(0.0)
        for j in range(features):
            total += X[i, j] * ranker.rounded[j] + X[i, j] * X[i, j] * ranker.rounded[features + j]
        scores[i] = total


@implements(score_several, SquaresTable)
def score_several_squares(rankers, X, scores):
    features = X.shape[1]
    for i in range(X.shape[0]):
        for r in range(rankers.table.shape[0]):
            total = np.float32(0.0)
            for j in range(features):
                total += X[i, j] * rankers.table[r, j] + X[i, j] * X[i, j] * rankers.table[r, features + j]
            scores[i, r] = total


@implements(ascend, SquaresWeights)
def ascend_squares(ranker, X, score_gradient, step, slope):
    features = X.shape[1]
    for i in range(X.shape[0]):
        for j in range(features):
            ranker.weights[j] += step * score_gradient[i] * X[i, j]
            ranker.weights[features + j] += step * score_gradient[i] * X[i, j] * X[i, j]
    for j in range(ranker.weights.size):
        ranker.rounded[j] = np.float32(ranker.weights[j])


def expanded(X) -> np.ndarray:
    return np.hstack([X, np.asarray(X) ** 2])


@pytest.mark.parametrize("learner", [rl.ROLTR(ranker=Squares()), rl.PDGD(ranker=Squares())], ids=str)
def test_a_step_is_the_chain_rule_through_the_given_ranker(learner):
    X = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    start = np.random.default_rng(2).normal(size=6)
    ranker = rl.OnlineRanker(learner, features=3, seed=1, page_size=4, weights=start)
    page = ranker.rank(X)
    clicks = [0.0, 1.0, 0.0, 0.0]
    gradient = learner.score_gradient(expanded(X) @ start, page=page.documents, clicks=clicks)
    ranker.learn(page, clicks)
    moved = ranker.weights - start
    assert moved == pytest.approx(learner.learning_rate * expanded(X).T @ gradient, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("learner", [rl.ROLTR, rl.PDGD, rl.MDPRank])
def test_a_simulation_learns_and_evaluates_with_the_given_ranker(learner):
    run = rl.simulate(learner(ranker=Squares()), rl.users.perfect(), DATA, 400, seed=3, evaluate_every=200)
    assert run.weights.shape == (2 * DATA.features,)
    assert run.weights.any()
    last = rl.Split.of(
        expanded(DATA.test.features), DATA.test.grades, np.repeat(np.arange(6), np.diff(DATA.test.offsets))
    )
    assert run.offline_ndcg == pytest.approx(rl.evaluate(run.weights, last), rel=1e-9)


def test_linear_is_the_default_and_is_not_mentioned():
    assert rl.ROLTR() == rl.ROLTR(ranker=rl.Linear())
    assert repr(rl.ROLTR(ranker=rl.Linear())) == "ROLTR()"
    assert "zeros" in INITIALS


@pytest.mark.parametrize("wrong", [None, "cubic", rl.Linear, 3])
def test_what_is_no_ranker_is_refused(wrong):
    with pytest.raises(SettingsError, match=r"ROLTR: ranker must be the settings of a ranker, such as rl.Linear\(\)"):
        rl.ROLTR(ranker=wrong)


def test_a_ranker_by_its_name_alone_is_told_how_a_study_writes_it():
    with pytest.raises(
        SettingsError, match=r'ROLTR: ranker must be the settings of a ranker, in a file \{ kind = "mlp" \}; got'
    ):
        rl.ROLTR(ranker="mlp")
