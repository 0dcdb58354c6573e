"""Scaling as part of the model: what happens to raw features before they are scored.

    none     x
    fixed    (x − shift) / spread, given per feature
    query    (x − min) / (max − min) over the query's candidates, as in the paper
    running  (x − mean) / deviation over everything learned from so far and this query, until frozen

A constant feature says nothing, so it becomes 0 rather than a division by zero.
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


Scaling = Literal["none", "query", "running"] | Fixed


class Scaler:
    """Turns raw candidates into what the ranker sees. Only `running` has a state: `count`, `mean`, `m2`, `frozen`."""

    def __init__(self, settings: Scaling, features: int) -> None:
        if isinstance(settings, Fixed) and len(settings.shift) != features:
            raise SettingsError(f"scaling: {len(settings.shift)} shifts were given for {features} features")
        self.settings = settings
        self.count = 0.0
        self.mean = np.zeros(features)
        self.m2 = np.zeros(features)
        self.frozen = False

    def apply(self, raw: NDArray[Any]) -> NDArray[np.float32]:
        """(candidates, features) as the ranker sees them: a new float32 matrix, contiguous."""
        if self.settings == "none":
            return np.array(raw, dtype=np.float32, order="C")
        X = raw.astype(np.float64)
        if self.settings == "query":
            return min_max(X).astype(np.float32)
        shift, spread = self.affine(X)
        return divided(X - shift, spread).astype(np.float32)

    def affine(self, X: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(shift, spread) per feature; `running` lets the query at hand into its statistics, until it is frozen."""
        if isinstance(self.settings, Fixed):
            return np.array(self.settings.shift), np.array(self.settings.spread)
        if self.settings != "running":
            raise SettingsError(f"scaling {self.settings!r} is not one shift and spread per feature")
        count, mean, m2 = self.count, self.mean, self.m2
        if X is not None and not self.frozen:
            count, mean, m2 = _merged(count, mean, m2, X)
        return mean, np.sqrt(m2 / max(count, 1.0))

    def learn(self, raw: NDArray[Any]) -> None:
        """Let a closed impression's candidates into the running statistics."""
        if self.settings == "running" and not self.frozen:
            self.count, self.mean, self.m2 = _merged(self.count, self.mean, self.m2, raw.astype(np.float64))

    def copy(self) -> "Scaler":
        """The same, unaffected by what the original learns: it never changes an array in place."""
        return copy.copy(self)

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {"count": self.count, "mean": self.mean.tobytes(), "m2": self.m2.tobytes(), "frozen": self.frozen}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self.count, self.frozen = float(state["count"]), bool(state["frozen"])
        self.mean, self.m2 = (np.frombuffer(state[name]).reshape(self.mean.shape) for name in ("mean", "m2"))


def _merged(
    count: float, mean: NDArray[np.float64], m2: NDArray[np.float64], X: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Count, mean and sum of squared deviations of two sets together (Chan et al., 1979)."""
    own = X.mean(axis=0)
    own_m2 = ((X - own) ** 2).sum(axis=0)
    total = count + len(X)
    apart = own - mean
    return total, mean + apart * (len(X) / total), m2 + own_m2 + apart**2 * (count * len(X) / total)
