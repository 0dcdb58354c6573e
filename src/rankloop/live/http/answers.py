"""What the API answers, as types: the OpenAPI document is made from them, and tests hold every answer to them."""

from typing import Any, Literal

import msgspec

from rankloop.live.service import Clicked
from rankloop.live.settings import ModelSettings
from rankloop.live.start import Report
from rankloop.ubi import UbiEvent, UbiQuery


class ErrorDetail(msgspec.Struct):
    """`code` is for machines; `message` says what was wrong, where, and what to send instead."""

    code: str
    message: str


class Error(msgspec.Struct):
    """The one shape of everything that is refused."""

    error: ErrorDetail


class ManyClicked(msgspec.Struct):
    """What became of many reports, in their order."""

    results: list[Clicked]


class Closed(msgspec.Struct):
    """Whether the impression was still open, and the version of its model."""

    closed: bool
    version: int


class Exploration(msgspec.Struct):
    """How strongly a model explores: its temperature, and how far documents stood from its best order on average."""

    temperature: float | None
    mean_displacement: float | None


class Model(msgspec.Struct, kw_only=True):
    """A model as it is now."""

    name: str
    version: int
    mode: Literal["learning", "paused", "frozen"]
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


class NewModel(Model, kw_only=True):
    """A model that was just made, and where it begins."""

    start: Report


class DryRun(msgspec.Struct):
    """Where a model would begin."""

    start: Report


class Models(msgspec.Struct):
    """All models, in the order of their creation."""

    models: list[Model]


class Deleted(msgspec.Struct):
    """The name of the model that is gone."""

    deleted: str


class SnapshotRow(msgspec.Struct):
    """One kept state: its version, its place in the log, and when it was written (milliseconds since 1970)."""

    version: int
    offset: int
    at: int


class Snapshots(msgspec.Struct):
    """The states that are kept."""

    snapshots: list[SnapshotRow]


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
    """One feature's weight in two states."""

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


class UbiResult(msgspec.Struct):
    """What became of one query or event."""

    query_id: str | None
    fate: str


class UbiTaken(msgspec.Struct):
    """What became of each, in their order, and how often each fate was met."""

    results: list[UbiResult]
    counts: dict[str, int]


class UbiQueries(msgspec.Struct):
    """Pages as UBI queries; go on with `after` = `next` while `more` is true."""

    queries: list[UbiQuery]
    next: int
    more: bool
    left_out: int


class UbiEvents(msgspec.Struct):
    """Impressions and clicks as UBI events; go on with `after` = `next` while `more` is true."""

    events: list[UbiEvent]
    next: int
    more: bool
    left_out: int


class Health(msgspec.Struct):
    """The process is up."""

    status: Literal["ok"]


class Readiness(msgspec.Struct):
    """Whether all parts work; `trouble` says which do not."""

    status: Literal["ok", "degraded"]
    trouble: list[str]
