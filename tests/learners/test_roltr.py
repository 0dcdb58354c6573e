"""ROLTR as a learner: one step, and what each option changes."""

import numpy as np
import pytest
from scipy import stats

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.online import OnlineRanker
from rankloop.propensities import Known, PowerLaw
from rankloop.rewards import REWARDS

from ..proofs import literal

X = np.random.default_rng(8).normal(size=(9, 4)).astype(np.float32)
START = [0.4, -0.3, 0.2, 0.1]


def ranker_of(learner: ROLTR, page_size: int = 5) -> OnlineRanker:
    return OnlineRanker(learner, features=4, seed=4, page_size=page_size, weights=START)


def literal_step(learner: ROLTR, page, returns) -> np.ndarray:
    gradient = literal.policy_gradient(page.scores, list(page), returns, learner.temperature)
    return learner.learning_rate * X.T.astype(float) @ gradient


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("discount", [0.0, 0.5, 1.0])
def test_one_step_is_the_rate_times_features_times_score_gradient(reward, discount):
    learner = ROLTR(reward=reward, discount=discount, temperature=0.7)
    ranker = ranker_of(learner)
    page = ranker.rank(X)
    ranker.learn(page, clicks=[0, 1, 1, 0, 0])
    earned = [literal.reward(reward, c, 1.0 / k, k) for k, c in enumerate([0, 1, 1, 0, 0], start=1)]
    wanted = literal_step(learner, page, literal.returns(earned, discount))
    # The sum over documents runs in float32.
    np.testing.assert_allclose(ranker.weights - START, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("documents", [2, 3, 4, 9, 33])
@pytest.mark.parametrize("features", [1, 15, 16, 17, 136])
def test_the_step_is_right_for_any_number_of_documents_and_features(documents, features):
    rng = np.random.default_rng(documents * features)
    rows = rng.normal(size=(documents, features)).astype(np.float32)
    start = rng.normal(size=features) / features
    ranker = OnlineRanker(ROLTR(), features=features, seed=1, page_size=5, weights=start)
    page = ranker.rank(rows)
    clicks = rng.integers(0, 2, len(page))
    ranker.learn(page, clicks=clicks)
    gradient = literal.policy_gradient(page.scores, list(page), ROLTR().returns(clicks))
    wanted = 0.01 * rows.T.astype(float) @ gradient
    # A float32 sum over documents of terms up to 3 · |gradient|.
    np.testing.assert_allclose(ranker.weights - start, wanted, rtol=1e-5, atol=1e-7)
    scores = rows.astype(float) @ start
    np.testing.assert_allclose(page.scores, scores, rtol=1e-5, atol=1e-5)  # float32


def test_a_page_without_clicks_teaches_through_its_negative_rewards():
    ranker = ranker_of(ROLTR())
    ranker.learn(ranker.rank(X), clicks=[0, 0, 0, 0, 0])
    assert (ranker.weights != START).all()


def test_skipping_clickless_pages_changes_only_those():
    plain, skipping = ranker_of(ROLTR()), ranker_of(ROLTR(skip_clickless=True, decay=0.5))
    skipping.learn(skipping.rank(X), clicks=[0, 0, 0, 0, 0])
    assert skipping.weights.tolist() == START
    assert skipping.model.rate[0] == 0.01
    skipping, plain = ranker_of(ROLTR(skip_clickless=True)), ranker_of(ROLTR())
    for ranker in (plain, skipping):
        ranker.learn(ranker.rank(X), clicks=[0, 0, 1, 0, 0])
    assert skipping.weights.tolist() == plain.weights.tolist()


def test_the_rate_decays_after_each_update_down_to_its_floor():
    ranker = ranker_of(ROLTR(learning_rate=0.1, decay=0.5, floor=0.04))
    rates = []
    for _ in range(3):
        ranker.learn(ranker.rank(X), clicks=[1, 0, 0, 0, 0])
        rates.append(ranker.model.rate[0])
    assert rates == [0.05, 0.04, 0.04]


def test_a_clip_raises_only_the_propensities_below_it():
    click, skip = ROLTR(reward="ips+-", clip=0.3).reward_table(5)
    wanted = [[literal.reward("ips+-", c, max(1 / k, 0.3), k) for k in range(1, 6)] for c in (1, 0)]
    np.testing.assert_allclose([click, skip], wanted, rtol=1e-14)


def test_the_baseline_is_the_mean_return_of_earlier_pages_at_the_same_rank():
    learner = ROLTR(reward="ips+", discount=0.5, baseline=True)
    ranker = ranker_of(learner)
    history = []
    for clicks in ([1, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 1, 0, 0, 1]):
        page = ranker.rank(X)
        before = ranker.weights
        ranker.learn(page, clicks=clicks)
        g = learner.returns(clicks)
        past = np.mean(history, axis=0) if history else np.zeros(5)
        wanted = literal_step(learner, page, g - past)
        np.testing.assert_allclose(ranker.weights - before, wanted, rtol=1e-4, atol=1e-7)
        history.append(g)


def test_the_baseline_of_a_rank_counts_only_pages_that_had_that_rank():
    learner = ROLTR(reward="ips+", baseline=True)
    ranker = ranker_of(learner)
    ranker.learn(ranker.rank(X[:2]), clicks=[1, 0])
    ranker.learn(ranker.rank(X), clicks=[0, 0, 1, 0, 0])
    assert ranker.model.baseline_count.tolist() == [2, 2, 1, 1, 1]
    np.testing.assert_allclose(ranker.model.baseline[2], learner.returns([0, 0, 1])[2])


def test_weights_start_at_zero_unless_told_otherwise():
    assert OnlineRanker(ROLTR(), features=4, seed=1).weights.tolist() == [0.0] * 4
    assert ranker_of(ROLTR()).weights.tolist() == START


def test_the_authors_initial_weights_are_a_normal_cut_at_two_deviations():
    features = 20_000
    ranker = OnlineRanker(ROLTR(initial="truncated-normal"), features=features, seed=3)
    scaled = ranker.weights / (0.1 / np.sqrt(features))
    assert np.abs(scaled).max() < 2.0
    # Kolmogorov–Smirnov at a false-alarm rate of 1e-4, fixed seed.
    assert stats.kstest(scaled, stats.truncnorm(-2, 2).cdf).pvalue > 1e-4


def test_an_initial_direction_has_norm_one_hundredth_and_depends_on_the_seed():
    starts = [OnlineRanker(ROLTR(initial="direction"), 7, seed=s).weights for s in (1, 2)]
    assert [np.linalg.norm(w) for w in starts] == pytest.approx([0.01, 0.01], rel=1e-12)
    assert abs(starts[0] @ starts[1]) < 0.99e-4


@pytest.mark.parametrize("propensities", [PowerLaw(0.5), Known((0.9, 0.8, 0.3, 0.2, 0.1))])
def test_the_assumed_propensities_are_those_of_the_settings(propensities):
    click, _ = ROLTR(reward="ips+", propensities=propensities).reward_table(5)
    wanted = [literal.weight(k) / p for k, p in enumerate(propensities.at(5), start=1)]
    np.testing.assert_allclose(click, wanted, rtol=1e-14)


def test_propensities_too_small_to_divide_by_are_refused():
    """(1/10)^400 is 0 in floating point, and the inverse of (1/10)^310 infinite: they would travel on as NaN."""
    for eta in (400.0, 310.0):
        with pytest.raises(SettingsError, match=r"propensity of rank \d+ is .*: it must be at least 1e-300"):
            ROLTR(propensities=PowerLaw(eta)).model(features=3, page_size=10, seed=1)


def test_more_clicks_than_shown_documents_are_refused():
    with pytest.raises(SettingsError, match="one value per shown document: 2; got 3"):
        ROLTR().score_gradient([0.0, 1.0, 2.0], page=[0, 1], clicks=[1, 0, 0])


def test_discounted_steps_multiply_the_return_of_a_rank_by_gamma_to_its_place():
    learner = ROLTR(reward="ips+", discount=0.5, discount_steps=True)
    ranker = ranker_of(learner)
    page, clicks = ranker.rank(X), [1, 0, 1, 0, 1]
    ranker.learn(page, clicks=clicks)
    earned = [literal.reward("ips+", c, 1.0 / k, k) for k, c in enumerate(clicks, start=1)]
    undiscounted = literal.returns(earned, 0.5)
    wanted = literal_step(learner, page, [0.5**t * value for t, value in enumerate(undiscounted)])
    np.testing.assert_allclose(ranker.weights - START, wanted, rtol=1e-5, atol=1e-7)
    assert not np.allclose(wanted, literal_step(learner, page, undiscounted), rtol=1e-2)
