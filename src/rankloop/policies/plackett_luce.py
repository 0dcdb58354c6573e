"""Plackett–Luce: documents are drawn one after the other, each with softmax(s/T) over what remains.

This is the paper's policy π (Eq. 2): the state is the set of remaining candidates, the action picks one.
Everything is computed from L_t = log Σ exp(s/T) over what remains at step t, built from the bottom of the page
up by log-add-exp: first the documents not shown, then the page from last to first. Subtracting from the top
down would cancel to zero, and plain sums of exponentials underflow.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp, log, whole_blocks
from rankloop.kernels.draws import POLICY, stream_key, uniform
from rankloop.kernels.selection import LOWEST, sortable64, take_largest
from rankloop.metrics import MAX_GRADE
from rankloop.settings import require_number, require_seed, require_whole_number


def sample(
    scores: ArrayLike,
    size: int = 10,
    *,
    seed: int,
    impression: int = 0,
    temperature: float = 1.0,
) -> NDArray[np.int64]:
    """Draw a page of `size` documents (indices into `scores`, best first).

    >>> sample([0.0, 50.0, 100.0], size=2, seed=1)
    array([2, 1])
    """
    z = checked_scores(scores, temperature)
    seed = require_seed("sample", seed)
    size = require_whole_number("sample", "size", size, at_least=1)
    impression = require_whole_number("sample", "impression", impression)
    page = np.empty(min(size, len(z)), np.int64)
    padded = np.zeros(whole_blocks(len(z)))
    padded[: len(z)] = z
    draw_page(padded, len(z), np.uint64(seed), impression, np.empty(len(padded), np.int64), page)
    return page


def log_probability(scores: ArrayLike, page: ArrayLike, temperature: float = 1.0) -> float:
    """log P(page): the sum over steps of s_d/T − L_t.

    >>> round(log_probability([0.0, 0.0, 0.0], page=[2, 0]), 4) == round(math.log(1 / 6), 4)
    True
    """
    z = checked_scores(scores, temperature)
    return page_log_probability(z, checked_page(page, len(z)))


def page_log_probability(scores: NDArray[Any], page: NDArray[np.int64], temperature: float = 1.0) -> float:
    """The same for arrays that are known to be right: what each page of a service is logged with."""
    return float(_log_probability(scores, page, temperature, np.empty(whole_blocks(len(scores)))))


def probability(scores: ArrayLike, page: ArrayLike, temperature: float = 1.0) -> float:
    """P(page) under the policy.

    >>> round(probability([0.0, 0.0, 0.0], page=[2, 0]), 6)
    0.166667
    """
    return math.exp(log_probability(scores, page, temperature))


def score_gradient(
    scores: ArrayLike, page: ArrayLike, returns: ArrayLike, temperature: float = 1.0
) -> NDArray[np.float64]:
    """d/ds Σ_t G_t log π(a_t | s_t): one value per candidate.

    >>> score_gradient([0.0, 0.0], page=[1], returns=[1.0])
    array([-0.5,  0.5])
    """
    z = checked_scores(scores, temperature)
    shown = checked_page(page, len(z))
    weights = checked_returns(returns, len(shown))
    gradient, remaining = np.empty(whole_blocks(len(z))), np.empty(len(shown) + 1)
    policy_gradient(z, shown, weights, temperature, remaining, gradient)
    return gradient[: len(z)]


def checked_scores(scores: ArrayLike, temperature: float = 1.0) -> NDArray[np.float64]:
    """s/T in float64; anything but a list of finite numbers is refused."""
    require_number("policy", "temperature", temperature, above=0)
    try:
        z = np.array(scores, dtype=np.float64, ndmin=1) / temperature
    except (TypeError, ValueError):
        raise SettingsError(f"scores must be a list of finite numbers; got {scores!r}") from None
    if z.ndim != 1 or z.size == 0 or not np.isfinite(z).all():
        raise SettingsError("scores must be a list of at least one finite number")
    return z


def checked_page(page: ArrayLike, candidates: int) -> NDArray[np.int64]:
    """The page as an array of different indices into the candidates; anything else is refused."""
    shown = np.array(page, ndmin=1)
    fits = shown.dtype.kind in "iu" and shown.ndim == 1 and len(set(shown.tolist())) == len(shown) > 0
    if not fits or shown.min() < 0 or shown.max() >= candidates:
        raise SettingsError(
            f"page must hold different indices from 0 to {candidates - 1}, at least one; got {shown.tolist()}"
        )
    return shown.astype(np.int64)


def checked_returns(returns: ArrayLike, shown: int, name: str = "returns") -> NDArray[np.float64]:
    """One finite number per shown document; anything else is refused."""
    try:
        values = np.array(returns, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        raise SettingsError(f"{name} must be numbers, one per shown document; got {returns!r}") from None
    if values.shape != (shown,):
        raise SettingsError(f"{name} must have one value per shown document: {shown}; got {values.size}")
    if not np.isfinite(values).all():
        raise SettingsError(f"{name} must be finite; got {values.tolist()}")
    return values


def checked_clicks(clicks: ArrayLike, shown: int) -> NDArray[np.float64]:
    """One value in [0, 1] per shown document; anything else is refused."""
    values = checked_returns(clicks, shown, "clicks")
    if values.min() < 0 or values.max() > 1:
        raise SettingsError(f"clicks must lie between 0 and 1; got {values.tolist()}")
    return values


def checked_grades(grades: ArrayLike, shown: int) -> NDArray[np.float64]:
    """One whole number from 0 to 30 per shown document; anything else is refused."""
    values = checked_returns(grades, shown, "grades")
    if not np.isin(values, np.arange(MAX_GRADE + 1)).all():
        raise SettingsError(f"grades must be whole numbers from 0 to {MAX_GRADE}; got {values.tolist()}")
    return values


@kernel
def draw_page(z, n, seed, impression, keys, page):
    """Sample K of n without replacement by perturbed scores (Gumbel top-K): the same distribution, in O(n).

    `z` and `keys` are as long as whole blocks; what lies beyond n is computed and ignored, since a vector costs less
    than a tail of single elements.
    """
    key = stream_key(seed, POLICY, impression)
    for i in range(keys.size):
        keys[i] = sortable64(z[i] - log(-log(uniform(key, i))))
    keys[n:] = LOWEST
    take_largest(keys, page)


@kernel
def log_remaining(z, page, scratch, remaining):
    """L_t for t = 0 … K: the log-sum over what remains before step t; L_K is over those not shown.

    `scratch`, as long as whole blocks, is left with exp(z − largest not shown) for the documents not shown and 0 for
    all others. Returns that largest score (−∞ where everything is shown).
    """
    n, k = z.size, page.size
    scratch[:n] = z
    scratch[n:] = -math.inf
    for d in page:
        scratch[d] = -math.inf
    largest = _largest(scratch)
    shift = largest if largest > -math.inf else 0.0
    for i in range(scratch.size):
        scratch[i] = exp(scratch[i] - shift)
    # What remains is e^top · total, so that neither large nor small scores leave the range of a float.
    top, total = largest, _total(scratch)
    remaining[k] = top + log(total) if total > 0.0 else -math.inf
    for t in range(k - 1, -1, -1):
        own = z[page[t]]
        higher = max(top, own)
        total = total * exp(top - higher) + exp(own - higher)
        top = higher
        remaining[t] = top + log(total)
    return largest


@kernel
def _log_probability(scores, page, temperature, scratch):
    z = scores.astype(np.float64) / temperature
    remaining = np.empty(page.size + 1)
    log_remaining(z, page, scratch, remaining)
    total = 0.0
    for t in range(page.size):
        total += z[page[t]] - remaining[t]
    return total


@kernel
def policy_gradient(z, page, returns, temperature, remaining, gradient):
    """The gradient of Σ_t G_t log π(a_t | s_t) with respect to the scores, in one pass whatever the page's size.

    With A_0 = G_0 and A_t = A_{t−1} exp(L_t − L_{t−1}) + G_t, the document shown at t gets
    (G_t − exp(z_d − L_t) A_t)/T and one not shown −exp(z_d − L_last) A_last/T. Every exponent is ≤ 0.
    `returns` is used up; `gradient` is as long as whole blocks, and 0 beyond the candidates.
    """
    largest = log_remaining(z, page, gradient, remaining)
    carried = 0.0
    for t in range(page.size):
        if t > 0:
            carried *= exp(remaining[t] - remaining[t - 1])
        carried += returns[t]
        returns[t] -= exp(z[page[t]] - remaining[t]) * carried
    not_shown = -carried * exp(largest - remaining[page.size - 1]) / temperature
    for i in range(gradient.size):
        gradient[i] *= not_shown
    for t in range(page.size):
        gradient[page[t]] = returns[t] / temperature


@kernel
def _largest(values):
    a = b = c = d = -math.inf
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        a = max(a, values[i])
        b = max(b, values[i + 1])
        c = max(c, values[i + 2])
        d = max(d, values[i + 3])
    for i in range(whole, values.size):
        a = max(a, values[i])
    return max(max(a, b), max(c, d))


@kernel
def _total(values):
    a = b = c = d = 0.0
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(whole, values.size):
        a += values[i]
    return (a + c) + (b + d)


@kernel
def remaining_without(own, kept, lower, rest):
    """rest[t]: the share of the remaining mass at step t that is not the document shown at `lower`, t ≤ lower.

    From the bottom up, adding only: one minus that document's share would cancel when it holds almost everything.
    """
    rest[lower] = kept[lower]
    for t in range(lower - 1, -1, -1):
        rest[t] = rest[t + 1] * kept[t] + own[t]


@kernel
def swap_weight(z, page, remaining, rest, upper, lower):
    """ρ = P(R*)/(P(R) + P(R*)) for the page with two documents swapped.

    Only the denominators of the steps between differ: there the lower document's mass is replaced by the upper
    one's, P(R)/P(R*) = Π (e^{s_upper} + rest)/(e^{s_lower} + rest). All factors lie on the same side of 1, so the
    product may run to 0 or ∞ but never to 0·∞.
    """
    ratio = 1.0
    for t in range(upper + 1, lower + 1):
        ratio *= exp(z[page[upper]] - remaining[t]) + rest[t]
    return 1.0 / (1.0 + ratio)
