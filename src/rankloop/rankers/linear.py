"""The linear ranker f(x) = w·x, without bias: the paper's ranking model.

Weights are kept in float64, so that a million small steps add up, and rounded to float32 once per update for
scoring, where the features are float32 as well.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.arithmetic import add_four_rows, dot, fma32
from rankloop.kernels.draws import INITIAL, fill_normals, stream_key
from rankloop.kernels.matrix import multiply_into, padded
from rankloop.rankers.contract import Ranker, ascend, score, score_several
from rankloop.settings import require_choice

INITIALS = ("zeros", "direction", "truncated-normal")
DIRECTION_NORM = 0.01


class Linear(Ranker, frozen=True):
    """f(x) = w·x."""

    def parameters(self, initial: str, features: int, seed: int, weights: ArrayLike | None = None) -> "LinearWeights":
        """The weights that a learner begins with: given ones, or by the rule named `initial`."""
        return LinearWeights.of(starting_weights(initial, features, seed, weights))

    def several(self, weights: NDArray[np.float64], features: int) -> "LinearColumns":
        """Many linear rankers, as columns."""
        W = weights.astype(np.float32)
        if W.shape[1] != features or not np.isfinite(W).all():
            kind = "; if they are of another ranker, give it as ranker=…" if W.shape[1] > features else ""
            raise SettingsError(
                f"weights must be finite, one per feature ({features}); got shape {weights.shape}{kind}"
            )
        columns = np.zeros((features, padded(len(W))), np.float32)
        columns[:, : len(W)] = W.T
        return LinearColumns(columns)


LINEAR = Linear()


class LinearWeights(NamedTuple):
    """(features,) weights, and the same rounded for scoring."""

    weights: NDArray[np.float64]
    rounded: NDArray[np.float32]

    @classmethod
    def of(cls, weights: ArrayLike) -> "LinearWeights":
        """A linear ranker with these weights."""
        values = np.array(weights, dtype=np.float64)
        return cls(values, values.astype(np.float32))


class LinearColumns(NamedTuple):
    """(features, rankers) weights, in whole lanes."""

    columns: NDArray[np.float32]


def starting_weights(initial: str, features: int, seed: int, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """The weights that a learner begins with: given ones, or by the rule named `initial`.

    `zeros`; `direction`: a random direction of norm 0.01; `truncated-normal`: the authors' code, standard
    deviation 0.1/√F, redrawn beyond two of them.

    >>> float(np.linalg.norm(starting_weights("direction", features=3, seed=1)).round(6))
    0.01
    """
    if weights is not None:
        given = np.array(weights, dtype=np.float64)
        if given.shape != (features,) or not np.isfinite(given).all():
            raise SettingsError(f"weights must be {features} finite numbers, one per feature; got {_shape(given)}")
        return given
    require_choice("learner", "initial", initial, INITIALS)
    if initial == "zeros":
        return np.zeros(features)
    # Twenty draws for each weight leave nobody without one inside two standard deviations.
    normals = np.empty((20, features), np.float32)
    fill_normals(np.uint64(stream_key(np.uint64(seed), INITIAL, 0)), normals.reshape(-1))
    if initial == "direction":
        first = normals[0].astype(np.float64)
        return DIRECTION_NORM * first / np.linalg.norm(first)
    inside = np.abs(normals) < 2.0
    chosen = np.take_along_axis(normals, inside.argmax(axis=0)[None, :], axis=0)[0]
    return chosen.astype(np.float64) * 0.1 / math.sqrt(features)


def _shape(given: NDArray[np.float64]) -> str:
    return f"shape {given.shape}" if np.isfinite(given).all() else "a value that is not finite"


@implements(score, LinearWeights)
@kernel
def score_linear(ranker, X, scores):
    """s_i = Σ_j x_ij w_j."""
    for i in range(X.shape[0]):
        scores[i] = dot(X[i], ranker.rounded)


@implements(score_several, LinearColumns)
@kernel
def score_linear_columns(rankers, X, scores):
    """S = X W, all rankers in one pass over the rows."""
    scores[:] = 0.0
    multiply_into(X, rankers.columns, scores)


@implements(ascend, LinearWeights)
@kernel
def ascend_linear(ranker, X, score_gradient, step, slope):
    """w ← w + step · Xᵀ g, four rows at a time; four rows that all have gradient 0 are not read.

    `slope` is scratch with room for whole lanes of features.
    """
    slope[:] = 0.0
    n = X.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        a, b = np.float32(score_gradient[i]), np.float32(score_gradient[i + 1])
        c, d = np.float32(score_gradient[i + 2]), np.float32(score_gradient[i + 3])
        if a != 0 or b != 0 or c != 0 or d != 0:
            add_four_rows(X, i, a, b, c, d, slope)
    for i in range(whole, n):
        a = np.float32(score_gradient[i])
        for j in range(X.shape[1]):
            slope[j] = fma32(a, X[i, j], slope[j])
    take_step(ranker, slope, step)


@kernel
def take_step(ranker, direction, step):
    """w ← w + step · direction, and the rounded weights follow."""
    for j in range(ranker.weights.size):
        moved = ranker.weights[j] + step * direction[j]
        ranker.weights[j] = moved
        ranker.rounded[j] = np.float32(moved)
