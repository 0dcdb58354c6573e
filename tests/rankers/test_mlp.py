"""Networks: scores and steps against NumPy and finite differences, starts, refusals, and what they can learn."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.kernels.matrix import padded
from rankloop.learners import from_settings, to_settings
from rankloop.rankers import LINEAR, weight_count, weight_names
from rankloop.rankers.mlp import MOST_SERVED, ascend_mlp, score_mlp, score_mlp_table

from ..proofs import small

RNG = np.random.default_rng(3)
FEATURES = 5
NETWORKS = [
    rl.MLP(hidden=hidden, activation=activation)
    for hidden in [(8,), (16,), (8, 4), (33, 16, 3, 2)]
    for activation in ("relu", "tanh")
]


def weights_of(network, features=FEATURES):
    return RNG.normal(size=network.count(features)) * 0.7


def scored(network, weights, X):
    scores = np.zeros(len(X), np.float32)
    score_mlp(network.parameters("zeros", X.shape[1], 1, weights), X, scores)
    return scores


def stepped(network, weights, X, gradient, step=1.0):
    ranker = network.parameters("zeros", X.shape[1], 1, weights)
    ascend_mlp(ranker, X, np.pad(gradient, (0, 32), constant_values=np.nan), step, np.zeros(16, np.float32))
    assert ranker.rounded.tolist() == ranker.weights.astype(np.float32).tolist()
    return ranker.weights - weights


def back_propagated(network, weights, X, gradient):
    """The gradient of Σ g_i f(x_i), layer by layer, in double precision."""
    *hidden, (output, _) = network.layers(weights, X.shape[1])
    states = [X.astype(float)]
    for W, b in hidden:
        sums = states[-1] @ W + b
        states.append(np.tanh(sums) if network.activation == "tanh" else np.maximum(sums, 0.0))
    parts = [states[-1].T @ gradient]
    error = np.outer(gradient, output[:, 0])
    for (W, _), below, state in zip(hidden[::-1], states[-2::-1], states[:0:-1], strict=True):
        error = error * (1 - state**2 if network.activation == "tanh" else state > 0)
        parts = [(below.T @ error).ravel(), error.sum(axis=0), *parts]
        error = error @ W.T
    return np.concatenate(parts)


@pytest.mark.parametrize("rows", [1, 31, 70])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_scores_are_the_networks(network, rows):
    weights, X = weights_of(network), RNG.normal(size=(rows, FEATURES)).astype(np.float32)
    assert scored(network, weights, X) == pytest.approx(network.scores(weights, X), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("rows", [1, 9, 70])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_step_is_back_propagation(network, rows):
    """Also where some documents, or a whole block of them, have no gradient and are not read."""
    weights, X = weights_of(network), RNG.normal(size=(rows, FEATURES)).astype(np.float32)
    for share in (0.0, 0.5, 0.9):
        gradient = np.where(RNG.random(rows) < share, 0.0, RNG.normal(size=rows))
        X_read = np.where(gradient[:, None] == 0, np.float32(np.nan), X) if share else X
        moved = stepped(network, weights, X_read, gradient, step=0.5)
        assert moved == pytest.approx(0.5 * back_propagated(network, weights, X, gradient), rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(8,), (8, 4)], ids=str)
def test_a_step_is_the_slope_that_finite_differences_find(hidden, activation):
    """Of Σ g_i f(x_i), weight by weight; documents near a kink of ReLU, where there is no slope, are left out."""
    network = rl.MLP(hidden=hidden, activation=activation)
    weights, X = weights_of(network), RNG.normal(size=(40, FEATURES)).astype(np.float32)
    X = X[~near_a_kink(network, weights, X, 1e-3)]
    assert len(X) > 20
    gradient = RNG.normal(size=len(X))
    slopes = []
    for move in np.eye(len(weights)) * 1e-6:
        up, down = network.scores(weights + move, X), network.scores(weights - move, X)
        slopes.append((up - down) @ gradient / 2e-6)
    assert stepped(network, weights, X, gradient) == pytest.approx(slopes, rel=1e-3, abs=1e-4)


def near_a_kink(network, weights, X, distance):
    near, values = np.zeros(len(X), bool), X.astype(float)
    for W, b in network.layers(weights, X.shape[1])[:-1]:
        values = values @ W + b
        near |= (np.abs(values) < distance).any(axis=1)
        values = np.maximum(values, 0.0)
    return near & (network.activation == "relu")


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_many_networks_score_as_one_by_one(network):
    X = RNG.normal(size=(37, FEATURES)).astype(np.float32)
    W = np.stack([weights_of(network) for _ in range(3)])
    together = np.full((37, padded(3)), 7.0, np.float32)
    score_mlp_table(network.several(W, FEATURES), X, together)
    assert together[:, :3].T.tolist() == [scored(network, weights, X).tolist() for weights in W]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_start_is_a_function_of_the_seed_and_scores_nothing(network):
    one, again, other = (network.parameters("zeros", FEATURES, seed) for seed in (1, 1, 2))
    assert one.weights.tolist() == again.weights.tolist() != other.weights.tolist()
    assert not network.scores(one.weights, RNG.normal(size=(9, FEATURES))).any()
    hidden = network.layers(one.weights, FEATURES)[0][0]
    assert len(np.unique(hidden)) == hidden.size  # no two units are alike
    assert network.layers(network.parameters("direction", FEATURES, 1).weights, FEATURES)[-1][0].any()


def test_what_passes_through_the_layers_keeps_its_size():
    """4,000 documents of independent features through 256 units: the mean square differs by 10 % at most, six standard
    errors of what the draw of the weights does to it."""
    X = RNG.normal(size=(4000, 64))
    for activation, gain in (("relu", 1.0), ("tanh", None)):
        network = rl.MLP(hidden=(256,), activation=activation)
        W, b = network.layers(network.parameters("zeros", 64, 1).weights, 64)[0]
        assert not b.any()
        sums = X @ W
        passed = np.maximum(sums, 0.0) if gain else sums
        assert np.mean(passed**2) == pytest.approx(1.0, rel=0.1)


def test_a_first_step_with_no_output_moves_the_output_alone_and_the_next_all():
    network, X = rl.MLP(hidden=(16,)), RNG.random((12, FEATURES)).astype(np.float32)
    start = network.parameters("zeros", FEATURES, 1).weights
    gradient = RNG.normal(size=12)
    first = stepped(network, start, X, gradient)
    assert not first[:-16].any()
    assert first[-16:].any()
    assert stepped(network, start + first, X, gradient)[:-16].any()


def test_weights_have_names_and_counts():
    network = rl.MLP(hidden=(2, 3))
    names = weight_names(network, ["a", "b"])
    assert names[:6] == ["a → 1.1", "a → 1.2", "b → 1.1", "b → 1.2", "bias → 1.1", "bias → 1.2"]
    assert names[6:8] == ["1.1 → 2.1", "1.1 → 2.2"]
    assert names[-1] == "2.3 → score"
    assert len(names) == network.count(2) == weight_count(network, 2) == 18
    assert [network.features_of(count) for count in (17, 18, 19, 20)] == [None, 2, None, 3]
    assert weight_names(LINEAR, ["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize("hidden", [(), (0,), (1.5,), (True,), 64, "64", (8,) * 5, (5000,)], ids=str)
def test_impossible_layers_are_refused(hidden):
    with pytest.raises(SettingsError, match="MLP: hidden must be the sizes of 1 to 4 hidden layers"):
        rl.MLP(hidden=hidden)


def test_other_mistakes_are_refused():
    with pytest.raises(SettingsError, match="MLP: activation must be one of 'relu', 'tanh'; got 'gelu'"):
        rl.MLP(activation="gelu")
    with pytest.raises(SettingsError, match=r"must be 16 finite numbers for 2 features; got shape \(3,\)"):
        rl.MLP(hidden=(4,)).parameters("zeros", 2, 1, [1.0, 2.0, 3.0])
    with pytest.raises(SettingsError, match=r"16 for 2 features; got shape \(1, 3\)"):
        rl.MLP(hidden=(4,)).several(np.zeros((1, 3)), 2)
    with pytest.raises(SettingsError, match=f"a service takes at most {MOST_SERVED:,}"):
        rl.PDGD(ranker=rl.MLP(hidden=(1024,))).require_affordable(features=1000, page_size=10)
    with pytest.raises(SettingsError, match="variance of the gradient is recorded for linear rankers only"):
        rl.simulate(rl.ROLTR(ranker=rl.MLP()), rl.users.noisy(), XOR, 10, seed=1, gradient_variance=True)


def test_settings_are_plain_values_and_come_back():
    learner = rl.PDGD(ranker=rl.MLP(hidden=(16, 8), activation="tanh"))
    assert to_settings(learner)["ranker"] == {"kind": "mlp", "hidden": [16, 8], "activation": "tanh"}
    assert from_settings(to_settings(learner)) == learner
    with pytest.raises(SettingsError, match="hidden must be the sizes"):
        from_settings({"learner": "PDGD", "ranker": {"kind": "mlp", "hidden": []}})


def crossed(queries, seed):
    """Relevant is what has both features high or both low: no linear ranker can tell."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(10 * queries, 3)).astype(np.float32)
    return rl.Split.of(X, np.where(X[:, 0] * X[:, 1] > 0, 4, 0), np.repeat(np.arange(queries), 10))


XOR = rl.Collection("crossed", train=crossed(200, 1), test=crossed(100, 2))
NETWORK = rl.MLP(hidden=(16,))


def test_a_network_learns_what_no_linear_ranker_can():
    linear, network = (
        rl.simulate(learner, rl.users.perfect(), XOR, 4000, seed=1, evaluate_every=2000)
        for learner in (rl.PDGD(), rl.PDGD(ranker=NETWORK))
    )
    assert linear.offline_ndcg < 0.88
    assert network.offline_ndcg > 0.95
    assert network.checkpoints.shape == (3, NETWORK.count(3))
    assert network.offline_ndcg == rl.evaluate(network.weights, XOR.test, ranker=NETWORK)


def test_roltr_learns_it_too_and_a_live_ranker_ends_with_the_same_bits():
    learner = rl.ROLTR(ranker=NETWORK)
    run = rl.simulate(learner, rl.users.perfect(), XOR, 4000, seed=1, evaluate_every=0)
    assert rl.evaluate(run.weights, XOR.test, ranker=NETWORK) > 0.95
    short = rl.simulate(learner, rl.users.perfect(), XOR, 60, seed=1, evaluate_every=0)
    assert small.drive(learner, rl.users.perfect(), XOR, 60, seed=1).weights.tolist() == short.weights.tolist()


def test_a_step_of_mdprank_is_the_chain_rule_through_the_network():
    learner = rl.MDPRank(ranker=NETWORK)
    start, X = weights_of(NETWORK, 3), RNG.normal(size=(7, 3)).astype(np.float32)
    ranker = rl.OnlineRanker(learner, features=3, seed=1, weights=start)
    page = ranker.rank(X)
    grades = [0, 4, 0, 1, 2, 0, 3]
    gradient = learner.score_gradient(NETWORK.scores(start, X), page=page.documents, grades=grades)
    ranker.learn(page, grades=grades)
    expected = learner.learning_rate * back_propagated(NETWORK, start, X, gradient)
    assert ranker.weights - start == pytest.approx(expected, rel=2e-3, abs=1e-5)
