"""Search directions for the methods that compare rankers: uniform on the unit sphere, drawn from the counter.

A direction is a function of (seed, impression, candidate), so it is drawn again when the clicks arrive instead of being
stored with the page.
"""

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.draws import DIRECTIONS, fill_normals, stream_key


@kernel
def draw_directions(seed, impression, length, norms, U):
    """Fill U (features, candidates) with one direction of the given length per column."""
    features, candidates = U.shape
    fill_normals(stream_key(seed, DIRECTIONS, impression), U.reshape(-1))
    norms[:] = 0.0
    for j in range(features):
        for c in range(candidates):
            norms[c] += np.float64(U[j, c]) * U[j, c]
    for c in range(candidates):
        norms[c] = length / np.sqrt(norms[c]) if norms[c] > 0.0 else 0.0
    for j in range(features):
        for c in range(candidates):
            U[j, c] *= np.float32(norms[c])


@kernel
def mean_of_winners(U, winners, direction):
    """The mean of the winning columns into `direction`; how many there were."""
    count = 0
    for c in range(winners.size):
        count += winners[c]
    if count > 0:
        for j in range(direction.size):
            total = 0.0
            for c in range(winners.size):
                if winners[c]:
                    total += U[j, c]
            direction[j] = np.float32(total / count)
    return count
