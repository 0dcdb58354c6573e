"""What is known about the policy of a learner: its temperature, and how likely it was to draw a page."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels.arithmetic import whole_blocks
from rankloop.learners import DBGD, PMGD, FixedWeights
from rankloop.live.settings import LiveLearner
from rankloop.policies.plackett_luce import log_remaining


def temperature(learner: LiveLearner) -> float | None:
    """T of the Plackett–Luce policy softmax(s/T); None for methods that draw their pages otherwise."""
    if isinstance(learner, (DBGD, PMGD, FixedWeights)):
        return None
    return float(getattr(learner, "temperature", 1.0))


def page_log_probability(scores: NDArray[np.float32], page: NDArray[np.int64], spread: float | None) -> float | None:
    """log π(page | scores) at temperature `spread`; the scores are those of the candidates that were free to be drawn.

    >>> page_log_probability(np.zeros(3, np.float32), np.array([2, 0]), 1.0)
    -1.79175...
    """
    if spread is None:
        return None
    z = scores.astype(np.float64) / spread
    remaining = np.empty(len(page) + 1)
    log_remaining(z, page, np.empty(whole_blocks(len(z))), remaining)
    return float(np.sum(z[page] - remaining[:-1]))


def policy_model(model: Any) -> Any:
    """A copy of a learner's model that ranks as it does now, whatever is learned later."""
    values = {}
    for name, value in model._asdict().items():
        if isinstance(value, np.ndarray):
            values[name] = value.copy()
        elif hasattr(value, "_asdict"):
            values[name] = policy_model(value)
    return model._replace(**values)
