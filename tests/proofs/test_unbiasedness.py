"""The paper's claim, exactly: expectations by enumeration over every examination and attraction.

Tolerance of all comparisons: sums of at most 4⁴ products of a few factors in float64, relative to
the largest possible reward (1/p), so 1e-12 of that scale is thousands of roundings.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import ROLTR
from rankloop.propensities import Known, PowerLaw
from rankloop.rewards import REWARDS, rewards

from . import literal

probability = st.floats(0.0, 1.0)
lengths = st.integers(1, 4)
etas = st.floats(0.0, 4.0)
proof = examples(100)


def expected(of_clicks, examination, attraction) -> float:
    """E[Σ_t R_t] over everything that a person may examine and find attractive."""
    return math.fsum(
        chance * float(sum(of_clicks(clicks)))
        for clicks, chance in literal.outcomes(examination, attraction)
        if chance > 0
    )


def about(value: float, propensities) -> object:
    return pytest.approx(value, rel=1e-12, abs=1e-12 * len(propensities) / min(propensities))


def lambdas(ranks: int) -> list[float]:
    return [literal.weight(rank) for rank in range(1, ranks + 1)]


@given(y=st.lists(st.integers(0, 1), min_size=1, max_size=4), eta=etas)
@proof
def test_ips_rewards_are_unbiased_for_binary_relevance(y, eta):
    p = PowerLaw(eta).at(len(y)).tolist()
    weight = lambdas(len(y))
    positive = sum(w for w, relevant in zip(weight, y, strict=True) if relevant)
    negative = -sum(w for w, relevant in zip(weight, y, strict=True) if not relevant)
    assert expected(lambda c: rewards("ips+", c, p), p, y) == about(positive, p)
    assert expected(lambda c: rewards("ips-", c, p), p, y) == about(negative, p)
    assert expected(lambda c: rewards("ips+-", c, p), p, y) == about(positive + negative, p)


@given(y=st.lists(st.integers(0, 1), min_size=1, max_size=4), eta=etas)
@proof
def test_each_naive_reward_falls_short_by_the_unseen_relevant_documents(y, eta):
    p = PowerLaw(eta).at(len(y)).tolist()
    rows = list(zip(lambdas(len(y)), p, y, strict=True))
    shortfall = sum((1.0 - seen) * w for w, seen, relevant in rows if relevant)
    positive = sum(w for w, _, relevant in rows if relevant)
    negative = -sum(w for w, _, relevant in rows if not relevant)
    assert expected(lambda c: rewards("naive+", c, p), p, y) == about(positive - shortfall, p)
    assert expected(lambda c: rewards("naive-", c, p), p, y) == about(negative - shortfall, p)
    assert expected(lambda c: rewards("naive+-", c, p), p, y) == about(positive + negative - 2 * shortfall, p)


@given(a=st.lists(probability, min_size=1, max_size=4), eta=etas)
@proof
def test_ips_rewards_are_unbiased_for_any_attraction(a, eta):
    p = PowerLaw(eta).at(len(a)).tolist()
    positive = sum(w * x for w, x in zip(lambdas(len(a)), a, strict=True))
    negative = -sum(w * (1 - x) for w, x in zip(lambdas(len(a)), a, strict=True))
    assert expected(lambda c: rewards("ips+", c, p), p, a) == about(positive, p)
    assert expected(lambda c: rewards("ips-", c, p), p, a) == about(negative, p)
    assert expected(lambda c: rewards("ips+-", c, p), p, a) == about(positive + negative, p)


@pytest.mark.thorough
@given(ranks=st.lists(st.tuples(probability, probability, st.floats(0.01, 1.0)), min_size=1, max_size=4))
@proof
def test_a_wrong_belief_scales_attraction_by_true_over_assumed_propensity(ranks):
    attraction, true, assumed = (list(values) for values in zip(*ranks, strict=True))
    rows = list(zip(lambdas(len(ranks)), attraction, true, assumed, strict=True))
    positive = sum(w * a * p / q for w, a, p, q in rows)
    negative = -sum(w * (1 - a * p / q) for w, a, p, q in rows)
    earn = {
        name: expected(lambda c, n=name: rewards(n, c, assumed), true, attraction) for name in ("ips+", "ips-", "ips+-")
    }
    assert earn["ips+"] == about(positive, assumed)
    assert earn["ips-"] == about(negative, assumed)
    assert earn["ips+-"] == about(positive + negative, assumed)


@given(
    attraction=st.lists(probability, min_size=1, max_size=4),
    user=st.floats(0.0, 2.0),
    learner=st.floats(0.0, 2.0),
    clip=probability,
)
@proof
def test_a_clipped_learner_earns_what_the_raised_propensities_say(attraction, user, learner, clip):
    true = PowerLaw(user).at(len(attraction)).tolist()
    assumed = [max(p, clip) for p in PowerLaw(learner).at(len(attraction))]
    settings_ = ROLTR(reward="ips+", propensities=PowerLaw(learner), clip=clip)
    wanted = sum(w * a * p / q for w, a, p, q in zip(lambdas(len(true)), attraction, true, assumed, strict=True))
    assert expected(settings_.returns, true, attraction) == about(wanted, assumed)


@pytest.mark.parametrize("name", REWARDS)
@given(ranks=st.lists(st.tuples(st.integers(0, 1), st.floats(0.01, 1.0)), min_size=1, max_size=10))
@proof
def test_rewards_are_those_of_the_table(name, ranks):
    clicks, propensities = (list(values) for values in zip(*ranks, strict=True))
    wanted = [
        literal.reward(name, c, p, rank) for rank, (c, p) in enumerate(zip(clicks, propensities, strict=True), start=1)
    ]
    got = rewards(name, clicks, propensities)
    assert got.tolist() == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    immediate = ROLTR(reward=name, propensities=Known(tuple(propensities))).returns(clicks)
    assert immediate.tolist() == got.tolist()
