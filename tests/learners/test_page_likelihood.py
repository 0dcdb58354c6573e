"""The likelihood of a page's clicks: gradient and information against finite differences and plain sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.kernels.triangular import whole_lanes
from rankloop.learners.page_likelihood import add_gradient, contrasts, page_shares, place_documents

RANKS, FEATURES = 5, 3
SIZE = RANKS - 1 + FEATURES


def log_likelihood(parameters, X, page, rank, spread, clicks) -> float:
    """Σ_k c_k log π_k as it is written: the examination and the features of each shown document, and no tricks."""
    log_theta, w = np.r_[0.0, parameters[: RANKS - 1]], parameters[RANKS - 1 :]
    scores = X[page].astype(float) / spread @ w + log_theta[rank]
    return float(clicks @ (scores - np.log(np.exp(scores).sum())))


def differences(function, at, step=1e-4) -> np.ndarray:
    """Central differences, of fourth order."""
    moves = step * np.eye(len(at))
    return np.array(
        [(8 * (function(at + h) - function(at - h)) - function(at + 2 * h) + function(at - 2 * h)) / (12 * step)
         for h in moves]
    )  # fmt: skip


def evidence(parameters, X, page, rank, spread, clicks):
    """Gradient and information as the kernels compute them."""
    columns = whole_lanes(SIZE)
    Z, mean, gradient, below = np.zeros((RANKS, columns)), np.zeros(columns), np.zeros(columns), np.zeros(columns)
    shares = np.zeros(len(page))
    mean[:SIZE] = parameters
    place_documents(X, page, rank, RANKS - 1, 1.0 / spread, Z)
    page_shares(Z, len(page), mean, shares)
    add_gradient(Z, clicks, shares, gradient)
    contrasts(Z, len(page), clicks.sum(), shares, below)
    assert not Z[len(page) - 1 :].any()
    assert not Z[:, SIZE:].any()
    return shares, gradient[:SIZE], Z[:, :SIZE].T @ Z[:, :SIZE]


def a_page(seed: int, shown: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, FEATURES)).astype(np.float32)
    rank = np.sort(rng.permutation(RANKS)[:shown])
    clicks = rng.choice([0.0, 0.25, 1.0], size=shown)
    return X, rng.permutation(7)[:shown], rank, np.array([0.5, 2.0, 8.0]), clicks, rng.normal(size=SIZE)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_gradient_and_information_are_the_derivatives_of_the_likelihood(seed, shown):
    X, page, rank, spread, clicks, at = a_page(seed, shown)

    def value(parameters):
        return log_likelihood(parameters, X, page, rank, spread, clicks)

    _, gradient, information = evidence(at, X, page, rank, spread, clicks)
    np.testing.assert_allclose(gradient, differences(value, at), rtol=0, atol=1e-8)
    curvature = differences(lambda parameters: differences(value, parameters, 1e-2), at, 1e-2)
    np.testing.assert_allclose(information, -curvature, rtol=0, atol=1e-4)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, RANKS))
def test_the_information_is_the_covariance_that_the_shares_give(seed, shown):
    X, page, rank, spread, clicks, at = a_page(seed, shown)
    shares, _, information = evidence(at, X, page, rank, spread, clicks)
    z = np.zeros((shown, SIZE))
    z[np.arange(shown)[rank > 0], rank[rank > 0] - 1] = 1.0
    z[:, RANKS - 1 :] = X[page] / spread
    apart = z - shares @ z
    wanted = clicks.sum() * apart.T @ (shares[:, None] * apart)
    assert shares.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(information, wanted, rtol=0, atol=1e-12 * max(1.0, np.abs(wanted).max()))


def test_a_document_that_takes_all_clicks_leaves_nothing_that_is_not_a_number():
    X = np.array([[0.0] * 3, [1e3] * 3, [-1e3] * 3], np.float32)
    for clicks in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]):
        found = evidence(np.ones(SIZE), X, np.arange(3), np.arange(3), np.ones(3), np.array(clicks))
        assert all(np.isfinite(part).all() for part in found)
