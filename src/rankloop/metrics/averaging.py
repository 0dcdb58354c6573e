"""From many queries, or many pages, to one number.

A query without any relevant candidate has no nDCG, and no other metric either. Two conventions are in use: leave it out
of a mean (`"skip"`, the default offline), or count it as 0 (`"zero"`, the rule online).
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.settings import require_choice

ONLINE_DISCOUNT = 0.9995

NothingRelevant = Literal["skip", "zero"]


def online_performance(page_values: ArrayLike, discount: float = ONLINE_DISCOUNT) -> float:
    """Σ_i τ^i · nDCG(page i): what the people who were there saw, early impressions counting more.

    With τ = 0.9995 it is 2000 at most. Pages may be measured by any other metric as well.

    >>> round(online_performance([1.0] * 100_000), 3)
    2000.0
    """
    seen = np.asarray(page_values, dtype=np.float64)
    if not np.isfinite(seen).all():
        raise SettingsError("online_performance: every page needs a finite value")
    # Not a dot product: BLAS shares a long one among threads, and the sum's last bits would follow their number.
    return float(np.sum(seen * np.power(discount, np.arange(len(seen)))))


def mean_over_queries(
    per_query: NDArray[np.float64],
    has_relevant: NDArray[np.bool_],
    nothing_relevant: NothingRelevant = "skip",
) -> NDArray[np.float64] | float:
    """The mean over queries (the last axis) under one of the two conventions.

    >>> mean_over_queries(np.array([1.0, 0.0]), np.array([True, False]))
    1.0
    >>> mean_over_queries(np.array([1.0, 0.0]), np.array([True, False]), nothing_relevant="zero")
    0.5
    """
    require_choice("metrics", "nothing_relevant", nothing_relevant, ("skip", "zero"))
    kept = has_relevant if nothing_relevant == "skip" else np.ones(len(has_relevant), bool)
    if not kept.any():
        unknown: NDArray[np.float64] | float = per_query.sum(axis=-1) * math.nan
        return unknown
    # Row by row: the order of a sum, and so its last bit, must not depend on how many rankers are averaged.
    if per_query.ndim == 1:
        return float(per_query[kept].mean())
    return np.array([row[kept].mean() for row in per_query])
