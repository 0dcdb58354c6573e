"""A split small enough to read."""

import numpy as np

from rankloop.data import Split

PARTS = {
    "features": np.arange(6, dtype=np.float32).reshape(3, 2),
    "offsets": np.array([0, 2, 3]),
    "grades": np.array([2, 0, 1], np.uint8),
    "query_ids": np.array([7, 9]),
}
SPLIT = Split(**PARTS)
