"""What the service says about models and their kept states, as types."""

from typing import Any, Literal

import msgspec

from rankloop.live.settings import ModelSettings

Mode = Literal["learning", "paused", "frozen", "damaged"]


class Exploration(msgspec.Struct):
    """How strongly a model explores: its temperature, and how far documents stood from its best order on average."""

    temperature: float | None
    mean_displacement: float | None


class Model(msgspec.Struct, kw_only=True):
    """A model as it is now."""

    name: str
    version: int
    mode: Mode
    created: int
    learner: dict[str, Any]
    page_size: int
    features: list[str]
    weights: list[float]
    settings: ModelSettings
    offset: int
    open: int
    fates: dict[str, int]
    exploration: Exploration
    guarded: bool = False
    """Most people see the incoming order, because the learned one gets fewer clicks than the control's."""
    trouble: str | None = None
    """Why its pages go out in the incoming order: its kept state cannot be read. Then the weights mean nothing."""


class SnapshotDocument(msgspec.Struct, kw_only=True):
    """One state, readable; `state` is the whole of it, for safekeeping."""

    format: Literal["rankloop-snapshot"]
    model: str
    settings: ModelSettings
    version: int
    offset: int
    at: int
    features: list[str]
    weights: list[float]
    mode: str
    fates: dict[str, int]
    state: bytes


class WeightChange(msgspec.Struct, rename={"before": "from", "after": "to"}):
    """One weight in two states: a feature's, or of a network's connection such as `price → 1.3`."""

    feature: str
    before: float
    after: float
    change: float


class Comparison(msgspec.Struct, rename={"before": "from", "after": "to"}):
    """Two states, largest change first."""

    before: int
    after: int
    learned_between: int
    distance: float
    cosine: float | None
    weights: list[WeightChange]
