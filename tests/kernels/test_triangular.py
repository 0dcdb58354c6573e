"""A triangular factor against dense linear algebra: sums, solutions, and what is left after very many of them."""

import numpy as np
import pytest

from rankloop.kernels.triangular import (
    MANY,
    add_rows,
    covariance,
    factorise,
    invert,
    rows_for,
    solve_lower,
    solve_upper,
    square,
    times_symmetric,
    whole_lanes,
)

RNG = np.random.default_rng(5)
SIZES = [1, 7, 8, 9, 30]


def factor_of(matrix) -> np.ndarray:
    size = len(matrix)
    U = np.zeros((size, whole_lanes(size)))
    U[:, :size] = np.linalg.cholesky(matrix).T
    return U


def some_matrix(size: int) -> np.ndarray:
    root = RNG.normal(size=(size, size))
    return root @ root.T + np.eye(size)


def rows_of(A) -> np.ndarray:
    """These rows, and zeros up to whole groups and lanes."""
    padded = np.zeros((rows_for(len(A)), whole_lanes(A.shape[1])))
    padded[: len(A), : A.shape[1]] = A
    return padded


def dense(U) -> np.ndarray:
    return U.T[: len(U)] @ U[:, : len(U)]


def add(U, A) -> None:
    add_rows(U, rows_of(A), len(A), np.zeros(MANY + 1))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [1, 3, 4, 9, 10, 19])
def test_adding_rows_adds_their_squares_and_keeps_the_triangle(size, rows):
    before, A = some_matrix(size), RNG.normal(size=(rows, size))
    U = factor_of(before)
    add(U, A)
    np.testing.assert_allclose(dense(U), before + A.T @ A, rtol=0, atol=1e-12 * (size + rows) ** 2)
    assert (np.diag(U) > 0).all()
    assert not np.tril(U[:, :size], -1).any()
    assert not U[:, size:].any()


def test_rows_that_are_zero_change_no_bit():
    U = factor_of(some_matrix(9))
    before = U.copy()
    add(U, np.zeros((4, 9)))
    assert U.tobytes() == before.tobytes()


def test_the_update_is_the_inverse_of_a_dense_sum():
    """Rank-nine update of a precision against the inverse of the sum, as a textbook writes it."""
    before, A = some_matrix(30), RNG.normal(size=(9, 30))
    U = factor_of(before)
    add(U, A)
    np.testing.assert_allclose(covariance(U), np.linalg.inv(before + A.T @ A), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("size", SIZES)
def test_solutions(size):
    matrix, y = some_matrix(size), RNG.normal(size=size)
    U, padded = factor_of(matrix), np.zeros(whole_lanes(size))
    padded[:size] = y
    solve_lower(U, padded)
    solve_upper(U, padded, 0)
    np.testing.assert_allclose(padded[:size], np.linalg.solve(matrix, y), rtol=1e-9, atol=1e-12)


def test_the_last_dimensions_alone_are_drawn_from_their_marginal():
    """U⁻¹ is upper triangular, so its last rows have the covariance of the last dimensions and need no others."""
    matrix, first = some_matrix(9), 4
    U = factor_of(matrix)
    columns = np.zeros((9, 9))
    for place in range(first, 9):
        y = np.zeros(whole_lanes(9))
        y[place] = 1.0
        solve_upper(U, y, first)
        columns[:, place] = y[:9]
    marginal = np.linalg.inv(matrix)[first:, first:]
    np.testing.assert_allclose((columns @ columns.T)[first:, first:], marginal, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("size", "first"), [(1, 0), (9, 0), (9, 4), (30, 9)])
def test_the_rows_of_the_inverse_have_the_variances_as_squares(size, first):
    matrix = some_matrix(size)
    U, V = factor_of(matrix), np.full((size, whole_lanes(size)), np.nan)
    invert(U, first, V)
    inverse = np.triu(np.nan_to_num(V[:, :size]))
    np.testing.assert_allclose(inverse[first:], np.linalg.inv(U[:, :size])[first:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((inverse**2).sum(axis=1)[first:], np.diag(np.linalg.inv(matrix))[first:], rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_squares_products_and_factors(size):
    matrix, x = some_matrix(size), RNG.normal(size=size)
    M, U, out = np.zeros((size, whole_lanes(size))), np.zeros((size, whole_lanes(size))), np.zeros(size)
    square(factor_of(matrix), M)
    np.testing.assert_allclose(np.triu(M[:, :size]), np.triu(matrix), rtol=1e-12, atol=1e-12)
    times_symmetric(M, x, out)
    np.testing.assert_allclose(out, matrix @ x, rtol=1e-10, atol=1e-10)
    factorise(M, U)
    np.testing.assert_allclose(U, factor_of(matrix), rtol=1e-9, atol=1e-12)


def test_a_matrix_that_rounding_made_singular_gets_a_factor_all_the_same():
    direction = RNG.normal(size=5)
    M, U = np.zeros((5, 8)), np.zeros((5, 8))
    M[:, :5] = 1e12 * np.outer(direction, direction)
    factorise(M, U)
    assert np.isfinite(U).all()
    assert (np.diag(U) > 0).all()


def test_units_of_any_size_are_carried_through():
    """A power of two in a column multiplies that column of the factor, bit by bit: no feature's scale matters."""
    scale = 2.0 ** np.array([-40, 0, 33, 7, -12])
    matrix, A = some_matrix(5), RNG.normal(size=(6, 5))
    one, other = factor_of(matrix), factor_of(matrix)
    other[:, :5] *= scale
    add(one, A)
    add(other, A * scale)
    assert (one[:, :5] * scale).tobytes() == np.ascontiguousarray(other[:, :5]).tobytes()


@pytest.mark.slow
def test_after_very_many_rows_the_factor_is_as_good_as_new():
    """200,000 rows that say almost the same, and one direction in which nothing was ever said."""
    U = factor_of(np.eye(12))
    exact = np.eye(12)
    draws = np.random.default_rng(1)
    common = np.r_[draws.normal(size=11), 0.0]
    for _ in range(2_000):
        A = common + 1e-3 * draws.normal(size=(100, 12)) * np.r_[np.ones(11), 0.0]
        exact += A.T @ A
        padded = rows_of(A)
        add_rows(U, padded, 100, np.zeros(MANY + 1))
    assert (np.diag(U) > 0).all()
    np.testing.assert_allclose(dense(U), exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())
    assert U[11, 11] == 1.0
