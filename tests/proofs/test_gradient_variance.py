"""The recorded gradient variance is that of explicit vectors in feature space, over ranks."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import PDGD, ROLTR, MDPRank
from rankloop.simulation import simulate
from rankloop.users import noisy

from . import literal, small

IMPRESSIONS = 60


@pytest.mark.parametrize(
    "learner",
    [
        ROLTR(),
        ROLTR(reward="naive+", discount=0.5),
        ROLTR(discount=1.0, temperature=0.5, learning_rate=0.5),
        MDPRank(),
        MDPRank(variant="authors"),
    ],
    ids=str,
)
def test_variance_is_that_of_the_steps_gradients_in_feature_space(learner):
    data, user = small.collection(), noisy()
    wanted = np.zeros(IMPRESSIONS)

    def measure(i, page, clicks, grades):
        g = learner.returns(grades if learner.learns_from == "grades" else clicks)
        wanted[i] = literal.gradient_variance(page.candidates, page.scores, list(page), g, learner.temperature)

    run = simulate(learner, user, data, IMPRESSIONS, seed=3, gradient_variance=True)
    ranker = small.drive(learner, user, data, IMPRESSIONS, seed=3, seen=measure)
    assert ranker.weights.tolist() == run.weights.tolist()
    # Mean of squares minus square of mean, in float64; a single document has variance exactly 0.
    np.testing.assert_allclose(run.variance_curve, wanted, rtol=1e-9, atol=1e-12)
    assert run.gradient_variance == pytest.approx(wanted.mean(), rel=1e-9)


def test_measuring_the_variance_does_not_change_what_is_learned():
    data = small.collection()
    plain = simulate(ROLTR(), noisy(), data, IMPRESSIONS, seed=3)
    measured = simulate(ROLTR(), noisy(), data, IMPRESSIONS, seed=3, gradient_variance=True)
    assert plain.weights.tolist() == measured.weights.tolist()
    assert plain.variance_curve.size == 0
    assert np.isnan(plain.gradient_variance)


def test_skipped_impressions_have_no_variance():
    learner = ROLTR(skip_clickless=True)
    run = simulate(learner, noisy(), small.collection(), IMPRESSIONS, 3, gradient_variance=True)
    assert (np.isnan(run.variance_curve) == (run.clicks == 0)).all()


def test_a_method_without_a_policy_gradient_refuses():
    with pytest.raises(SettingsError, match="PDGD has no policy gradient"):
        simulate(PDGD(), noisy(), small.collection(), 10, seed=1, gradient_variance=True)
