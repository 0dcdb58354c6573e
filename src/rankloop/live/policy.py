"""What is known about the policy of a learner: its temperature, and how likely it was to draw a page."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import whole_blocks
from rankloop.learners import DBGD, PMGD, FixedWeights
from rankloop.live.settings import LiveLearner
from rankloop.policies.plackett_luce import log_remaining


def temperature(learner: LiveLearner) -> float | None:
    """T of the Plackett–Luce policy softmax(s/T); None for methods that draw their pages otherwise."""
    if isinstance(learner, (DBGD, PMGD, FixedWeights)):
        return None
    return float(getattr(learner, "temperature", 1.0))


def page_log_probability(
    learner: LiveLearner, work: Any, scores: NDArray[np.float32], page: NDArray[np.int64]
) -> float:
    """log π(page) under the policy that has just drawn it, with the scratch it was drawn in.

    `scores` are those of the candidates that were free to be drawn. Methods that compare rankers tell the probability
    given the rankings compared; fixed weights rank greedily, with each order of equal scores as likely as another.

    >>> page_log_probability(FixedWeights(), None, np.array([1, 1, 2], np.float32), np.array([2, 0]))
    -0.69314...
    """
    match learner:
        case DBGD() | PMGD():
            return learner.page_log_probability(work, page, len(scores))
        case FixedWeights():
            return _greedy(scores, page)
    spread = temperature(learner)
    assert spread is not None, f"{learner.name} must say how likely its pages are"
    return plackett_luce(scores, page, spread)


def plackett_luce(scores: NDArray[np.float32], page: NDArray[np.int64], spread: float) -> float:
    """log π(page | scores) at temperature `spread`.

    >>> plackett_luce(np.zeros(3, np.float32), np.array([2, 0]), 1.0)
    -1.79175...
    """
    return float(_log_probability(scores, page, spread, np.empty(whole_blocks(len(scores)))))


@kernel
def _log_probability(scores, page, spread, scratch):
    z = scores.astype(np.float64) / spread
    remaining = np.empty(page.size + 1)
    log_remaining(z, page, scratch, remaining)
    total = 0.0
    for t in range(page.size):
        total += z[page[t]] - remaining[t]
    return total


def _greedy(scores: NDArray[np.float32], page: NDArray[np.int64]) -> float:
    """Minus the sum, over ranks, of the logarithm of how many equal documents there still were to choose from."""
    equal = [
        (scores == scores[document]).sum() - (scores[page[:t]] == scores[document]).sum()
        for t, document in enumerate(page)
    ]
    return -float(np.log(equal).sum())


def policy_model(model: Any) -> Any:
    """A copy of a learner's model that ranks as it does now, whatever is learned later."""
    values = {}
    for name, value in model._asdict().items():
        if isinstance(value, np.ndarray):
            values[name] = value.copy()
        elif hasattr(value, "_asdict"):
            values[name] = policy_model(value)
    return model._replace(**values)
