"""Order without sorting: floats as integers that sort the same way, and the few largest of many.

Whole-number comparisons vectorise where comparisons of floats do not (NaN forbids it), and a pass that never branches
on the data is faster than an insertion that guesses wrong at every other document.
"""

import numpy as np

from rankloop.kernels.arithmetic import as_int32, as_int64
from rankloop.kernels.compiler import kernel

LOWEST = np.iinfo(np.int64).min


@kernel
def sortable64(x):
    """An int64 that sorts like the float64."""
    pattern = as_int64(x)
    return pattern ^ ((pattern >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


@kernel
def sortable32(x):
    """An int32 that sorts like the float32; −0 and 0 are equal."""
    pattern = as_int32(x + np.float32(0.0))
    return pattern ^ ((pattern >> np.int32(31)) & np.int32(0x7FFFFFFF))


@kernel
def take_largest(keys, chosen):
    """Fill `chosen` with the indices of the largest keys, largest first. The keys are used up."""
    for t in range(chosen.size):
        largest = keys[0]
        for i in range(keys.size):
            largest = max(largest, keys[i])
        place = 0
        for i in range(keys.size):
            place = max(place, i if keys[i] == largest else 0)
        chosen[t] = place
        keys[place] = LOWEST
