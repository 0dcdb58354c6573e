"""P(document at rank): counted over all pages where that is possible, checked by what must hold where it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.offpolicy import Greedy, PlackettLuce, expected_examination, position_probabilities
from rankloop.policies import sample

from .worlds import counted_positions

scores_of_few = st.lists(st.floats(-20, 20), min_size=1, max_size=6)


@given(scores=scores_of_few, ranks=st.integers(1, 6), temperature=st.sampled_from([0.3, 1.0, 4.0]))
@examples(60)
def test_position_probabilities_are_those_of_all_pages_added_up(scores, ranks, temperature):
    policy, ranks = PlackettLuce(temperature), min(ranks, len(scores))
    counted = counted_positions(scores, ranks, policy)
    # Relative, down to probabilities that no log will ever contain: they are denominators.
    assert position_probabilities(scores, ranks, policy) == pytest.approx(counted, rel=1e-9, abs=1e-22)


@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0, 300.0, 1e4])
@pytest.mark.parametrize(("candidates", "ranks"), [(10, 10), (100, 10), (40, 40)])
def test_every_rank_is_taken_by_exactly_one_of_many(candidates, ranks, spread):
    scores = np.random.default_rng(1).normal(size=candidates) * spread
    found = position_probabilities(scores, ranks)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.sum(axis=0) == pytest.approx(np.ones(ranks), abs=1e-9)
    assert found.sum(axis=1).max() <= 1 + 1e-9


@pytest.mark.thorough
def test_long_lists_agree_with_drawn_pages():
    scores = np.random.default_rng(2).normal(size=50)
    drawn = np.zeros((50, 5))
    for i in range(20_000):
        drawn[sample(scores, size=5, seed=3, impression=i), range(5)] += 1 / 20_000
    found = position_probabilities(scores, 5)
    # Five standard errors of a count: 250 cells, so one false alarm in 7,000 choices of a seed.
    assert (np.abs(drawn - found) < 5 * np.sqrt(found * (1 - found) / 20_000) + 1e-9).all()


def test_equal_scores_put_every_document_everywhere_alike():
    assert position_probabilities(np.zeros(30), 10) == pytest.approx(np.full((30, 10), 1 / 30), rel=1e-9)


def test_asking_for_some_documents_gives_their_rows():
    scores = np.random.default_rng(4).normal(size=20)
    everything = position_probabilities(scores, 6)
    assert position_probabilities(scores, 6, documents=[7, 0, 19]) == pytest.approx(everything[[7, 0, 19]], rel=1e-12)


def test_scores_of_ten_thousand_leave_certainty():
    found = position_probabilities([1e4, -1e4, 0.0], 3)
    assert found == pytest.approx(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0]]), abs=1e-9)


def test_a_cold_policy_approaches_the_greedy_one():
    scores = [0.3, 2.0, 1.1, -4.0]
    cold = position_probabilities(scores, 3, PlackettLuce(0.01))
    assert cold == pytest.approx(position_probabilities(scores, 3, Greedy()), abs=1e-9)


def test_the_greedy_policy_breaks_ties_by_index():
    assert position_probabilities([1.0, 2.0, 2.0], 2, Greedy()).tolist() == [[0, 0], [1, 0], [0, 1]]


def test_expected_examination_adds_up_to_the_curve():
    theta = [1.0, 0.5, 0.25]
    assert expected_examination(np.arange(8.0), theta).sum() == pytest.approx(sum(theta), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([1.0, 2.0], 3), "ranks must be at most the 2 candidates; got 3"),
        (([1.0, float("nan")], 1), "at least one finite number"),
        (([1.0], 1, "greedy"), "policy must be PlackettLuce"),
        (([1.0, 2.0], 1, PlackettLuce(), [2]), "different indices from 0 to 1"),
    ],
)
def test_impossible_questions_are_refused(arguments, complaint):
    with pytest.raises(SettingsError, match=complaint):
        position_probabilities(*arguments)


@pytest.mark.parametrize(("scores", "near"), [
    ([1e20, 0.0, -1e20], [20e3, 10e3, 0.0]),
    ([0.0, 1.0, 1e20], [0.0, 1.0, 10e3]),
    ([1.7e308, -1.7e308, 0.0, -1.7e308], [20e3, 0.0, 10e3, 0.0]),
    ([1e17, 1e17, 3.0, 2.0], [10e3, 10e3, 1.0, 0.0]),
    ([-1e300, -1e300], [0.0, 0.0]),
])  # fmt: skip
def test_the_integral_ends_for_any_finite_scores_with_what_scores_less_far_apart_give(scores, near):
    for ranks in (2, len(scores)):
        expected = position_probabilities(near, ranks)
        assert position_probabilities(scores, ranks) == pytest.approx(expected, rel=1e-10, abs=0)
        assert expected.sum(axis=0) == pytest.approx(1.0)
