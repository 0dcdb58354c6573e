"""The likelihood of a page's clicks: gradient and information against finite differences and plain sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.kernels.triangular import whole_lanes
from rankloop.learners.page_likelihood import (
    add_gradient,
    contrasts,
    document_parts,
    level_part,
    page_level,
    page_shares,
    place_documents,
)

RANKS, FEATURES = 5, 3
SIZE = RANKS + FEATURES
SHAPE = 1.5


def log_scores(parameters, X, page, rank, spread):
    """b + w·(x_k − x̄) + log θ_k of each shown document, and no tricks."""
    b, log_theta, w = parameters[0], np.r_[0.0, parameters[1:RANKS]], parameters[RANKS:]
    features = X.astype(float) / spread
    return b + (features[page] - features.mean(axis=0)) @ w + log_theta[rank]


def log_likelihood(parameters, X, page, rank, spread, clicks) -> float:
    """Σ_k c_k log π_k as it is written."""
    scores = log_scores(parameters, X, page, rank, spread)
    return float(clicks @ (scores - np.log(np.exp(scores).sum())))


def log_likelihood_of_the_number(parameters, X, page, rank, spread, clicks) -> float:
    """The negative binomial's, without what does not depend on its mean."""
    mu = np.exp(log_scores(parameters, X, page, rank, spread)).sum()
    return float(clicks.sum() * np.log(mu) - (clicks.sum() + SHAPE) * np.log(SHAPE + mu))


def differences(function, at, step=1e-4) -> np.ndarray:
    """Central differences, of fourth order."""
    moves = step * np.eye(len(at))
    return np.array(
        [(8 * (function(at + h) - function(at - h)) - function(at + 2 * h) + function(at - 2 * h)) / (12 * step)
         for h in moves]
    )  # fmt: skip


def placed(parameters, X, page, rank, spread):
    """Rows, mean, shares and log μ as the kernels compute them, for documents without merits."""
    columns = whole_lanes(SIZE)
    Z, mean, shares = np.zeros((RANKS, columns)), np.zeros(columns), np.zeros(len(page))
    mean[:SIZE] = parameters
    place_documents(X, page, rank, RANKS, 1.0 / spread, X.astype(float).mean(axis=0), Z)
    return Z, shares, page_shares(Z, mean, np.zeros(len(page)), shares)


def gradient_of(Z, clicks, clicked, shares, pull):
    """Of the whole page, from its documents'."""
    slopes, bends, gradient = np.zeros(len(shares)), np.zeros(len(shares)), np.zeros(Z.shape[1])
    document_parts(clicks, clicked, shares, pull, 0.0, slopes, bends)
    add_gradient(Z, slopes, gradient)
    return gradient[:SIZE]


def evidence(parameters, X, page, rank, spread, clicks):
    """Gradient and information of where clicks fell, as the kernels compute them."""
    Z, shares, _ = placed(parameters, X, page, rank, spread)
    gradient = gradient_of(Z, clicks, clicks.sum(), shares, 0.0)
    contrasts(Z, clicks.sum(), shares, np.zeros(Z.shape[1]))
    assert not Z[len(page) - 1 :].any()
    assert not Z[:, SIZE:].any()
    return shares, gradient, Z[:, :SIZE].T @ Z[:, :SIZE]


def evidence_of_the_number(parameters, X, page, rank, spread, clicks, once=1.0):
    """Gradient, and the row of the information, as the kernels compute them."""
    Z, shares, log_expected = placed(parameters, X, page, rank, spread)
    pull, information = level_part(clicks.sum(), log_expected, SHAPE, once)
    level = np.zeros(Z.shape[1])
    page_level(Z, shares, information, level)
    return gradient_of(Z, np.zeros(len(page)), 0.0, shares, pull), level[:SIZE]


def a_page(seed: int, shown: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, FEATURES)).astype(np.float32)
    rank = np.sort(rng.permutation(RANKS)[:shown])
    clicks = rng.choice([0.0, 0.25, 1.0], size=shown)
    return X, rng.permutation(7)[:shown], rank, np.array([0.5, 2.0, 8.0]), clicks, rng.normal(size=SIZE)


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_gradient_and_information_are_the_derivatives_of_the_likelihood(seed, shown):
    X, page, rank, spread, clicks, at = a_page(seed, shown)

    def value(parameters):
        return log_likelihood(parameters, X, page, rank, spread, clicks)

    _, gradient, information = evidence(at, X, page, rank, spread, clicks)
    np.testing.assert_allclose(gradient, differences(value, at), rtol=0, atol=1e-8)
    curvature = differences(lambda parameters: differences(value, parameters, 1e-2), at, 1e-2)
    np.testing.assert_allclose(information, -curvature, rtol=0, atol=1e-4)


@examples(40)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_the_information_is_the_covariance_that_the_shares_give(seed, shown):
    X, page, rank, spread, clicks, at = a_page(seed, shown)
    shares, _, information = evidence(at, X, page, rank, spread, clicks)
    z = np.zeros((shown, SIZE))
    z[np.arange(shown), rank] = 1.0
    z[:, 0] = 1.0
    z[:, RANKS:] = X[page] / spread
    apart = z - shares @ z
    wanted = clicks.sum() * apart.T @ (shares[:, None] * apart)
    assert shares.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(information, wanted, rtol=0, atol=1e-12 * max(1.0, np.abs(wanted).max()))


@examples(40)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_the_number_of_clicks_has_the_negative_binomial_s_gradient_and_expected_information(seed, shown):
    """The information is the mean of the squared gradient over the distribution that the parameters give."""
    X, page, rank, spread, clicks, at = a_page(seed, shown)

    def value(parameters):
        return log_likelihood_of_the_number(parameters, X, page, rank, spread, clicks)

    gradient, row = evidence_of_the_number(at, X, page, rank, spread, clicks)
    np.testing.assert_allclose(gradient, differences(value, at), rtol=0, atol=1e-7)
    mu = np.exp(log_scores(at, X, page, rank, spread)).sum()
    direction = differences(lambda p: np.log(np.exp(log_scores(p, X, page, rank, spread)).sum()), at)
    # Var C = μ + μ²/a, and the gradient is linear in C.
    slope = SHAPE / (SHAPE + mu)
    wanted = slope**2 * (mu + mu**2 / SHAPE) * np.outer(direction, direction)
    np.testing.assert_allclose(np.outer(row, row), wanted, rtol=0, atol=1e-6 * max(1.0, np.abs(wanted).max()))


@examples(20)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_a_document_s_own_gradient_and_information_are_derivatives_by_its_merit(seed, shown):
    """Of both parts of the likelihood; the number's information is the expected one, as for the weights."""
    X, page, rank, spread, clicks, at = a_page(seed, shown)
    scores = log_scores(at, X, page, rank, spread)

    def value(merits):
        eta = scores + merits
        mu = np.exp(eta).sum()
        where = clicks @ (eta - np.log(mu))
        return where + clicks.sum() * np.log(mu) - (clicks.sum() + SHAPE) * np.log(SHAPE + mu)

    shares = np.exp(scores) / np.exp(scores).sum()
    pull, level = level_part(clicks.sum(), np.log(np.exp(scores).sum()), SHAPE, 1.0)
    slopes, bends = np.zeros(shown), np.zeros(shown)
    document_parts(clicks, clicks.sum(), shares, pull, level, slopes, bends)
    np.testing.assert_allclose(slopes, differences(value, np.zeros(shown)), rtol=0, atol=1e-7)
    np.testing.assert_allclose(bends, clicks.sum() * shares * (1 - shares) + level * shares**2, atol=1e-12)


def test_an_expected_number_beyond_all_bounds_is_a_number_still():
    assert level_part(3.0, 1e6, 1.0, 1.0) == (-1.0, 1.0)
    pull, information = level_part(3.0, -1e6, 1.0, 1.0)
    assert pull == 3.0
    assert 0.0 <= information < 1e-100
    assert level_part(3.0, 0.0, 0.0, 1.0) == (0.0, 0.0)  # not learned from


def test_a_document_that_takes_all_clicks_leaves_nothing_that_is_not_a_number():
    X = np.array([[0.0] * 3, [1e3] * 3, [-1e3] * 3], np.float32)
    for clicks in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]):
        found = evidence(np.ones(SIZE), X, np.arange(3), np.arange(3), np.ones(3), np.array(clicks))
        assert all(np.isfinite(part).all() for part in found)
