"""Features brought to a common scale. A constant feature says nothing: it becomes 0, not a division by zero.

The same for a whole collection, compiled, and safe for sentinels near the largest double: `rankloop.data.normalise`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def min_max(X: NDArray[Any]) -> Array:
    """One query's candidates (candidates, features), each feature brought to [0, 1].

    >>> min_max(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    low = X.min(axis=0)
    return divided(X - low, X.max(axis=0) - low)


def divided(values: ArrayLike, spread: ArrayLike) -> Array:
    """values / spread, and 0 where the spread is 0.

    >>> divided([6.0, 7.0], [2.0, 0.0]).tolist()
    [3.0, 0.0]
    """
    values, spread = np.asarray(values, np.float64), np.asarray(spread, np.float64)
    alive = spread > 0
    return np.where(alive, values / np.where(alive, spread, 1.0), 0.0)
