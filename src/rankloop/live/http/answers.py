"""What only HTTP answers, as types; those of ranking and of models are the service's own."""

from typing import Literal

import msgspec

from rankloop.answers import Clicked
from rankloop.live.alerts import Alert
from rankloop.live.challengers import ChallengerReport
from rankloop.live.descriptions import Model
from rankloop.live.experiments import ExperimentReport
from rankloop.live.orders import Orders
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


class ExportCheck(msgspec.Struct):
    """What a model's file does differently from the live model, in sentences, and how alike both order the candidates
    of the newest logged pages; null without any."""

    format: str
    version: int
    differs: list[str]
    orders: Orders | None


class Experiments(msgspec.Struct):
    """A model's experiments, the newest first."""

    experiments: list[ExperimentReport]


class Challengers(msgspec.Struct):
    """A model's challengers, in the order of their creation."""

    challengers: list[ChallengerReport]


class Alerts(msgspec.Struct):
    """Alerts: those that last first, then the newest; what has ended is remembered for a while."""

    alerts: list[Alert]


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
