"""A page's clicks, as they would have come had its documents stood at other ranks.

Who looks at rank k with probability θ_k clicks there θ_k times as often as on what they look at. So a document that was
shown at rank r and would have stood at q would have had θ_q/θ_r as many clicks: each of its clicks counts for so much.
The ratio is kept below a bound by moving a document less far, and not by cutting the ratio off, so that rank and clicks
still belong together.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels.arithmetic import exp

MOST = 4.0
"""No click counts for more."""


def clicks_elsewhere(
    clicks: NDArray[np.float64],
    shown: Iterable[int],
    wanted: Iterable[int],
    log_examination: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What clicks are worth at the ranks that are wanted, or as near to them as the bound allows; and these ranks.

    >>> from rankloop.propensities import PowerLaw
    >>> log_examination = np.log(PowerLaw(1.0).at(8))
    >>> clicks, ranks = clicks_elsewhere(np.ones(3), [0, 3, 7], [1, 3, 0], log_examination)
    >>> clicks.round(2).tolist(), ranks.tolist()
    ([0.5, 1.0, 4.0], [1, 3, 1])
    """
    worth, ranks = clicks.copy(), np.zeros(len(clicks), np.int64)
    for place, (here, there) in enumerate(zip(shown, wanted, strict=True)):
        while log_examination[there] - log_examination[here] > math.log(MOST) + 1e-9:
            there += 1 if there < here else -1
        ranks[place] = there
        worth[place] *= exp(log_examination[there] - log_examination[here])
    return worth, ranks
