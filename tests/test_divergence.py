"""A ranking by what is no number looks like any other: it is noticed, and what helps is what the learner has."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.divergence import gives_numbers, require_finite, scores_diverged
from rankloop.errors import DivergenceError
from rankloop.rankers import Ranker

LINEAR = rl.Linear()


def split(scale):
    return rl.Split.of([[scale, 0.0], [0.0, -scale], [scale, scale]], [1, 0, 2], [1, 1, 1])


def huge(train, test):
    return rl.Collection("huge", split(train), split(test))


@pytest.mark.parametrize("weights", [[3e8, 0.0], [-3e8, 3e8], [0.0, 3e9]])
@pytest.mark.parametrize("scale", [1e29, 1e30, -1e30, 1e31])
def test_scores_are_numbers_exactly_if_scoring_every_document_says_so(weights, scale):
    found = split(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = found.features @ np.float32(weights)
    assert gives_numbers(LINEAR, np.array(weights), found) == np.isfinite(scores).all()


def test_documents_are_not_scored_where_the_weights_are_small_enough(monkeypatch):
    monkeypatch.setattr("rankloop.divergence.scores_of", None)
    assert gives_numbers(LINEAR, np.array([1e3, -1e3]), split(1e30))
    network = rl.MLP(hidden=(4,))
    assert gives_numbers(network, network.parameters("truncated-normal", 2, 1).weights, split(1.0))


@pytest.mark.parametrize("learner", [rl.FixedWeights(), rl.DBGD(), rl.Posterior()], ids=lambda one: one.name)
@pytest.mark.parametrize("where", ["train", "test"])
def test_a_simulation_does_not_rank_by_scores_that_are_no_numbers(learner, where):
    data = huge(**{"train": 1.0, "test": 1.0} | {where: 1e30})
    with pytest.raises(DivergenceError, match=f"{learner.name}: features times weights left the range of float32"):
        rl.simulate(learner, rl.users.perfect(), data, 10, seed=1, weights=[1e15, 1e15])


@pytest.mark.filterwarnings("ignore::rankloop.plain.PlainPythonWarning")
def test_nor_does_one_with_a_person_in_plain_python():
    for scales in ((1e30, 1.0), (1.0, 1e30)):
        with pytest.raises(DivergenceError, match="DBGD: features times weights left the range of float32"):
            rl.simulate(rl.DBGD(), lambda grades: 0.0 * grades, huge(*scales), 10, seed=1, weights=[1e15, 1e15])


@pytest.mark.parametrize(
    ("learner", "remedy"),
    [
        (rl.ROLTR(), "; lower the learning rate or scale the features"),
        (rl.Posterior(), "float32; scale the features"),
        (rl.PairRank(), "; raise the regularisation or scale the features"),
        (rl.FixedWeights(), "float32; scale the features"),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_what_helps_is_what_the_learner_has(learner, remedy):
    model = learner.model(2, 3, seed=1)
    require_finite(learner, model, 7)
    model.ranker.weights[0] = np.nan
    with pytest.raises(DivergenceError, match=f"{learner.name} diverged by impression 7: .*{remedy}$"):
        require_finite(learner, model, 7)


class Own(Ranker, frozen=True):
    """Of somebody's own."""


def test_scores_of_a_ranker_of_ones_own_are_not_blamed_on_the_features():
    told = str(scores_diverged(rl.PDGD(ranker=Own()), 7))
    assert "the ranker Own() gave scores that are not finite by impression 7, though its weights are: look at" in told
    assert "features times weights" not in told
