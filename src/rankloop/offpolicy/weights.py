"""From impressions to evidence: how much more often another policy would have done what was logged.

One impression at a time, `weigh` compares the two policies on the page that was shown; `item_position`,
`examination_model`, `whole_page` and `on_policy` line up the weights of a log with its clicks. What comes out has one
form for all, `Evidence`, and everything after it (estimates, intervals, refusals) is the same for all.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import DataError, SettingsError
from rankloop.offpolicy.positions import SOFTMAX, Policy, page_log_probability, position_probabilities
from rankloop.policies.plackett_luce import checked_page, checked_returns

Array = NDArray[np.float64]


class Weights(NamedTuple):
    """One impression: how the new policy compares with the logged one. Arrays have one value per shown document.

    `examined` and `gains` are the θ and g that the weights were made with.
    """

    item_position: Array
    examination: Array
    page: float
    examined: Array
    gains: Array


class Evidence(NamedTuple):
    """A weighted log: `weights` and `rewards` are (impressions, columns), 0 beyond the end of a short page.

    An impression's contribution is Σ_k w_k r_k. `mass` says how much a weight counts when weights are averaged, and
    `expected` what Σ mass · weight comes to on average if the log is what it claims to be; both have the shape of
    `weights`. Where `by_column`, that holds for every column alone, otherwise for their sum.
    """

    name: str
    weights: Array
    rewards: Array
    mass: Array
    expected: Array
    by_column: bool


def weigh(
    logged_scores: ArrayLike,
    new_scores: ArrayLike,
    page: ArrayLike,
    *,
    examination: ArrayLike,
    logged: Policy = SOFTMAX,
    new: Policy = SOFTMAX,
    gains: ArrayLike | None = None,
) -> Weights:
    """Compare two policies, μ (logged) and π (new), on one page that μ drew.

        item-position    π(d_k at k) / μ(d_k at k)
        examination      Σ_j g_j θ_j π(d_k at j) / Σ_j θ_j μ(d_k at j)
        page             π(page) / μ(page)

    `examination` is θ, the assumed probability of examination, and `gains` is g, the value of a click (1 unless
    given), both one per rank of the page.

    >>> same = weigh([2.0, 1.0, 0.0], [2.0, 1.0, 0.0], page=[0, 2], examination=[1.0, 0.5])
    >>> same.item_position, same.examination, same.page
    (array([1., 1.]), array([1., 1.]), 1.0)
    >>> from rankloop.offpolicy import Greedy
    >>> weigh([0.0, 0.0], [5.0, 1.0], page=[0, 1], examination=[1.0, 0.5], new=Greedy()).page
    2.0
    """
    shown = checked_page(page, np.size(logged_scores))
    if np.size(new_scores) != np.size(logged_scores):
        raise SettingsError(
            f"weigh: new_scores must score the same {np.size(logged_scores)} candidates as logged_scores; "
            f"got {np.size(new_scores)}"
        )
    theta = _per_rank(examination, len(shown), "examination", at_most=1.0)
    g = _per_rank(np.ones(len(shown)) if gains is None else gains, len(shown), "gains")
    ranks = np.arange(len(shown))
    mu = position_probabilities(logged_scores, len(shown), logged, shown)
    pi = position_probabilities(new_scores, len(shown), new, shown)
    log_mu = page_log_probability(logged_scores, shown, logged)
    _check_could_be_shown(mu[ranks, ranks], log_mu, shown)
    seen, would_be_seen = mu @ theta, pi @ (g * theta)
    return Weights(
        item_position=pi[ranks, ranks] / mu[ranks, ranks],
        # A document that nobody could have seen tells nothing; the missing weight shows in the mean of all.
        examination=np.divide(would_be_seen, seen, out=np.zeros(len(shown)), where=seen > 0),
        page=math.exp(min(page_log_probability(new_scores, shown, new) - log_mu, 700.0)),
        examined=theta,
        gains=g,
    )


def item_position(weights: Sequence[Weights], clicks: Sequence[ArrayLike]) -> Evidence:
    """Σ_k g_k c_k · π(d_k at k)/μ(d_k at k) (Li et al., 2018).

    Unbiased when a click depends on the document and its rank alone, whatever the examination.

    >>> log = [weigh([0.0, 0.0], [1.0, 0.0], page=[0, 1], examination=[1.0, 0.5])]
    >>> item_position(log, [[1, 0]]).rewards
    array([[1., 0.]])
    """
    rewards = [w.gains * c for w, c in _matched(weights, clicks)]
    ones = _padded([np.ones(len(w.gains)) for w in weights])
    return Evidence("item-position", _padded([w.item_position for w in weights]), _padded(rewards), ones, ones, True)


def examination_model(weights: Sequence[Weights], clicks: Sequence[ArrayLike]) -> Evidence:
    """Σ_k c_k · E_π[gθ of d_k]/E_μ[θ of d_k]: a document's clicks count, wherever it was shown.

    Unbiased when people follow the position-based model with the assumed θ (up to a factor); it borrows evidence
    across ranks, so its intervals tend to be the narrowest.
    """
    rewards = [c for _, c in _matched(weights, clicks)]
    mass, expected = _padded([w.examined for w in weights]), _padded([w.examined * w.gains for w in weights])
    used = _padded([w.examination for w in weights])
    return Evidence("examination model", used, _padded(rewards), mass, expected, False)


def whole_page(weights: Sequence[Weights], clicks: Sequence[ArrayLike]) -> Evidence:
    """Σ_k g_k c_k · π(page)/μ(page): unbiased for any user, and useless for all but the most similar policies."""
    rewards = np.array([[float(w.gains @ c)] for w, c in _matched(weights, clicks)])
    ones = np.ones_like(rewards)
    return Evidence("whole page", np.array([[w.page] for w in weights]), rewards, ones, ones, True)


def on_policy(clicks: Sequence[ArrayLike], gains: ArrayLike | None = None) -> Evidence:
    """What the logged policy itself earned: every weight is 1.

    >>> on_policy([[1, 0], [0, 1]], gains=[1.0, 0.5]).rewards.ravel()
    array([1. , 0.5])
    """
    if len(clicks) == 0:
        raise DataError("on_policy: there are no impressions; a log of at least one is needed")
    checked = [checked_returns(c, np.size(c), "clicks") for c in clicks]
    g = np.ones(max(len(c) for c in checked)) if gains is None else np.array(gains, dtype=np.float64, ndmin=1)
    if any(len(c) > len(g) for c in checked):
        raise SettingsError(f"on_policy: gains are given for {len(g)} ranks, but a page shows more; give one per rank")
    rewards = np.array([[float(g[: len(c)] @ c)] for c in checked])
    ones = np.ones_like(rewards)
    return Evidence("on-policy", ones, rewards, ones, ones, True)


def evidence(name: str, weights: ArrayLike, rewards: ArrayLike) -> Evidence:
    """Evidence from plain lists, for logs with one decision per row: a weight π/μ and a reward each.

    >>> evidence("mine", weights=[0.5, 2.0], rewards=[0, 1]).weights.shape
    (2, 1)
    """
    w, r = (np.array(values, dtype=np.float64, ndmin=1) for values in (weights, rewards))
    if w.ndim != 1 or w.shape != r.shape or len(w) == 0:
        raise DataError(f"evidence: one weight and one reward per row are needed; got shapes {w.shape} and {r.shape}")
    if not (np.isfinite(w).all() and np.isfinite(r).all() and w.min() >= 0):
        raise DataError("evidence: weights must be finite numbers, at least 0, and rewards finite numbers")
    ones = np.ones((len(w), 1))
    return Evidence(name, w[:, None], r[:, None], ones, ones, True)


def _check_could_be_shown(at_own_rank: Array, log_page: float, shown: NDArray[np.int64]) -> None:
    if not at_own_rank.min() > 0 or log_page == -math.inf:
        rank = int(at_own_rank.argmin())
        raise DataError(
            f"weigh: document {shown[rank]} was shown at rank {rank + 1}, where the logged policy never puts it; "
            f"logged_scores and the logged policy must be those that drew the page"
        )


def _per_rank(values: ArrayLike, ranks: int, name: str, at_most: float = math.inf) -> Array:
    numbers = np.array(values, dtype=np.float64, ndmin=1)
    fits = numbers.shape == (ranks,) and np.isfinite(numbers).all() and numbers.min() >= 0 and numbers.max() <= at_most
    if not fits:
        allowed = "probabilities" if at_most == 1 else "finite numbers, at least 0"
        raise SettingsError(f"weigh: {name} must be {allowed}, one per rank of the page ({ranks}); got {values!r}")
    return numbers


def _matched(weights: Sequence[Weights], clicks: Sequence[ArrayLike]) -> list[tuple[Weights, Array]]:
    if len(weights) != len(clicks) or len(weights) == 0:
        raise DataError(
            f"one list of clicks per impression is needed, at least one; "
            f"got {len(weights)} impressions and {len(clicks)} lists of clicks"
        )
    return [(w, checked_returns(c, len(w.gains), "clicks")) for w, c in zip(weights, clicks, strict=True)]


def _padded(rows: Sequence[Array]) -> Array:
    filled = np.zeros((len(rows), max(len(row) for row in rows)))
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled
