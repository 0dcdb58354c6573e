"""What a page's clicks say for each feature: where they fell, less where they would have fallen by rank alone.

A page's pull for a feature is Σ_k (c_k − C q_k) z_k: its clicks c, C in all, the usual share q of clicks at each rank,
and the feature's values z in deviations of that page.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Impression

Array = NDArray[np.float64]


def deviations(impression: Impression, precision: str) -> Array:
    """(ranks, features): the page's values, each in deviations from the page's mean; 0 where all are the same."""
    X = impression.matrix(precision)[impression.page].astype(np.float64)
    X -= X[0].copy()  # so that what is the same everywhere is exactly 0, whatever the mean is rounded to
    X -= X.sum(axis=0) / len(X)
    deviation = np.sqrt(np.einsum("kf,kf->f", X, X) / len(X))
    deviation[deviation == 0.0] = 1.0
    X /= deviation
    return X


def usual_shares(total: Array, ranks: int) -> Array:
    """How clicks are spread over the first ranks, from how many there were at each."""
    shares: Array = total[:ranks] / total[:ranks].sum()
    return shares


def pull_of(z: Array, clicks: Array, shares: Array) -> Array:
    """(features,): what clicks say for each feature, if `shares` of them usually fall on each rank."""
    pull: Array = (clicks - clicks.sum() * shares) @ z
    return pull
