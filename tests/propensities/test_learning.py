"""A curve that is learned: begins as its prior, ends near the truth, and is part of the model."""

import itertools

import msgspec
import numpy as np
import pytest

import rankloop as rl
from rankloop.errors import SettingsError
from rankloop.learners import from_settings, to_settings
from rankloop.propensities.learning import LEAST, Learned, shrunk_curve
from rankloop.propensities.swaps import empty_moments
from rankloop.rewards import REWARDS, reward_table

SLOW = rl.propensities.named("slow")


@pytest.fixture(scope="module")
def data():
    return rl.load("tiny")


def ranker(learner, data):
    return rl.OnlineRanker(learner, data.features, seed=1)


def taught(learner, data, user, pages):
    """What `simulate` does, page by page, so that the model can be looked at."""
    online = ranker(learner, data)
    rng = np.random.default_rng(5)
    for i in range(pages):
        query = int(rng.integers(data.train.queries))
        begin, end = data.train.offsets[query], data.train.offsets[query + 1]
        page = online.rank(data.train.features[begin:end])
        online.learn(page, user.clicks(data.train.grades[begin:end][page.documents], seed=1, impression=i))
    return online


def test_a_prior_that_outweighs_everything_is_the_assumed_curve(data):
    user = rl.users.noisy(grades=5)
    prior = rl.propensities.power_law(0.5)
    heavy = taught(rl.ROLTR(propensities=rl.propensities.learned(prior, weight=1e15)), data, user, 60)
    assumed = taught(rl.ROLTR(propensities=prior), data, user, 60)
    assert heavy.weights == pytest.approx(assumed.weights, rel=1e-9)
    assert heavy.model.examination.curve == pytest.approx(prior.at(10))


@pytest.mark.thorough
def test_the_curve_of_people_who_look_further_down_is_learned(data):
    user = rl.users.PositionBased(rl.users.noisy(grades=5).attraction, SLOW)
    online = taught(rl.ROLTR(learning_rate=1e-4, propensities=rl.propensities.learned()), data, user, 6_000)
    # The prior says .1 for rank 10, people .3; the swaps of 6,000 pages have a standard error of about a tenth of it.
    assert online.model.examination.curve == pytest.approx(SLOW.at(10), rel=0.3)


def test_shrinkage_is_the_prior_s_pages_added_to_those_seen():
    moments, ratio = empty_moments(3), np.array([0.5, 0.8])
    curve = np.array([1.0, 0.0, 0.0])
    shrunk_curve(moments, ratio, 10.0, False, curve)
    assert curve == pytest.approx([1.0, 0.5, 0.4])
    moments[0] = [20.0, 6.0, 5.0, 9.0, 1.0]  # 20 pages; above, above; below, below
    shrunk_curve(moments, ratio, 10.0, False, curve)
    first = (9.0 + 10 * (15 / 20) * (0.5 / 1.5)) / (6.0 + 10 * (15 / 20) * (1 / 1.5))
    second = (1.0 + 10 * (6 / 20) * (0.8 / 1.8)) / (5.0 + 10 * (6 / 20) * (1 / 1.8))
    assert curve == pytest.approx([1.0, min(1.0, first), min(1.0, first) * second])
    shrunk_curve(moments, ratio, 1e-12, True, curve)
    assert curve == pytest.approx([1.0, 1.0, 0.2])
    moments[0] = [20.0, 6.0, 5.0, 0.0, 0.0]
    shrunk_curve(moments, ratio, 1e-12, False, curve)
    assert curve[1] == LEAST


@pytest.mark.parametrize("reward", REWARDS)
def test_a_click_is_worth_what_the_reward_says_for_today_s_curve(reward):
    learner = rl.ROLTR(reward=reward, propensities=rl.propensities.learned(), clip=0.2)
    examination = learner.model(2, 4, 1).examination
    for curve in ([1.0, 0.7, 0.3, 0.1], [0.9, 0.9, 0.5, 0.45]):
        worth = examination.per_look / np.maximum(curve, 0.2) - examination.offset
        assert worth == pytest.approx(reward_table(reward, np.maximum(curve, 0.2))[0])


def test_simulation_and_online_ranker_end_with_the_same_bits(data):
    learner = rl.ROLTR(propensities=rl.propensities.learned(weight=20))
    user = rl.users.noisy(grades=5)
    run = rl.simulate(learner, user, data, 50, seed=9, evaluate_every=0)
    online = rl.OnlineRanker(learner, data.features, seed=9)
    for i in range(50):
        from rankloop.loop import draw_query

        query = draw_query(np.uint64(9), i, data.train.queries)
        begin, end = data.train.offsets[query], data.train.offsets[query + 1]
        page = online.rank(data.train.features[begin:end])
        online.learn(page, user.clicks(data.train.grades[begin:end][page.documents], seed=9, impression=i))
    assert (online.weights == run.weights).all()


def test_a_pinned_rank_between_two_documents_makes_them_no_neighbours(data):
    online = ranker(rl.ROLTR(propensities=rl.propensities.learned()), data)
    page = online.rank(data.train.features[:20])
    page.ranks = np.array([0, 1, 2, 4, 5, 6, 7, 8, 9])
    page.documents, page.notes = page.documents[:9], page.notes[:9]
    online.learn(page, [1] * 9)
    moments = online.model.examination.moments[0]
    above = moments[1:10]
    assert (above[[0, 1, 4, 5, 6, 7, 8]] > 0).all()
    assert above[[2, 3]].tolist() == [0.0, 0.0]
    assert online.model.rank.tolist() == list(range(10))


def test_settings_survive_a_file_and_bad_ones_are_refused():
    learner = rl.ROLTR(propensities=rl.propensities.learned(SLOW, weight=50, monotone=True))
    assert from_settings(to_settings(learner)) == learner
    assert msgspec.json.decode(msgspec.json.encode(Learned()), type=Learned) == Learned()
    for settings, words in (({"weight": 0}, "above 0"), ({"prior": Learned()}, "learned: prior must be")):
        with pytest.raises(SettingsError, match=words):
            Learned(**settings)
    with pytest.raises(SettingsError, match="propensities must be"):
        rl.ROLTR(propensities=[1.0, 0.5])


def test_notes_of_another_s_page_are_those_of_one_s_own(data):
    learner = rl.ROLTR(propensities=rl.propensities.learned(), temperature=0.5)
    page = ranker(learner, data).rank(data.train.features[:20])
    assert learner.notes_of(page.scores, page.documents) == pytest.approx(page.notes, rel=1e-6)
    assert rl.ROLTR().notes_of(page.scores, page.documents).shape == (10, 0)
    assert all(a >= 0 for a in itertools.chain(*page.notes.tolist()))
