"""A constant feature says nothing, whatever its scale."""

import numpy as np

from rankloop.data.normalise import normalise
from rankloop.scaling import divided, min_max


def test_a_spread_of_0_gives_0_and_not_a_division_by_it():
    with np.errstate(all="raise"):
        assert divided([[3.0, 7.0]], [2.0, 0.0]).tolist() == [[1.5, 0.0]]


def test_a_query_is_scaled_as_a_collection_is():
    X = np.random.default_rng(1).normal(0, 100, (20, 5))
    X[:, 2] = 7.0
    assert np.array_equal(min_max(X).astype(np.float32), normalise(X, np.array([0, 20])))
