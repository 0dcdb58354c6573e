"""Scaling as part of the model: what happens to raw features before they are scored.

    none     x
    fixed    (x − shift) / spread, given per feature
    query    (x − min) / (max − min) over the query's candidates, as in the paper
    running  (x − mean) / deviation over everything learned from so far and this query, until frozen
    robust   (x − the query's median) / typical deviation within a query, at most 10 either way; settles by itself

A value that lies beyond all that was seen (a timestamp in nanoseconds among seconds) is brought in: to 10 deviations by
`running`, which it would otherwise ruin for good, to 100 by `none` and `fixed`, so that no page throws weights about.
Before enough was seen, a query's own middle half tells what is far.

A constant feature says nothing, so it becomes 0 rather than a division by zero. `robust` is the default: no single
value, however wild, can move it much; after 1,024 pages it never changes again, so that pages are scored and learned
from alike; and but for the bound it is a number per feature, which any search engine can take.
"""

import copy
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.scaling import divided, min_max


class Fixed(msgspec.Struct, frozen=True, tag="fixed", tag_field="kind", forbid_unknown_fields=True):
    """Given numbers, one shift and one spread per feature."""

    shift: tuple[float, ...]
    spread: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.shift) != len(self.spread) or not np.isfinite([*self.shift, *self.spread]).all():
            raise SettingsError("scaling: shift and spread must be finite numbers, as many of one as of the other")
        if min(self.spread, default=0.0) < 0:
            raise SettingsError("scaling: spread must not be negative")


Scaling = Literal["none", "query", "running", "robust"] | Fixed

FARTHEST = 10.0
"""No value counts as further from its query's median than so many typical deviations."""
TAILS = 5.0
"""What lies further from the median than so many deviations of the middle half does not widen a query's deviation."""
FARTHEST_UNSCALED = 100.0
"""The same where values are taken as they come."""
ENOUGH = 100
"""Candidates after which what was seen tells what is far."""
FEW = 10
"""Candidates of whose middle half nothing follows yet."""
FAR_OUT = 1_000.0
"""So many deviations away, a value is a mistake: somebody should know."""
SETTLED = 1_024
"""After so many pages the typical deviations stay as they are."""


class Scaler:
    """Turns raw candidates into what the ranker sees. It knows what it has seen: `count`, `mean`, `m2`, `frozen`. Of
    `robust` these are: pages (`count`), the mean logarithm of a query's deviation (`mean`), of how many queries (`m2`),
    and what was made of them last (`spread`)."""

    def __init__(self, settings: Scaling, features: int) -> None:
        if isinstance(settings, Fixed) and len(settings.shift) != features:
            raise SettingsError(f"scaling: {len(settings.shift)} shifts were given for {features} features")
        self.settings = settings
        self.count = 0.0
        self.mean = np.zeros(features)
        self.m2 = np.zeros(features)
        self.spread = np.zeros(features)
        self.frozen = False

    def apply(self, raw: NDArray[Any]) -> NDArray[np.float32]:
        """(candidates, features) as the ranker sees them: a new float32 matrix, contiguous."""
        X = raw.astype(np.float64)
        if self.settings not in ("query", "robust"):
            X = self._brought_in(X)
        if self.settings == "none":
            return np.ascontiguousarray(X, np.float32)
        if self.settings == "query":
            return min_max(X).astype(np.float32)
        if self.settings == "robust":
            spread = np.where(self.spread > 0, self.spread, deviation_within(X))
            return np.clip(divided(X - np.median(X, axis=0), spread), -FARTHEST, FARTHEST).astype(np.float32)
        shift, spread = self.affine(X)
        return divided(X - shift, spread).astype(np.float32)

    def affine(self, X: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(shift, spread) per feature; `running` lets the query at hand into its statistics, until it is frozen."""
        if isinstance(self.settings, Fixed):
            return np.array(self.settings.shift), np.array(self.settings.spread)
        if self.settings == "robust":
            return np.zeros(len(self.spread)), self.spread
        if self.settings != "running":
            raise SettingsError(f"scaling {self.settings!r} is not one shift and spread per feature")
        count, mean, m2 = self.count, self.mean, self.m2
        if X is not None and not self.frozen:
            count, mean, m2 = _merged(count, mean, m2, X)
        return mean, np.sqrt(m2 / max(count, 1.0))

    def learn(self, raw: NDArray[Any]) -> None:
        """Let a closed impression's candidates into the running statistics."""
        if self.settings == "robust" and not self.frozen and self.count < SETTLED:
            self._learn_deviation(raw.astype(np.float64))
        if self.settings != "robust" and not self.frozen:
            X = self._brought_in(raw.astype(np.float64))
            self.count, self.mean, self.m2 = _merged(self.count, self.mean, self.m2, X)

    def far_out(self, raw: NDArray[Any]) -> list[int]:
        """The features of which a candidate has a value that can only be a mistake."""
        X = raw.astype(np.float64)
        middle, spread = self._usual(X)
        beyond = (np.abs(X - middle) > FAR_OUT * spread) & (spread > 0)
        return np.flatnonzero(beyond.any(axis=0)).tolist()

    def _brought_in(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values that lie too far from all that was seen, as far away as values may lie."""
        middle, spread = self._usual(X)
        farthest = FARTHEST if self.settings == "running" else FARTHEST_UNSCALED
        reach = np.where(spread > 0, farthest * spread, np.inf)
        near: NDArray[np.float64] = np.clip(X, middle - reach, middle + reach)
        return near

    def _usual(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where values usually lie, and how far apart: of what was seen or, before that is enough, of the query itself.

        0 apart: nobody knows what is far.
        """
        if self.settings == "robust":
            return np.median(X, axis=0), self.spread
        if self.count >= ENOUGH:
            return self.mean, np.sqrt(self.m2 / self.count)
        if len(X) < FEW:
            return self.mean, np.zeros(X.shape[1])
        low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        return median, (high - low) / 1.349

    def _learn_deviation(self, X: NDArray[np.float64]) -> None:
        """One more query; what is in use changes whenever the number of pages has doubled."""
        self.count += 1
        spread = deviation_within(X)
        varies = spread > 0
        self.m2 = self.m2 + varies
        logarithm = np.log(np.where(varies, spread, 1.0))
        self.mean = self.mean + np.where(varies, (logarithm - self.mean) / np.maximum(self.m2, 1.0), 0.0)
        if self.count.is_integer() and int(self.count).bit_count() == 1:
            self.spread = np.where(self.m2 > 0, np.exp(self.mean), 0.0)

    def copy(self) -> "Scaler":
        """The same, unaffected by what the original learns: it never changes an array in place."""
        return copy.copy(self)

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        state = {"count": self.count, "mean": self.mean.tobytes(), "m2": self.m2.tobytes(), "frozen": self.frozen}
        return state | ({"spread": self.spread.tobytes()} if self.settings == "robust" else {})

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.count, self.frozen = float(state["count"]), bool(state["frozen"])
        self.mean, self.m2 = (np.frombuffer(state[name]).reshape(self.mean.shape) for name in ("mean", "m2"))
        if self.settings == "robust":
            self.spread = np.frombuffer(state["spread"]).reshape(self.spread.shape)


def deviation_within(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """A query's standard deviation of each feature, with far outliers brought in to the tails of the middle half.

    Where half of the candidates have the same value (most are in stock), there is no middle half to go by, and it is
    the plain deviation.

    >>> deviation_within(np.array([[1.0], [2.0], [3.0], [4.0], [1e18]])).round(1)
    array([3.3])
    """
    low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    reach = np.where(high > low, TAILS * (high - low) / 1.349, np.inf)
    spread: NDArray[np.float64] = np.clip(X, median - reach, median + reach).std(axis=0)
    return spread


def typical(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """The geometric mean of each feature's widths (queries, features), over queries in which it varies; 0 if in none.

    >>> typical(np.array([[1.0, 0.0], [4.0, 0.0], [0.0, 0.0]]))
    array([2., 0.])
    """
    varies = widths > 0
    means = np.log(np.where(varies, widths, 1.0)).sum(axis=0) / np.maximum(varies.sum(axis=0), 1)
    return np.where(varies.any(axis=0), np.exp(means), 0.0)


def _merged(
    count: float, mean: NDArray[np.float64], m2: NDArray[np.float64], X: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Count, mean and sum of squared deviations of two sets together (Chan et al., 1979)."""
    own = X.mean(axis=0)
    own_m2 = ((X - own) ** 2).sum(axis=0)
    total = count + len(X)
    apart = own - mean
    return total, mean + apart * (len(X) / total), m2 + own_m2 + apart**2 * (count * len(X) / total)
