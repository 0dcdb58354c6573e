"""The prior: its units, how it is put in anew, and what given weights and half-lives do to it."""

import numpy as np
import pytest

from rankloop.learners import Posterior
from rankloop.learners.prior import (
    GIVEN,
    LEVEL,
    LEVEL_VARIANCE,
    gather_spread,
    in_units,
    is_due,
    let_level_drift,
    renew,
)

FEATURES, PAGE = 3, 4
LEADING = PAGE
"""The level, and examination from the second rank on."""
RNG = np.random.default_rng(2)
QUERIES = [
    (RNG.normal(size=(n, FEATURES)) * [1.0, 100.0, 0.01] + RNG.normal(size=FEATURES)).astype(np.float32)
    for n in (2, 5, 9, 4)
]


def seen(learner: Posterior, queries=QUERIES, weights=None):
    """A model that has seen queries, and learned nothing from them."""
    model = learner.model(FEATURES, PAGE, 1, weights)
    work = learner.work(FEATURES, PAGE, 16)
    for X in queries:
        model.pages[0] += 1
        gather_spread(model, X, work.centre, work.gradient)
    return model, work


def prior_of(learner: Posterior, spread, start=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance as the docstring has them, in the features' units."""
    mean = np.r_[LEVEL, np.log(learner.examination.at(PAGE))[1:], np.zeros(FEATURES)]
    weights = [learner.prior_variance / FEATURES] * FEATURES
    covariance = np.diag(np.r_[LEVEL_VARIANCE, [learner.examination_variance] * (PAGE - 1), weights])
    if start is not None:
        u = np.r_[np.zeros(LEADING), start * spread]
        mean += GIVEN * u
        covariance += np.outer(u, u) / learner.start_pages
    return mean, covariance


def state_of(model) -> tuple[np.ndarray, np.ndarray]:
    mean = np.zeros(model.root.shape[1])
    in_units(model, mean)
    size = LEADING + FEATURES
    return mean[:size], model.root.T[:size] @ model.root[:, :size]


def test_spreads_are_root_mean_variances_within_queries_whatever_the_queries_level():
    model, _ = seen(Posterior())
    wanted = np.mean([X.astype(float).var(axis=0) for X in QUERIES], axis=0)
    np.testing.assert_allclose(model.within, wanted, rtol=1e-12)
    shifted = [X + np.float32(8.0) for X in QUERIES]
    np.testing.assert_allclose(seen(Posterior(), shifted)[0].within[:2], wanted[:2], rtol=1e-3)


def test_of_many_candidates_some_are_enough():
    X = RNG.normal(size=(100, FEATURES)).astype(np.float32)
    model, _ = seen(Posterior(), [X])
    np.testing.assert_allclose(model.within, X[::4].astype(float).var(axis=0), rtol=1e-12)


def test_given_weights_have_a_spread_of_their_own():
    weights = np.array([1.0, -0.02, 3.0])
    model, _ = seen(Posterior(), weights=weights)
    wanted = np.mean([(X.astype(float) @ weights).var() for X in QUERIES])
    assert model.start_within[0] == pytest.approx(wanted, rel=1e-12)


def test_the_prior_is_renewed_often_at_first_and_then_now_and_then():
    early = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
    assert [n for n in range(1, 5000) if is_due(n)] == [*early, 1024, 2048, 3072, 4096]


@pytest.mark.parametrize("weights", [None, [1.0, -0.02, 3.0]], ids=["none", "given"])
def test_the_first_renewal_is_the_prior(weights):
    learner = Posterior(prior_variance=0.2, start_pages=7.0)
    model, work = seen(learner, weights=weights)
    renew(model, work, 1.0)
    start = None if weights is None else np.array(weights) / model.start_spread[0]
    mean, covariance = prior_of(learner, model.spread, start)
    own_mean, information = state_of(model)
    np.testing.assert_allclose(information @ covariance, np.eye(len(mean)), rtol=0, atol=1e-10)
    np.testing.assert_allclose(own_mean, mean, rtol=1e-10, atol=1e-12)


def test_given_weights_keep_their_order_whatever_their_scale():
    X = QUERIES[2]
    orders = []
    for scale in (1e-6, 1.0, 1e6):
        weights = scale * np.array([1.0, -0.02, 3.0])
        model, work = seen(Posterior(), weights=weights)
        renew(model, work, 1.0)
        orders.append(np.argsort(-X @ model.ranker.weights).tolist())
        assert model.ranker.weights @ weights > 0
    assert orders[0] == orders[1] == orders[2] == np.argsort(-X @ weights).tolist()


@pytest.mark.parametrize("weights", [None, [1.0, -0.02, 3.0]], ids=["none", "given"])
@pytest.mark.parametrize("kept", [1.0, 0.25])
def test_a_renewal_keeps_what_pages_taught_and_changes_the_prior_alone(weights, kept):
    """Information from pages, put in by hand; then the spreads change. Against dense algebra."""
    learner = Posterior(start_pages=7.0, prior_weight=1e12)
    model, work = seen(learner, QUERIES[:1], weights)
    renew(model, work, 1.0)
    old = model.spread.copy()
    old_start = model.start_spread[0]
    size = LEADING + FEATURES
    rows = RNG.normal(size=(8, size))
    mean, information = state_of(model)
    prior = information.copy()
    taught, toward = rows.T @ rows, RNG.normal(size=size)
    information = prior + taught
    mean = np.linalg.solve(information, prior @ mean + toward)
    model.root[:, :size] = np.linalg.cholesky(information).T
    model.level[0] = mean[0]
    model.log_examination[1:] = mean[1:PAGE]
    model.ranker.weights[:] = mean[LEADING:] / old
    for X in QUERIES[1:]:
        model.pages[0] += 1
        gather_spread(model, X, work.centre, work.gradient)
    renew(model, work, kept)
    ratio = np.r_[np.ones(LEADING), old / model.spread]
    start = None if weights is None else np.array(weights) / model.start_spread[0]
    prior_mean, covariance = prior_of(learner, model.spread, start)
    wanted = np.linalg.inv(covariance) + kept * taught * np.outer(ratio, ratio)
    wanted_mean = np.linalg.solve(wanted, np.linalg.inv(covariance) @ prior_mean + kept * ratio * toward)
    own_mean, own = state_of(model)
    assert weights is None or old_start != model.start_spread[0]
    np.testing.assert_allclose(own, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    np.testing.assert_allclose(own_mean, wanted_mean, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("drift", [0.0, 0.005, 0.5])
def test_a_level_that_drifts_gains_a_step_s_variance_and_nothing_else_changes(drift):
    """Against dense algebra, and for the sandwich: the gradients so far are those that make the same mean of it."""
    learner = Posterior(level_drift=drift, intervals=True)
    model, work = seen(learner)
    renew(model, work, 1.0)
    size = LEADING + FEATURES
    rows, gradients = RNG.normal(size=(9, size)), RNG.normal(size=(5, size))
    information = state_of(model)[1] + rows.T @ rows
    model.root[:, :size] = np.linalg.cholesky(information).T
    model.squares[:] = np.triu(gradients.T @ gradients)
    mean = state_of(model)[0]
    let_level_drift(model)
    own_mean, own = state_of(model)
    covariance = np.linalg.inv(information)
    covariance[0, 0] += drift**2
    np.testing.assert_allclose(own @ covariance, np.eye(size), rtol=0, atol=1e-12 * np.abs(own).max())
    np.testing.assert_array_equal(own_mean, mean)
    same_steps = gradients @ np.linalg.inv(information) @ own
    wanted = np.triu(same_steps.T @ same_steps)
    np.testing.assert_allclose(model.squares, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_a_feature_that_never_varies_has_no_weight_and_no_effect():
    queries = [X * np.array([1, 1, 0], np.float32) for X in QUERIES]
    model, work = seen(Posterior(), queries)
    renew(model, work, 1.0)
    assert model.spread[2] == 0.0
    assert model.ranker.weights[2] == 0.0
    assert np.isfinite(model.root).all()
    assert model.precision[0] == pytest.approx(2 / Posterior().prior_variance)
