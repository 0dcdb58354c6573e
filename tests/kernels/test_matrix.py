"""Products of matrices: each is a sum in a fixed order, whatever tile it falls into."""

import numpy as np
import pytest

from rankloop.kernels.matrix import multiply_into, multiply_transposed_into, padded

RNG = np.random.default_rng(1)


def test_columns_are_padded_to_whole_lanes():
    assert [padded(columns) for columns in (0, 1, 16, 17, 499)] == [0, 16, 16, 32, 512]


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 11])
@pytest.mark.parametrize("columns", [1, 16, 17, 33, 50])
@pytest.mark.parametrize("features", [1, 5, 37])
def test_a_product_of_matrices_is_the_sum_in_order_whatever_tile_it_falls_into(rows, columns, features):
    X = RNG.normal(size=(rows, features)).astype(np.float32)
    W = np.zeros((features, padded(columns)), np.float32)
    W[:, :columns] = RNG.normal(size=(features, columns))
    start = RNG.normal(size=(rows, padded(columns))).astype(np.float32)
    total = start.copy()
    multiply_into(X, W, total)
    exact = start + X.astype(float) @ W.astype(float)
    bound = (features + 1) * 2.0**-24 * (np.abs(start) + np.abs(X).astype(float) @ np.abs(W))
    assert (np.abs(total - exact) <= bound).all()
    alone = np.ascontiguousarray(start[-1:, :16])
    multiply_into(X[-1:], np.ascontiguousarray(W[:, :16]), alone)
    assert alone[0].tolist() == total[-1, :16].tolist()


@pytest.mark.parametrize("features", [1, 4, 7])
@pytest.mark.parametrize("columns", [16, 48, 64])
@pytest.mark.parametrize("rows", [1, 5, 37])
def test_a_transposed_product_is_the_sum_over_rows_in_order(rows, columns, features):
    """X is wider than what is asked for: the columns beyond are not read."""
    X = RNG.normal(size=(rows, features + 3)).astype(np.float32)
    X[:, features:] = np.nan
    W = RNG.normal(size=(rows, columns)).astype(np.float32)
    start = RNG.normal(size=(features, columns)).astype(np.float32)
    total = start.copy()
    multiply_transposed_into(X, W, total)
    used = X[:, :features]
    exact = start + used.T.astype(float) @ W.astype(float)
    bound = (rows + 1) * 2.0**-24 * (np.abs(start) + np.abs(used.T).astype(float) @ np.abs(W))
    assert (np.abs(total - exact) <= bound).all()
    halves = start.copy()
    for part in (slice(0, rows // 2), slice(rows // 2, rows)):
        multiply_transposed_into(X[part], W[part], halves)
    assert halves.tolist() == total.tolist()


def test_a_wider_matrix_is_read_as_far_as_the_other_goes():
    X = np.full((5, 9), np.nan, np.float32)
    X[:, :4] = RNG.normal(size=(5, 4))
    W, total = RNG.normal(size=(4, 16)).astype(np.float32), np.zeros((5, 16), np.float32)
    multiply_into(X, W, total)
    assert total == pytest.approx(X[:, :4] @ W, rel=1e-5, abs=1e-6)
