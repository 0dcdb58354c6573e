"""PL-Rank's gradient, exposure and doubly robust rewards, by enumeration of all pages of a few candidates."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from rankloop.learners import rank_gradient
from rankloop.policies.plackett_luce import log_remaining

from ..proofs.chisquare import agrees

SCORES = np.array([0.3, -1.0, 1.2, 0.0])
WORTH = np.array([0.9, 0.2, 0.4, 0.6])
DISCOUNT = 1.0 / np.log2(np.arange(2, 6))
EXAMINED = np.array([1.0, 0.55, 0.4, 0.2])


def pages(size):
    return [np.array(page) for page in itertools.permutations(range(len(SCORES)), size)]


def chance(scores, page):
    """Document after document, each with its share of what remains."""
    left, total = list(range(len(scores))), 1.0
    for d in page:
        total *= math.exp(scores[d]) / sum(math.exp(scores[i]) for i in left)
        left.remove(d)
    return total


def metric(scores, worth, size):
    """E Σ_k λ_k ρ of the policy."""
    return sum(chance(scores, page) * DISCOUNT[:size] @ worth[page] for page in pages(size))


def sampled(page, scores=SCORES):
    remaining, places = np.zeros(len(page) + 1), np.zeros(len(scores), np.int64)
    log_remaining(scores, page, np.zeros(32), remaining)
    rank_gradient.note_places(page, places)
    return remaining, places


def gradient_of(page, worth, scores=SCORES):
    made = np.zeros(len(scores))
    remaining, places = sampled(page, scores)
    rank_gradient.add_rank_gradient(scores, page, remaining, DISCOUNT, worth, places, 1.0, made)
    return made


def exposure_of(page, worth=EXAMINED):
    made = np.zeros(len(SCORES))
    remaining, places = sampled(page)
    rank_gradient.add_exposure(SCORES, page, remaining, worth, places, made)
    return made


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("worth", [WORTH, np.array([3.0, -2.0, 0.0, 10.0])], ids=["plain", "corrected"])
def test_the_mean_over_all_rankings_is_the_gradient_of_the_expected_metric(size, worth):
    expected = sum(chance(SCORES, page) * gradient_of(page, worth) for page in pages(size))
    for d, step in enumerate(np.eye(4) * 1e-5):
        ends = [metric(SCORES + sign * step, worth, size) for sign in (1, -1)]
        assert expected[d] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)


def test_what_all_candidates_share_cancels_in_the_mean_and_so_does_the_sum():
    """So both may be taken away from a sample."""
    there, moved = (
        sum(chance(SCORES, page) * gradient_of(page, worth) for page in pages(2)) for worth in (WORTH, WORTH + 5.0)
    )
    assert moved == pytest.approx(there, abs=1e-12)
    assert there.sum() == pytest.approx(0.0, abs=1e-12)


def test_scores_far_apart_leave_no_nan():
    far = np.array([900.0, -900.0, 0.0, 5.0])
    for page in pages(3):
        assert np.isfinite(gradient_of(page, WORTH, far)).all()


def literal_exposure(size):
    made = np.zeros(4)
    for page in pages(size):
        made[page] += chance(SCORES, page) * EXAMINED[:size]
    return made


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_mean_exposure_over_all_rankings_is_that_of_the_policy(size):
    mean = sum(chance(SCORES, page) * exposure_of(page) for page in pages(size))
    assert mean == pytest.approx(literal_exposure(size), rel=1e-12)


@pytest.mark.parametrize("model", [np.zeros(4), np.full(4, 0.5), np.array([0.1, 0.9, 0.3, 0.0])])
def test_corrected_rewards_have_the_attraction_for_expectation_whatever_the_model_says(model):
    """Over all pages and clicks, with the true α and β: a click at rank k has probability α_k γ + β_k."""
    alpha, beta = 0.8 * EXAMINED, 0.1 * EXAMINED
    size, attraction = 2, np.array([0.3, 0.9, 0.5, 0.05])
    exposure = np.zeros(4)
    for page in pages(size):
        exposure[page] += chance(SCORES, page) * alpha[:size]
    mean = np.zeros(4)
    for page in pages(size):
        rewards = model.copy()
        for k, d in enumerate(page):  # linear in the click: its expectation goes in for it
            click = alpha[k] * attraction[d] + beta[k]
            rewards[d] = rank_gradient.correct_reward(model[d], click, alpha[k], beta[k], exposure[d], 1e-9)
        mean += chance(SCORES, page) * rewards
    assert mean == pytest.approx(attraction, rel=1e-12)


def test_a_right_model_is_right_with_wrong_propensities():
    """If R̂ is the attraction and α_k R̂ + β_k the chance of a click, the correction has expectation 0, whatever ᾱ."""
    click = 0.7 * 0.4
    assert rank_gradient.correct_reward(0.4, click, 0.7, 0.0, 0.123, 0.01) == pytest.approx(0.4)


def test_small_exposures_are_raised():
    assert rank_gradient.correct_reward(0.0, 1.0, 1.0, 0.0, 0.01, 0.25) == 4.0


def test_summed_over_all_candidates_the_gradient_has_the_true_one_for_expectation():
    """Over pages, with ρ̂ of all candidates; with that of the shown ones alone it is far off."""
    size, attraction, model = 2, np.array([0.3, 0.9, 0.5, 0.05]), np.array([0.5, 0.4, 0.6, 0.5])
    exposure = literal_exposure(size)
    whole, shown_alone = np.zeros(4), np.zeros(4)
    true = sum(chance(SCORES, page) * gradient_of(page, attraction) for page in pages(size))
    for page in pages(size):
        rewards, only = model.copy(), np.zeros(4)
        for k, d in enumerate(page):
            click = EXAMINED[k] * attraction[d]
            rewards[d] = rank_gradient.correct_reward(model[d], click, EXAMINED[k], 0.0, exposure[d], 1e-9)
            only[d] = rewards[d]
        for ranking in pages(size):
            both = chance(SCORES, page) * chance(SCORES, ranking)
            whole += both * gradient_of(ranking, rewards)
            shown_alone += both * gradient_of(ranking, only)
    assert whole == pytest.approx(true, rel=1e-10)
    assert np.linalg.norm(shown_alone - true) > 0.1 * np.linalg.norm(true)


def test_rankings_are_drawn_from_the_policy():
    """Chi-square over 4,000 rankings of three of four, with a false-alarm rate of 1e-4."""
    z, keys, scratch = np.zeros(32), np.zeros(32, np.int64), np.zeros(32)
    z[:4] = SCORES
    drawn, remaining = np.zeros((4, 3), np.int64), np.zeros((4, 4))
    seen = Counter()
    for impression in range(1000):
        rank_gradient.draw_rankings(z, 4, np.uint64(3), impression, keys, scratch, drawn, remaining)
        seen.update(tuple(page.tolist()) for page in drawn)
    assert agrees(seen, {tuple(page.tolist()): chance(SCORES, page) for page in pages(3)})
    expected, _ = sampled(drawn[2])
    assert remaining[2] == pytest.approx(expected)


@pytest.mark.parametrize("factor", [1.0, 0.3])
@pytest.mark.parametrize(("u", "click", "beta"), [(0.4, 1.0, 0.0), (-2.0, 0.0, 0.1), (3.0, 1.0, 0.2), (0.0, 0.0, 0.0)])
def test_the_reward_model_follows_the_likelihood_of_clicks(u, click, beta, factor):
    factor = min(factor, 1.0 - beta)

    def likelihood(v):
        p = factor / (1 + math.exp(-v)) + beta
        return click * math.log(p) + (1 - click) * math.log(1 - p)

    slope = rank_gradient.click_slope(rank_gradient.sigmoid(u), click, factor, beta)
    assert slope == pytest.approx((likelihood(u + 1e-6) - likelihood(u - 1e-6)) / 2e-6, abs=1e-6)


def test_the_sigmoid_is_one_at_both_ends():
    assert rank_gradient.sigmoid(0.0) == 0.5
    assert rank_gradient.sigmoid(800.0) == 1.0
    assert rank_gradient.sigmoid(-800.0) == 0.0
    assert rank_gradient.sigmoid(-3.0) == pytest.approx(1 / (1 + math.exp(3.0)))
