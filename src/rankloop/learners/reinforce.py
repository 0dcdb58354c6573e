"""REINFORCE on a page: what ROLTR and MDPRank share once rewards are known.

g = Σ_t G_t ∇ log π(a_t | s_t), the softmax over all remaining candidates; one step θ ← θ + α g per impression,
with all policies at the same θ (Algorithm 1).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import whole_blocks
from rankloop.learners.contract import Work
from rankloop.policies.plackett_luce import draw_page, log_remaining, policy_gradient
from rankloop.rankers.contract import ascend


class ReinforceWork(NamedTuple):
    """The common scratch, and two rows of moments per feature for the gradient's variance."""

    base: Work
    moments: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "ReinforceWork":
        """Scratch for so many features, ranks and candidates."""
        return cls(Work.of(features, page_size, candidates), np.zeros((2, features)))


in_blocks = kernel(whole_blocks)


@kernel
def scale_scores(base, n, temperature):
    """z = s/T in float64, for the first n candidates."""
    z = base.z[:n]
    for i in range(n):
        z[i] = np.float64(base.scores[i]) / temperature
    return z


@kernel
def show_plackett_luce(base, temperature, n, seed, impression, page):
    """Draw the page from the policy, given the scores in the work space."""
    scale_scores(base, n, temperature)
    room = in_blocks(n)
    draw_page(base.z[:room], n, seed, impression, base.keys[:room], page)


@kernel
def ascend_returns(ranker, work, X, page, temperature, rate, measure):
    """One update from the returns in `work.base.returns`, which are used up; the gradient's variance if asked for."""
    n, k = X.shape[0], page.size
    base = work.base
    z = scale_scores(base, n, temperature)
    gradient = base.gradient[: in_blocks(n)]
    returns, remaining = base.returns[:k], base.remaining[: k + 1]
    variance = np.nan
    if measure:
        mean, total = work.moments[0], work.moments[1]
        variance = step_variance(X, z, page, returns, temperature, gradient, remaining, mean, total)
    policy_gradient(z, page, returns, temperature, remaining, gradient)
    ascend(ranker, X, gradient, rate, base.slope)
    return variance


@kernel
def decayed(rate, decay, floor):
    """The learning rate after one more update."""
    return max(rate * decay, floor) if rate > floor else rate


@kernel
def step_variance(X, z, page, returns, temperature, scratch, remaining, mean, total):
    """The trace of the population variance, over ranks, of the vectors G_t ∇ log π(a_t | s_t) (RQ1).

    The expected features m_t under the policy at step t are built from the bottom of the page up:
    m_t = exp(L_{t+1} − L_t) m_{t+1} + exp(z_t − L_t) x_t. All exponents are ≤ 0. `mean` and `total` are float64
    scratch, one value per feature.
    """
    k, features = page.size, mean.size
    largest = log_remaining(z, page, scratch, remaining)
    mean[:] = 0.0
    if largest > -np.inf:
        norm = np.exp(largest - remaining[k])
        for i in range(z.size):
            if scratch[i] > 0.0:
                for j in range(features):
                    mean[j] += scratch[i] * norm * X[i, j]
    total[:] = 0.0
    squares = 0.0
    for t in range(k - 1, -1, -1):
        keep = np.exp(remaining[t + 1] - remaining[t])
        own = np.exp(z[page[t]] - remaining[t])
        weight = returns[t] / temperature
        for j in range(features):
            x = X[page[t], j]
            mean[j] = keep * mean[j] + own * x
            g = weight * (x - mean[j])
            total[j] += g
            squares += g * g
    between = 0.0
    for j in range(features):
        between += total[j] * total[j]
    return squares / k - between / (k * k)
