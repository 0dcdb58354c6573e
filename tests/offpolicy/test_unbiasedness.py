"""Expectations of the estimators by enumeration of every page and every click: no sampling, no tolerance for luck."""

import math

import numpy as np
import pytest

from rankloop.offpolicy import Greedy, PlackettLuce, examination_model, item_position, weigh, whole_page
from rankloop.users import PositionBased

from .worlds import outcomes, page_probability, pages, true_value

LOGGED = [1.2, 0.0, -0.7, 0.4]
OTHER = [-0.5, 0.9, 0.6, 0.0]
GRADES = [2, 0, 1, 2]
USER = PositionBased(attraction=[0.1, 0.5, 0.9], examination=[0.9, 0.6, 0.3])
GAINS = [[1.0, 1.0, 1.0], [1.0, 0.63, 0.5], [0.0, 0.0, 1.0]]
POLICIES = [PlackettLuce(), PlackettLuce(0.4), PlackettLuce(3.0), Greedy()]
ESTIMATORS = [item_position, examination_model, whole_page]
LOGGING = PlackettLuce(0.8)


def expectation(estimator, new, gains, *, theta=(0.9, 0.6, 0.3), clip=math.inf, mean_weight=False) -> float:
    """E[Σ_k w_k r_k] over all pages of the logged policy and all clicks on them."""
    terms = []
    for page in pages(4, 3):
        chance = page_probability(LOGGED, page, LOGGING)
        weights = weigh(LOGGED, OTHER, page, examination=theta, logged=LOGGING, new=new, gains=gains)
        for clicks, likely in outcomes(USER, GRADES, page):
            log = estimator([weights], [clicks])
            w = np.minimum(log.weights, clip)
            terms.append(chance * likely * float((w * (log.mass if mean_weight else log.rewards)).sum()))
    return math.fsum(terms)


@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("new", POLICIES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimates_are_unbiased_under_a_position_based_user(estimator, new, gains):
    truth = true_value(OTHER, GRADES, USER, new, gains)
    # The position probabilities are integrals to twelve digits.
    assert expectation(estimator, new, gains) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("new", POLICIES)
def test_only_the_shape_of_the_examination_curve_has_to_be_right(new):
    truth = true_value(OTHER, GRADES, USER, new, GAINS[0])
    assert expectation(examination_model, new, GAINS[0], theta=(0.6, 0.4, 0.2)) == pytest.approx(truth, rel=1e-9)


def test_a_wrong_examination_curve_biases_the_examination_model_alone():
    flat, new = (1.0, 1.0, 1.0), PlackettLuce(0.4)
    truth = true_value(OTHER, GRADES, USER, new, GAINS[0])
    assert abs(expectation(examination_model, new, GAINS[0], theta=flat) - truth) > 0.02
    assert expectation(item_position, new, GAINS[0], theta=flat) == pytest.approx(truth, rel=1e-9)
    assert expectation(whole_page, new, GAINS[0], theta=flat) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clipping_takes_away_and_never_adds(estimator):
    new = PlackettLuce(0.4)
    truth = true_value(OTHER, GRADES, USER, new, GAINS[0])
    found = [expectation(estimator, new, GAINS[0], clip=clip) for clip in (0.5, 1.0, 2.0, 5.0, 1e9)]
    assert found == sorted(found)
    assert found[0] < truth * 0.9
    assert found[-1] == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("new", POLICIES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_average_to_what_self_normalisation_divides_by(estimator, new, gains):
    weights = weigh(LOGGED, OTHER, [0, 1, 2], examination=[0.9, 0.6, 0.3], new=new, logged=LOGGING, gains=gains)
    expected = float(estimator([weights], [[0, 0, 0]]).expected.sum())
    assert expectation(estimator, new, gains, mean_weight=True) == pytest.approx(expected, rel=1e-9)


def test_a_greedy_log_cannot_speak_for_pages_it_never_shows():
    page = [0, 3, 1]  # what the greedy policy shows
    weights = weigh(LOGGED, OTHER, page, examination=[1, 1, 1], logged=Greedy(), new=PlackettLuce())
    assert weights.item_position.sum() < 3 * 0.6
