"""Weights and evidence: what is compared, and what is refused at the border."""

import numpy as np
import pytest

from rankloop.errors import DataError, SettingsError
from rankloop.offpolicy import (
    Greedy,
    PlackettLuce,
    evidence,
    examination_model,
    item_position,
    on_policy,
    weigh,
    whole_page,
)


def test_a_policy_compared_with_itself_weighs_one():
    scores = np.random.default_rng(1).normal(size=60)
    weights = weigh(scores, scores, [5, 17, 2, 40], examination=[1, 0.5, 0.3, 0.2])
    assert weights.item_position.tolist() == weights.examination.tolist() == [1, 1, 1, 1]
    assert weights.page == 1


def test_scores_and_temperature_scale_together():
    scores, other = np.array([0.2, 1.0, -0.4]), np.array([1.0, 0.0, 0.5])
    usual = weigh(scores, other, [2, 0], examination=[1, 0.5])
    scaled = weigh(
        10 * scores, 3 * other, [2, 0], examination=[1, 0.5], logged=PlackettLuce(10), new=PlackettLuce(3)
    )  # fmt: skip
    assert scaled.item_position == pytest.approx(usual.item_position)
    assert scaled.examination == pytest.approx(usual.examination)
    assert scaled.page == pytest.approx(usual.page)


@pytest.mark.parametrize("other", [[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0], [0.0, 0.0, 0.0]])
def test_extreme_scores_give_finite_weights(other):
    weights = weigh([0.1, 0.0, 0.2], other, [0, 2], examination=[1, 0.5])
    assert np.isfinite([*weights.item_position, *weights.examination, weights.page]).all()


def test_a_page_that_the_logged_policy_never_draws_is_refused():
    with pytest.raises(DataError, match="document 1 was shown at rank 1, where the logged policy never puts it"):
        weigh([1e4, -1e4, 0.0], [0, 0, 0], [1, 0], examination=[1, 0.5])
    with pytest.raises(DataError, match="those that drew the page"):
        weigh([2.0, 1.0, 0.0], [0, 0, 0], [0, 2], examination=[1, 0.5], logged=Greedy())


def test_a_document_that_nobody_could_see_weighs_nothing():
    weights = weigh([2.0, 1.0], [0.0, 1.0], [0, 1], examination=[1.0, 0.0], logged=Greedy())
    assert weights.examination[1] == 0


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"new_scores": [1.0]}, "same 3 candidates"),
        ({"examination": [1.0]}, "one per rank of the page"),
        ({"examination": [1.0, 1.5]}, "must be probabilities"),
        ({"gains": [1.0, -1.0]}, "finite numbers, at least 0"),
        ({"page": [0, 3]}, "different indices from 0 to 2"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(changed, complaint):
    given = {"logged_scores": [0, 0, 0], "new_scores": [0, 0, 1], "page": [0, 1], "examination": [1.0, 0.5]}
    with pytest.raises(SettingsError, match=complaint):
        weigh(**(given | changed))


def test_short_pages_stand_beside_long_ones():
    log = [
        weigh([0, 0, 0], [1, 0, 0], [0, 1], examination=[1, 0.5]),
        weigh([0], [3], [0], examination=[1]),
    ]
    for line_up in (item_position, examination_model):
        lined_up = line_up(log, [[1, 1], [1]])
        assert lined_up.rewards.tolist() == [[1, 1], [1, 0]]
        assert lined_up.mass[1, 1] == lined_up.expected[1, 1] == lined_up.weights[1, 1] == 0
    assert whole_page(log, [[1, 1], [1]]).rewards.ravel().tolist() == [2, 1]
    assert on_policy([[1, 1], [1]], gains=[1, 0.5]).rewards.ravel().tolist() == [1.5, 1]


def test_clicks_must_fit_the_pages():
    log = [weigh([0, 0, 0], [1, 0, 0], [0, 1], examination=[1, 0.5])]
    with pytest.raises(DataError, match="got 1 impressions and 2 lists of clicks"):
        item_position(log, [[0, 0], [0, 1]])
    with pytest.raises(SettingsError, match="one value per shown document: 2"):
        examination_model(log, [[0]])
    with pytest.raises(DataError, match="no impressions"):
        on_policy([])
    with pytest.raises(SettingsError, match="gains are given for 1 ranks"):
        on_policy([[0, 1]], gains=[1.0])


@pytest.mark.parametrize(("weights", "rewards"), [([1, 2], [1]), ([-1.0], [1]), ([float("inf")], [1]), ([], [])])
def test_plain_lists_must_be_weights_and_rewards(weights, rewards):
    with pytest.raises(DataError, match="evidence:"):
        evidence("mine", weights, rewards)
