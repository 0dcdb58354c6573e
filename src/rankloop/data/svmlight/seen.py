"""Which queries a file has shown so far: a set of 64-bit numbers at some 20 bytes each.

A file larger than memory may hold many millions of queries; Python's own set takes five times
as much.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.draws import mix


class SeenQueries:
    """Query numbers, each of which may come once.

    >>> seen = SeenQueries()
    >>> seen.add(np.array([7, 3]))
    -1
    >>> seen.add(np.array([4, 3, 5]))
    1
    """

    def __init__(self) -> None:
        self.count = 0
        self._slots = np.zeros(1024, np.int64)
        self._taken = np.zeros(1024, np.bool_)

    def add(self, ids: NDArray[np.int64]) -> int:
        """Remember these; the index of the first that was there already, else −1."""
        self.count += len(ids)
        if 2 * self.count > len(self._slots):
            known = self._slots[self._taken]
            size = 1 << (4 * self.count).bit_length()
            self._slots, self._taken = np.zeros(size, np.int64), np.zeros(size, np.bool_)
            _insert(self._slots, self._taken, known)
        return int(_insert(self._slots, self._taken, ids))


@kernel
def _insert(slots, taken, ids):
    last = slots.size - 1
    for i in range(ids.size):
        at = np.int64(mix(np.uint64(ids[i]))) & last
        while taken[at]:
            if slots[at] == ids[i]:
                return i
            at = (at + 1) & last
        slots[at] = ids[i]
        taken[at] = True
    return -1
