"""The paper's heart: what a click, and the absence of one, is worth at each rank.

With λ_t = 1/log2(t + 2), the assumed propensity p_t of rank t + 1 and the click c_t (Eqs. 6, 8, 9 and 11):

| reward | click      | no click |
|--------|------------|----------|
| naive+ | λ          | 0        |
| naive- | 0          | −λ       |
| ips+   | λ/p        | 0        |
| ips-   | λ(1 − p)/p | −λ       |

`naive+-` and `ips+-` are the sums of two. Naive is IPS with p = 1. If people click what they examine and find
attractive with probability a, then E[Σ ips+] = Σ λ a and E[Σ ips-] = −Σ λ (1 − a), whatever the examination:
that is what "unbiased" means here, and `tests/proofs` shows it by enumeration.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.metrics import discounts
from rankloop.settings import require_choice, require_number

SMALLEST = 1e-300
"""Of propensities: what is divided by less leaves the range of numbers."""
REWARDS = ("naive+", "naive-", "naive+-", "ips+", "ips-", "ips+-")


def reward_table(reward: str, propensities: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a click and no click are worth at each rank: two vectors, one value per rank.

    >>> click, skip = reward_table("ips-", [1.0, 0.5])
    >>> click.round(3), skip.round(3)
    (array([0.   , 0.631]), array([-1.   , -0.631]))
    """
    require_choice("rewards", "reward", reward, REWARDS)
    if reward.startswith("naive"):
        p = np.ones(np.size(propensities))
    else:
        p = _checked(propensities)
    weight = discounts(len(p))
    click, skip = np.zeros_like(p), np.zeros_like(p)
    if "+" in reward:
        click += weight / p
    if "-" in reward:
        click += weight * (1.0 - p) / p
        skip -= weight
    return click, skip


def rewards(reward: str, clicks: ArrayLike, propensities: ArrayLike) -> NDArray[np.float64]:
    """R_t for each rank of a page: c·R_click + (1 − c)·R_no-click, for c = 0 or 1 or anything between.

    >>> rewards("ips+-", clicks=[0, 1], propensities=[1.0, 0.5]).round(3)
    array([-1.   ,  1.893])
    """
    c = np.atleast_1d(np.asarray(clicks, dtype=np.float64))
    if not ((c >= 0.0) & (c <= 1.0)).all():
        raise SettingsError(f"rewards: clicks must lie between 0 and 1; got {c.tolist()}")
    p = np.atleast_1d(np.asarray(propensities, dtype=np.float64))
    if len(p) < len(c):
        raise SettingsError(f"rewards: {len(c)} clicks need as many propensities; got {len(p)}")
    click, skip = reward_table(reward, p[: len(c)])
    return c * click + (1.0 - c) * skip


def _checked(propensities: ArrayLike) -> NDArray[np.float64]:
    p = np.atleast_1d(np.asarray(propensities, dtype=np.float64))
    possible = (p >= SMALLEST) & (p <= 1.0)
    if not possible.all():
        rank = int(np.argmin(possible))
        raise SettingsError(
            f"rewards: the propensity of rank {rank + 1} is {p[rank]}, but rewards divide by it: it must be at "
            f"least {SMALLEST:g} and at most 1 (ROLTR's clip raises small ones)"
        )
    return p


def returns(rewards: ArrayLike, discount: float = 0.0, *, discount_steps: bool = False) -> NDArray[np.float64]:
    """G_t = Σ_{m ≥ t} γ^{m−t} R_m. γ = 0 is the immediate reward, γ = 1 everything that is still to come.

    `discount_steps` multiplies G_t by γ^t, which makes the estimate that of the discounted objective; neither
    the paper nor its authors' code does.

    >>> returns([1.0, 2.0, 4.0], discount=0.5)
    array([3., 4., 4.])
    """
    require_number("returns", "discount", discount, at_least=0, at_most=1)
    result = np.array(rewards, dtype=np.float64, ndmin=1)
    if not np.isfinite(result).all():
        raise SettingsError(f"returns: rewards must be finite; got {result.tolist()}")
    accumulate_returns(result, discount, discount_steps)
    return result


@kernel
def accumulate_returns(values, discount, discount_steps):
    """Turn rewards into returns, in place, from the bottom of the page up."""
    following = 0.0
    for t in range(values.size - 1, -1, -1):
        following = values[t] + discount * following
        values[t] = following
    if discount_steps:
        factor = 1.0
        for t in range(values.size):
            values[t] *= factor
            factor *= discount
