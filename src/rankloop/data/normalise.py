"""Per-query min–max normalisation, the field's habit for features with raw scales.

    x' = (x − min) / (max − min),   min and max over all the query's candidates, feature by feature

A feature that is constant within a query becomes 0. Computed in float64, because some collections
hold sentinels near ±1.797e308, where even max − min overflows; kept as float32.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel


def normalise(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Raw values (documents, features) brought to [0, 1] in float32.

    Query q owns rows offsets[q] … offsets[q + 1] − 1.

    >>> normalise(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]), np.array([0, 3])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    >>> normalise(np.array([[-1.797e308], [0.0], [1.797e308]]), np.array([0, 3])).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    out = np.empty(values.shape, np.float32)
    normalise_into(np.ascontiguousarray(values, np.float64), offsets, out)
    return out


@kernel
def normalise_into(values, offsets, out):
    """The same for the first columns of a wider array; `out` says how many."""
    columns = out.shape[1]
    low, span, scale = np.empty(columns), np.empty(columns), np.empty(columns)
    for q in range(offsets.size - 1):
        begin, end = offsets[q], offsets[q + 1]
        if begin == end:
            continue
        for j in range(columns):
            low[j] = values[begin, j]
            span[j] = low[j]
        for row in range(begin + 1, end):
            for j in range(columns):
                value = values[row, j]
                low[j] = value if value < low[j] else low[j]
                span[j] = value if value > span[j] else span[j]
        for j in range(columns):
            # Halving is exact for numbers this large, and half of the span is always finite.
            scale[j] = 1.0 if np.isfinite(span[j] - low[j]) else 0.5
            low[j] *= scale[j]
            span[j] = span[j] * scale[j] - low[j]
            if span[j] == 0.0:
                span[j] = 1.0
        for row in range(begin, end):
            for j in range(columns):
                out[row, j] = (values[row, j] * scale[j] - low[j]) / span[j]
