"""A query's candidates as a sample of them."""

import numpy as np
import pytest

from rankloop.learners.candidates import SAMPLE, add_candidates, find_centre, sample_step


@pytest.mark.parametrize(("candidates", "step"), [(1, 1), (32, 1), (33, 2), (64, 2), (65, 3), (1000, 32)])
def test_no_more_are_looked_at_than_a_sample_has(candidates, step):
    assert sample_step(candidates) == step
    assert len(range(0, candidates, step)) <= SAMPLE


@pytest.mark.parametrize("candidates", [1, 2, 9, 100])
def test_the_centre_is_the_mean_of_the_sample(candidates):
    X = np.random.default_rng(candidates).normal([0.0, 5.0, -1e4], size=(candidates, 3)).astype(np.float32)
    centre, squares = np.zeros(3), np.zeros(3)
    find_centre(X, centre, squares)
    np.testing.assert_allclose(centre, X[:: sample_step(candidates)].astype(float).mean(axis=0), rtol=1e-12)


def test_sums_are_of_distances_from_the_first_one():
    X = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    sums, squares = np.zeros(3), np.zeros(3)
    assert add_candidates(X, sums, squares) == (2, 20)
    apart = X[::2].astype(float) - X[0].astype(float)
    np.testing.assert_allclose(sums, apart.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(squares, (apart**2).sum(axis=0), rtol=1e-12)
