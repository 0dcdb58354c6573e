"""What every method says of itself holds, and a method from outside the package is one class and two functions."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.kernels import implements
from rankloop.learners import LEARNERS, from_settings, require_click_learner, to_settings
from rankloop.learners.contract import Learner, Work, arrays_of, compiled_settings, copy_of, learn, show
from rankloop.learners.settings import LearningRate
from rankloop.rankers import LINEAR
from rankloop.rankers.linear import take_step

from ..proofs import small

DATA = small.collection()
FEATURES, PAGE = DATA.features, 4
EVERY = [kind() for kind in LEARNERS.values()]
CLICKS = [learner for learner in EVERY if not learner.needs_grades()]


@pytest.mark.parametrize("learner", EVERY, ids=str)
def test_the_name_is_the_class_s_and_the_settings_survive_a_journey(learner):
    assert learner.name == type(learner).__name__
    assert LEARNERS[learner.name] is type(learner)
    assert from_settings(to_settings(learner)) == learner


@pytest.mark.parametrize("learner", CLICKS, ids=str)
def test_whether_a_method_needs_its_own_pages_is_whether_it_can_note_others(learner):
    scores, page = np.array([3.0, 1.0, 2.0], np.float32), np.array([2, 0])
    if learner.needs_own_pages:
        with pytest.raises(AssertionError, match="needs its own"):
            learner.notes_of(scores, page)
    else:
        assert learner.notes_of(scores, page).shape == (2, learner.note_width())


def test_coltr_notes_the_scores_that_drew_the_page_whoever_drew_it():
    assert rl.COLTR().notes_of(np.array([3.0, 1.0, 2.0], np.float32), np.array([2, 0])).tolist() == [[2.0], [3.0]]


@pytest.mark.parametrize("learner", EVERY, ids=str)
def test_arrays_per_rank_have_one_value_for_each_rank(learner):
    model = learner.model(FEATURES, PAGE, 1)
    assert {array.shape for name in learner.by_rank if (array := getattr(model, name)).size} <= {(PAGE,)}


@pytest.mark.parametrize("learner", CLICKS, ids=str)
def test_a_copy_shares_no_memory_with_the_model_and_every_array_is_found(learner):
    model = learner.model(FEATURES, PAGE, 1, np.ones(FEATURES))
    arrays, copies = arrays_of(model), arrays_of(copy_of(model))
    assert "ranker.weights" in arrays
    assert arrays.keys() == copies.keys()
    for name, array in arrays.items():
        assert array.tobytes() == copies[name].tobytes()
        assert not np.shares_memory(array, copies[name])


def test_a_shaped_reward_is_the_table_that_the_method_learns_from():
    learner = rl.ROLTR(reward="ips+", propensities=rl.propensities.power_law(0.5), clip=0.6)
    reward = learner.shaped_reward(3)
    assert (reward.name, learner.assumed_propensities.eta) == ("ips+", 0.5)
    assert reward.click == pytest.approx([1.0, 2**0.5 / np.log2(3), 1 / 0.6 / 2])
    assert reward.skip.tolist() == [0.0, 0.0, 0.0]
    assert {kind().shaped_reward(3) for kind in LEARNERS.values() if kind is not rl.ROLTR} == {None}


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (rl.ROLTR(learning_rate=1e7), "ROLTR: learning_rate must be a number, at least 1e-12 and at most 1e"),
        (rl.PDGD(floor=1e9), "PDGD: floor"),
        (rl.DBGD(delta=1e-20), "DBGD: delta"),
        (rl.COLTR(variance_weight=1e9), "COLTR: variance_weight"),
        (rl.PMGD(candidates=1_001), "candidates must be at most 1,000; got 1,001"),
        (rl.COLTR(candidates=9_999), "9,999 candidates are too many for 10,000 features"),
        (rl.FixedWeights(weights=(1e31,)), "FixedWeights: a weight must lie between"),
    ],
)
def test_what_would_take_a_service_down_is_refused(learner, reason):
    with pytest.raises(SettingsError, match=reason):
        learner.require_affordable(10_000, 10)


@pytest.mark.parametrize("learner", [rl.MDPRank(), rl.Oracle()], ids=str)
def test_methods_that_need_the_truth_are_refused_where_there_are_only_clicks(learner):
    with pytest.raises(SettingsError, match=f"shop: {learner.name} needs more than clicks; choose one of ROLTR, PDGD"):
        require_click_learner("shop", learner)


# A method from outside: it shows the best by score, and moves towards what was clicked.


class Follow(Learner, frozen=True):
    """w ← w + α · mean of the clicked documents' features."""

    learning_rate: LearningRate = 0.1

    def model(self, features, page_size, seed, weights=None):
        return FollowModel(LINEAR.parameters("zeros", features, seed, weights), FollowSettings._of(self))

    def work(self, features, page_size, candidates):
        return FollowWork(Work.of(features, page_size, candidates))


FollowSettings = compiled_settings(Follow)


class FollowModel(NamedTuple):
    ranker: Any
    settings: Any


class FollowWork(NamedTuple):
    base: Work


@implements(show, FollowModel)
def show_follow(model, work, X, seed, impression, page, notes):
    scores = work.base.scores[: X.shape[0]]
    order = np.argsort(-scores, kind="mergesort")
    page[:] = order[: page.size]


@implements(learn, FollowModel)
def learn_follow(model, work, X, seed, impression, page, notes, clicks, measure):
    work.base.direction[:] = 0.0
    for t in range(page.size):
        if clicks[t] >= 0.5:
            work.base.direction[:] += X[page[t]] / np.float32(clicks.sum())
    take_step(model.ranker, work.base.direction, model.settings.learning_rate)
    return np.nan


def test_a_method_from_outside_is_simulated_and_served_like_any_other():
    run = rl.simulate(Follow(learning_rate=0.05), rl.users.perfect(), DATA, 200, seed=1, evaluate_every=100)
    assert repr(Follow(learning_rate=0.05)) == "Follow(learning_rate=0.05)"
    assert run.settings["learner"] == {"learner": "Follow", "learning_rate": 0.05}
    ranker = rl.OnlineRanker(Follow(learning_rate=0.05), features=FEATURES, seed=1)
    X = DATA.test.features[:6]
    page = ranker.rank(X)
    ranker.learn(page, clicks=[0, 1, 0, 1, 0, 0])
    assert ranker.weights == pytest.approx(0.05 * X[page.documents[[1, 3]]].mean(axis=0), rel=1e-6)
    with pytest.raises(SettingsError, match="Follow: learning_rate must be a number, above 0; got -1"):
        Follow(learning_rate=-1)


@pytest.mark.parametrize("learner", EVERY, ids=str)
def test_given_weights_are_a_prior_only_to_methods_that_keep_a_belief(learner):
    if learner.start_strength is None:
        assert learner.belief(learner.model(3, 4, 1)) is None
    else:
        with pytest.raises(SettingsError, match="nothing has been learned yet"):
            learner.belief(learner.model(3, 4, 1))
