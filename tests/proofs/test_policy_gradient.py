"""ROLTR's one-pass score gradient: literally, by finite differences, and in expectation."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import ROLTR
from rankloop.policies import score_gradient
from rankloop.propensities import PowerLaw
from rankloop.rewards import REWARDS, returns

from . import literal

proof = examples(200)
small_proof = examples(40)


moderate = st.floats(-5, 5)


@st.composite
def impressions(draw, score=moderate, most=7):
    """Scores, a page and its clicks; the page may show one document, some or all."""
    scores = draw(st.lists(score, min_size=1, max_size=most))
    order = draw(st.permutations(range(len(scores))))
    page = order[: draw(st.integers(1, len(scores)))]
    clicks = draw(st.lists(st.integers(0, 1), min_size=len(page), max_size=len(page)))
    return scores, page, clicks


def learners():
    return st.builds(
        ROLTR,
        reward=st.sampled_from(REWARDS),
        discount=st.sampled_from([0.0, 0.3, 0.5, 1.0]) | st.floats(0, 1),
        temperature=st.floats(0.2, 5.0),
        propensities=st.builds(PowerLaw, st.floats(0, 2)),
    )


def assert_close(got, wanted, scale: float, tolerance: float = 1e-12) -> None:
    """Within `tolerance` of the gradient's natural scale Σ|G|/T, and no NaN anywhere."""
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(scale, 1e-300))


def scale_of(learner: ROLTR, clicks) -> float:
    return float(np.abs(learner.returns(clicks)).sum()) / learner.temperature


@given(impressions(), learners())
@proof
def test_the_one_pass_gradient_is_the_double_sum(impression, learner):
    scores, page, clicks = impression
    g = literal_returns(learner, clicks)
    wanted = literal.policy_gradient(scores, page, g, learner.temperature)
    got = learner.score_gradient(scores, page, clicks)
    # Ten steps of a few roundings and exponents up to 50 in size: some hundred units of 1e-16.
    assert_close(got, wanted, scale_of(learner, clicks), 1e-13 * 50)


@pytest.mark.thorough
@given(impressions(most=5), learners())
@proof
def test_the_gradient_is_the_finite_difference_of_returns_times_log_policy(impression, learner):
    scores, page, clicks = impression
    g = learner.returns(clicks)
    wanted = literal.difference_gradient(lambda s: literal.log_policy(s, page, g, learner.temperature), scores)
    assert_close(learner.score_gradient(scores, page, clicks), wanted, scale_of(learner, clicks), 1e-11)


@pytest.mark.parametrize("candidates", [1, 2, 31, 32, 33, 64, 65, 130])
@pytest.mark.parametrize("discount", [0.0, 0.5, 1.0])
def test_the_gradient_is_right_for_any_number_of_candidates(candidates, discount):
    rng = np.random.default_rng(candidates)
    scores, learner = rng.normal(size=candidates), ROLTR(discount=discount)
    page = rng.permutation(candidates)[:10]
    clicks = rng.integers(0, 2, len(page))
    wanted = literal.policy_gradient(scores, page.tolist(), learner.returns(clicks))
    got = learner.score_gradient(scores, page, clicks)
    assert_close(got, wanted, scale_of(learner, clicks), 1e-13)


def test_the_gradient_leaves_what_it_was_given_alone():
    scores, page, g = np.array([0.0, 1.0]), np.array([1, 0]), np.array([1.0, 2.0])
    score_gradient(scores, page, g)
    assert (scores.tolist(), page.tolist(), g.tolist()) == ([0.0, 1.0], [1, 0], [1.0, 2.0])


def test_a_single_candidate_teaches_nothing():
    assert ROLTR(discount=1.0).score_gradient([3.0], page=[0], clicks=[1]).tolist() == [0.0]


def far_apart(width: int):
    """Scores in clusters up to ±1e4, so that some comparisons are close and others hopeless."""
    cluster = st.sampled_from([-1e4, -100.0, 0.0, 100.0, 1e4])
    value = st.builds(lambda c, x: min(max(c + x, -1e4), 1e4), cluster, st.floats(-3, 3))
    return value.map(lambda v: float(np.float32(v)) if width == 32 else v)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("discount", [0.0, 0.5, 1.0])
def test_scores_ten_thousand_apart_keep_the_gradient_right(width, discount):
    @given(impressions(score=far_apart(width)))
    @examples(100)
    def check(impression):
        scores, page, clicks = impression
        learner = ROLTR(discount=discount)
        given_scores = np.array(scores, dtype=np.float32 if width == 32 else np.float64)
        wanted = literal.policy_gradient(scores, page, learner.returns(clicks))
        # L_t near 1e4 is rounded to 1e4·2^-53 ≈ 1e-12, a handful of times; exp passes that on.
        got = learner.score_gradient(given_scores, page, clicks)
        assert_close(got, wanted, scale_of(learner, clicks), 1e-10)

    check()


@st.composite
def worlds(draw):
    """Scores of 2 … 4 documents, a page size, attractions and the position bias of the user."""
    n = draw(st.integers(2, 4))
    scores = draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n))
    attraction = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    return scores, draw(st.integers(1, min(n, 3))), attraction, draw(st.floats(0, 2))


@given(worlds(), st.sampled_from(REWARDS), st.sampled_from([0.5, 1.0, 2.0]))
@small_proof
def test_with_full_returns_the_expectation_is_the_gradient_of_expected_reward(world, name, T):
    scores, size, attraction, eta = world
    learner = ROLTR(reward=name, discount=1.0, temperature=T)
    got, scale = expected_gradient(learner, scores, size, attraction, eta)
    wanted = literal.difference_gradient(
        lambda s: expected_reward(learner, s, size, attraction, eta, discount=1.0), scores
    )
    assert_close(got, wanted, scale, 1e-11)


@given(worlds(), st.sampled_from(REWARDS), st.floats(0, 1))
@small_proof
def test_with_discounted_steps_the_expectation_is_the_gradient_of_the_discounted_reward(world, name, discount):
    scores, size, attraction, eta = world
    learner = ROLTR(reward=name, discount=discount, discount_steps=True)
    got, scale = expected_gradient(learner, scores, size, attraction, eta)
    wanted = literal.difference_gradient(lambda s: expected_reward(learner, s, size, attraction, eta, discount), scores)
    assert_close(got, wanted, scale, 1e-11)


@given(worlds(), st.sampled_from(REWARDS), st.sampled_from([0.5, 1.0, 2.0]))
@small_proof
def test_with_immediate_rewards_the_expectation_is_the_semi_gradient(world, name, T):
    """The sum over steps of ∇E[R_t | state], the distribution of states held where it is."""
    scores, size, attraction, eta = world
    learner = ROLTR(reward=name, discount=0.0, temperature=T)
    got, scale = expected_gradient(learner, scores, size, attraction, eta)
    reached = [
        (prefix, literal.page_probability(scores, prefix, T))
        for t in range(size)
        for prefix in literal.all_pages(len(scores), t)
    ]

    def with_states_held(s):
        mass = literal.masses(s, T)
        total = Decimal(0)
        for prefix, chance in reached:
            rest = [d for d in range(len(s)) if d not in prefix]
            weight = sum(mass[d] for d in rest)
            for d in rest:
                worth = mean_reward(learner, attraction[d], eta, len(prefix) + 1)
                total += chance * mass[d] / weight * worth
        return total

    wanted = literal.difference_gradient(with_states_held, scores)
    assert_close(got, wanted, scale, 1e-11)


@given(worlds(), st.floats(0, 1), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@small_proof
def test_a_constant_per_rank_changes_no_expected_gradient(world, discount, constants):
    scores, size, attraction, eta = world
    learner = ROLTR(discount=discount)
    plain, scale = expected_gradient(learner, scores, size, attraction, eta)
    shifted, _ = expected_gradient(learner, scores, size, attraction, eta, minus=np.array(constants[:size]))
    assert_close(shifted, plain, scale + sum(map(abs, constants)), 1e-12)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=10), st.floats(0, 1))
@proof
def test_returns_are_the_discounted_sum_of_what_follows(earned, discount):
    wanted = literal.returns(earned, discount)
    # Ten additions of values up to 100.
    np.testing.assert_allclose(returns(earned, discount), wanted, rtol=0, atol=1e-13)
    stepped = [discount**t * g for t, g in enumerate(wanted)]
    got = returns(earned, discount, discount_steps=True)
    np.testing.assert_allclose(got, stepped, rtol=0, atol=1e-13)


def literal_returns(learner: ROLTR, clicks) -> list[float]:
    p = learner.propensities.at(len(clicks))
    earned = [literal.reward(learner.reward, c, p[t], t + 1) for t, c in enumerate(clicks)]
    return literal.returns(earned, learner.discount)


def mean_reward(learner: ROLTR, attraction: float, eta: float, rank: int) -> Decimal:
    """E[R] of a document at a rank, over examination and attraction."""
    clicked = attraction * (1.0 / rank) ** eta
    p = learner.propensities.at(rank)[-1]
    with localcontext(prec=literal.DIGITS):
        return sum(
            literal.exactly(chance) * literal.exactly(literal.reward(learner.reward, c, p, rank))
            for c, chance in ((1, clicked), (0, 1.0 - clicked))
        )


def expected_reward(learner, scores, size, attraction, eta, discount) -> Decimal:
    """E[Σ γ^t R_t] over all pages."""
    mass = literal.masses(scores, learner.temperature)
    with localcontext(prec=literal.DIGITS):
        total = Decimal(0)
        for page in literal.all_pages(len(scores), size):
            chance = Decimal(1)
            steps = literal.step_probabilities(mass, page)
            for d, probability in zip(page, steps, strict=True):
                chance *= probability[d]
            for t, d in enumerate(page):
                worth = mean_reward(learner, attraction[d], eta, t + 1)
                total += chance * literal.exactly(discount**t) * worth
        return total


def expected_gradient(learner, scores, size, attraction, eta, minus=0.0):
    """E[score gradient] over all pages and all clicks, and the scale of what was summed."""
    total, scale = np.zeros(len(scores)), 0.0
    for page in literal.all_pages(len(scores), size):
        likely = float(literal.page_probability(scores, page, learner.temperature))
        seen = [attraction[d] * (1.0 / k) ** eta for k, d in enumerate(page, start=1)]
        for clicks, chance in literal.click_patterns(seen):
            if np.any(minus):
                g = learner.returns(clicks) - minus
                gradient = score_gradient(scores, page, g, learner.temperature)
            else:
                gradient = learner.score_gradient(scores, page, clicks)
            total += likely * chance * gradient
            scale += likely * chance * scale_of(learner, clicks)
    assert math.isfinite(scale)
    return total, scale
