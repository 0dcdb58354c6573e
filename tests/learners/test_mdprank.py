"""MDPRank in both variants: rewards, returns and gradient as the table says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import MDPRank
from rankloop.online import OnlineRanker

from ..proofs import literal

GAMMA = {"paper": 1.0, "authors": 0.0}


@pytest.mark.parametrize("variant", ["paper", "authors"])
@given(grades=st.lists(st.integers(0, 4), min_size=1, max_size=10))
@examples(60)
def test_returns_come_from_the_variants_rewards_and_discount(variant, grades):
    wanted = literal.returns(literal.mdprank_rewards(variant, grades), GAMMA[variant])
    np.testing.assert_allclose(MDPRank(variant=variant).returns(grades), wanted, rtol=1e-13)


def test_a_discount_of_its_own_replaces_the_variants():
    wanted = literal.returns(literal.mdprank_rewards("paper", [1, 2, 3]), 0.3)
    got = MDPRank(variant="paper", discount=0.3).returns([1, 2, 3])
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize("variant", ["paper", "authors"])
@given(
    scores=st.lists(st.floats(-5, 5), min_size=1, max_size=6),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    random=st.randoms(use_true_random=False),
)
@examples(60)
def test_the_gradient_is_the_double_sum_of_these_returns(variant, scores, temperature, random):
    page = random.sample(range(len(scores)), random.randint(1, len(scores)))
    grades = [random.randint(0, 4) for _ in page]
    g = literal.returns(literal.mdprank_rewards(variant, grades), GAMMA[variant])
    wanted = literal.policy_gradient(scores, page, g, temperature)
    learner = MDPRank(variant=variant, temperature=temperature)
    # Returns up to 6·15: some hundred roundings of that size.
    np.testing.assert_allclose(learner.score_gradient(scores, page, grades), wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_one_step_is_the_rate_times_features_times_score_gradient(variant):
    X = np.random.default_rng(6).normal(size=(7, 3)).astype(np.float32)
    learner = MDPRank(variant=variant, learning_rate=0.02)
    ranker = OnlineRanker(learner, features=3, seed=2, page_size=5, weights=[0.1, -0.4, 0.2])
    page = ranker.rank(X)
    before = ranker.weights
    ranker.learn(page, grades=[0, 3, 1, 4, 0])
    g = literal.returns(literal.mdprank_rewards(variant, [0, 3, 1, 4, 0]), GAMMA[variant])
    wanted = 0.02 * X.T.astype(float) @ literal.policy_gradient(page.scores, list(page), g)
    # The sum over documents runs in float32.
    np.testing.assert_allclose(ranker.weights - before, wanted, rtol=1e-5, atol=1e-6)
