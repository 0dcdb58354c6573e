"""PL-Rank: the gradient of a Plackett–Luce policy's expected metric, from sampled rankings (Oosterhuis, 2021).

The metric is Σ_k λ_k ρ_{y_k}. With S_k the sum of e^m over what is still to be placed at rank k, PR_k the sum of
λ_j ρ_{y_j} over ranks j ≥ k, and r the rank of d (K if it is not shown),

    ∂/∂m_d = E_y[ Σ_{j>r} λ_j ρ_{y_j} (0 if not shown) + e^{m_d} (ρ_d Σ_{k≤r} λ_k/S_k − Σ_{k≤r} PR_k/S_k) ].

Unlike REINFORCE it needs ρ of *every* candidate, and in return each sampled ranking says something about all of them.
Sums of 1/S_k run relative to the last S_k, so every exponent is ≤ 0.
"""

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp, log
from rankloop.kernels.draws import DIRECTIONS, stream_key, uniform
from rankloop.kernels.selection import LOWEST, sortable64, take_largest
from rankloop.policies.plackett_luce import log_remaining


@kernel
def draw_rankings(z, n, seed, impression, keys, scratch, pages, remaining):
    """Draw the rankings of an impression, one in each row of `pages`, and the L_k = log S_k of each.

    `z`, `keys` and `scratch` are as long as whole blocks. The draws are not those that drew the page.
    """
    key = stream_key(seed, DIRECTIONS, impression)
    for s in range(pages.shape[0]):
        for i in range(keys.size):
            keys[i] = sortable64(z[i] - log(-log(uniform(key, s * keys.size + i))))
        keys[n:] = LOWEST
        take_largest(keys, pages[s])
        log_remaining(z[:n], pages[s], scratch, remaining[s])


@kernel
def add_exposure(z, page, remaining, worth, places, exposure):
    """Add Σ_k P(d at k | what stands above) worth_k for every candidate: its expectation is Σ_k π(d at k) worth_k.

    `places` says where each candidate stands on the page, −1 for those not shown.
    """
    last = page.size - 1
    carried = 0.0
    for k in range(page.size):
        if k > 0:
            carried *= exp(remaining[k] - remaining[k - 1])
        carried += worth[k]
        exposure[page[k]] += exp(z[page[k]] - remaining[k]) * carried
    for d in range(z.size):
        if places[d] < 0:
            exposure[d] += exp(z[d] - remaining[last]) * carried


@kernel
def add_rank_gradient(z, page, remaining, discount, rho, places, share, gradient):
    """Add `share` times one ranking's part of the gradient, for every candidate."""
    k_last = page.size - 1
    ahead = 0.0
    for k in range(page.size):
        ahead += discount[k] * rho[page[k]]
    weights, rewards = 0.0, 0.0  # Σ λ_k/S_k and Σ PR_k/S_k up to here, times S_k
    for k in range(page.size):
        if k > 0:
            kept = exp(remaining[k] - remaining[k - 1])
            weights *= kept
            rewards *= kept
        weights += discount[k]
        rewards += ahead
        d = page[k]
        ahead -= discount[k] * rho[d]
        gradient[d] += share * (ahead + exp(z[d] - remaining[k]) * (rho[d] * weights - rewards))
    for d in range(z.size):
        if places[d] < 0:
            gradient[d] += share * exp(z[d] - remaining[k_last]) * (rho[d] * weights - rewards)


@kernel
def note_places(page, places):
    """Where each candidate stands on a page, −1 for those not shown."""
    places[:] = -1
    for k in range(page.size):
        places[page[k]] = k


@kernel
def correct_reward(reward, click, factor, false_clicks, exposure, clip):
    """Doubly robust: what the model says, and what the click says beyond it, over how much d is looked at."""
    return reward + (click - factor * reward - false_clicks) / max(exposure, clip)


@kernel
def sigmoid(x):
    """1/(1 + e^{−x})."""
    e = exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


@kernel
def click_slope(reward, click, factor, false_clicks):
    """d/du of the log-likelihood of a click with probability p = α σ(u) + β, where σ(u) = `reward`."""
    p = min(max(factor * reward + false_clicks, 1e-9), 1.0 - 1e-9)
    return (click - p) / (p * (1.0 - p)) * factor * reward * (1.0 - reward)
