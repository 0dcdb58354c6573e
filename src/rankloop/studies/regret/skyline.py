"""The skyline: the linear ranker that somebody who was told every grade would have used from the first page on.

It minimises, over the training queries with something relevant, the mean cross entropy between the gains of a query's
documents and the softmax of their scores,

    −Σ_d p_d log softmax(w·x)_d,   p ∝ 2^grade − 1,   plus 1e-4 ‖w‖²,

by L-BFGS from zeros to a gradient norm of 1e-6. It is convex, so everybody finds the same one. Other fits would move
it, and every ratio of regrets with it: so it is printed beside them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rankloop.data.collection import Split
from rankloop.evaluation import measured

RIDGE = 1e-4
TOLERANCE = 1e-6
_MOST_STEPS = 100_000

_Array = NDArray[np.float64]


class Fitted(NamedTuple):
    """Weights, and the norm of the gradient there."""

    weights: _Array
    gradient_norm: float


class GradedQueries(NamedTuple):
    """The documents of the queries that have something relevant, and the share of the gain that each has."""

    features: _Array
    shares: _Array
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, split: Split) -> "GradedQueries":
        """Those of a split that have something relevant."""
        rows = split.arrays
        gains = np.exp2(rows.grades.astype(np.float64)) - 1.0
        sizes = np.diff(rows.offsets)
        total = np.repeat(np.add.reduceat(gains, rows.offsets[:-1]), sizes)
        kept = total > 0
        sizes = sizes[kept[rows.offsets[:-1]]]
        shares = gains[kept] / total[kept]
        return cls(rows.features[kept].astype(np.float64), shares, np.cumsum(sizes) - sizes, sizes)

    def loss(self, weights: _Array) -> tuple[float, _Array]:
        """What is minimised, and its gradient."""
        scores = self.features @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes)
        grown = np.exp(scores)
        mass = np.add.reduceat(grown, self.starts)
        queries = len(self.sizes)
        loss = (np.log(mass).sum() - self.shares @ scores) / queries + RIDGE * weights @ weights
        slope = (grown / np.repeat(mass, self.sizes) - self.shares) @ self.features
        return float(loss), slope / queries + 2.0 * RIDGE * weights


def fit(split: Split) -> Fitted:
    """The skyline's weights on a split.

    >>> split = Split.of(features=[[0.0], [1.0]], grades=[0, 1], queries=[1, 1])
    >>> bool(fit(split).weights[0] > 3)
    True
    """
    graded, features = GradedQueries.of(split), split.features.shape[1]
    if not len(graded.sizes):
        return Fitted(np.zeros(features), 0.0)
    # The method stops at the largest entry of the gradient.
    options = {"gtol": TOLERANCE / np.sqrt(features), "ftol": 0.0, "maxcor": 30}
    options |= {"maxiter": _MOST_STEPS, "maxfun": _MOST_STEPS}
    found = optimize.minimize(graded.loss, np.zeros(features), jac=True, method="L-BFGS-B", options=options)
    return Fitted(found.x, float(np.linalg.norm(found.jac)))


def value_of(weights: _Array, split: Split, page_size: int) -> float:
    """The mean nDCG of a ranker on a split, at the page's end; a query with nothing relevant counts 0, as online."""
    return float(measured(weights, split, f"ndcg@{page_size}").means("zero")[0, 0])
