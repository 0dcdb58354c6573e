"""Examination from logs of policies that nobody knows: documents that were shown at several ranks for the same query.

Rankings change, and with them the ranks of the same documents. For a query's document that was seen at ranks k and k',
attraction is the same at both, so how often it was clicked differs by examination alone (and by chance). Two ways to
put that together:

    chain      θ_{k+1}/θ_k = Σ click-through at k + 1 ÷ Σ click-through at k, over documents seen at both; then along
    all pairs  maximise Σ_{k ≠ k'} ĉ log(p_k r_kk') + (1 − ĉ) log(1 − p_k r_kk'), r symmetric (Agarwal et al., 2019)

All pairs waste nothing and are the better choice; the chain is what can be checked by hand.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError

Array = NDArray[np.float64]


class Harvest(NamedTuple):
    """Click-through of documents seen at several ranks, summed over query–document pairs.

    Attributes:
        clicked: [k, k']: at rank k, of those seen at k and k'.
        skipped: the same for no click.
        seen: [k, k']: how many pairs were seen at both.
    """

    clicked: Array
    skipped: Array
    seen: NDArray[np.int64]


def harvest(queries: ArrayLike, documents: ArrayLike, ranks: ArrayLike, clicks: ArrayLike) -> Harvest:
    """What can be compared in a log: one entry for each document shown, ranks from 1.

    >>> found = harvest([1, 1, 1, 1], [7, 8, 8, 7], [1, 2, 1, 2], [1, 0, 1, 1])
    >>> found.clicked.tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    columns = [np.asarray(column) for column in (queries, documents, ranks, clicks)]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1 or not len(columns[0]):
        raise SettingsError("harvest: queries, documents, ranks and clicks must be lists of the same length")
    rank, clicked = columns[2].astype(np.int64), columns[3].astype(np.float64)
    if rank.min() < 1:
        raise SettingsError(f"harvest: ranks are counted from 1; got {int(rank.min())}")
    _, query = np.unique(columns[0], return_inverse=True)
    _, document = np.unique(columns[1], return_inverse=True)
    _, pair = np.unique(np.column_stack([query, document]), axis=0, return_inverse=True)
    size = int(rank.max())
    place = pair.reshape(-1) * size + rank - 1
    shown = np.bincount(place, minlength=(pair.max() + 1) * size).reshape(-1, size)
    hit = np.bincount(place, clicked, minlength=shown.size).reshape(-1, size)
    with np.errstate(invalid="ignore"):
        rate = np.where(shown > 0, hit / shown, 0.0)
    there = (shown > 0).astype(np.float64)
    apart = 1.0 - np.eye(size)
    return Harvest(
        (rate.T @ there) * apart, ((there - rate).T @ there) * apart, (there.T @ there * apart).astype(np.int64)
    )


def chain(found: Harvest) -> Array:
    """θ relative to rank 1 by neighbours alone; NaN from the first pair of neighbours on that nothing was seen at.

    >>> chain(Harvest(np.array([[0.0, 4.0], [1.0, 0.0]]), np.zeros((2, 2)), np.zeros((2, 2), int))).tolist()
    [1.0, 0.25]
    """
    ranks = range(len(found.clicked) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.array([found.clicked[k + 1, k] / found.clicked[k, k + 1] for k in ranks])
    return np.cumprod(np.concatenate([[1.0], np.where(np.isfinite(ratios), ratios, np.nan)]))


def all_pairs(found: Harvest) -> Array:
    """θ relative to rank 1 from every pair of ranks; NaN for ranks that share no document with another, and for all
    where nobody clicked at rank 1 on what was seen elsewhere, too."""
    from scipy.optimize import minimize

    size = len(found.clicked)
    upper = np.triu_indices(size, 1)
    linked = found.seen.sum(axis=1) > 0
    if not linked[0] or not found.clicked[0].any():
        return np.full(size, np.nan)

    def loss(x: Array) -> tuple[float, Array]:
        p, r = _sigmoid(x[:size]), np.zeros((size, size))
        r[upper] = _sigmoid(x[size:])
        r += r.T
        q = np.clip(p[:, None] * r, 1e-12, 1 - 1e-12)
        value = -(found.clicked * np.log(q) + found.skipped * np.log1p(-q)).sum()
        slope = -(found.clicked - found.skipped * q / (1 - q))  # of log q
        by_rank = slope.sum(axis=1) * (1 - p)
        by_pair = (slope + slope.T)[upper] * (1 - r[upper])
        # A weak pull to ½ where nothing was seen, so that the search ends.
        return value + 1e-6 * x @ x, np.concatenate([by_rank, by_pair]) + 2e-6 * x

    best = minimize(loss, np.zeros(size + len(upper[0])), jac=True, method="L-BFGS-B", options={"maxiter": 5_000}).x
    p = _sigmoid(best[:size])
    return np.where(linked, p / p[0], np.nan)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))
