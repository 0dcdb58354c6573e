"""A query's candidates as a sample of them: how many are looked at, and where their middle lies."""

import numpy as np

from rankloop.kernels import kernel

SAMPLE = 32
"""What varies within a query is what so many candidates say, evenly spread over the list; pages average it out."""


@kernel
def sample_step(candidates):
    """Every so manieth of so many candidates is looked at for their mean and variance."""
    return -(-candidates // SAMPLE)


@kernel
def add_candidates(X, centre, squares):
    """Sums of how far a sample of the candidates is from the first one, and of the squares; returns the sample's stride
    and size."""
    step = sample_step(X.shape[0])
    for j in range(X.shape[1]):
        centre[j] = 0.0
        squares[j] = 0.0
    for i in range(step, X.shape[0], step):
        for j in range(X.shape[1]):
            apart = np.float64(X[i, j]) - np.float64(X[0, j])
            centre[j] += apart
            squares[j] += apart * apart
    return step, -(-X.shape[0] // step)


@kernel
def find_centre(X, centre, squares):
    """`centre` becomes the mean of one query's candidates, which have been let in before."""
    _, n = add_candidates(X, centre, squares)
    for j in range(X.shape[1]):
        centre[j] = centre[j] / n + np.float64(X[0, j])
