"""Where the runs of a study are computed: on an engine one by one, on a device in batches, or both at once."""

import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Collection as Some
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

import msgspec

from rankloop import gpu
from rankloop.data import Collection, load
from rankloop.display import counted
from rankloop.engines import Engine
from rankloop.gpu import Request
from rankloop.runs.batches import Device, Load, engine_name, load_of, planned
from rankloop.runs.run import Run
from rankloop.simulation import simulate
from rankloop.studies.found import Group, group_of
from rankloop.studies.mistakes import in_one_sentence
from rankloop.studies.records import CPU
from rankloop.studies.specification import Cell

Keyed = tuple[Cell, str]
"""A cell, and the key of its record."""


class Progress(NamedTuple):
    """How a study stands: for a display to show."""

    done: int
    failed: int
    total: int
    impressions: int
    running: list[str]
    seconds: float
    share: float
    """Of the expected work: the longest runs come first, so counting runs would mislead."""


class Chosen:
    """Where each run of a study is to be computed, and why what is not on the device is not."""

    def __init__(self, with_device: bool) -> None:
        self._with_device = with_device
        self._known: dict[tuple[Any, ...], str | None] = {}
        self._why: str | None = None
        self._beside: dict[str, set[str]] = {}
        self.device: dict[str, Load] = {}

    def engine(self, cell: Cell, data: Collection, place: Group) -> str:
        """The engine of a cell; whether there is code for it is asked once for all seeds."""
        if not self._with_device:
            return CPU
        learner, user = msgspec.json.encode(cell.learner), msgspec.json.encode(cell.user)
        how = (cell.impressions, cell.evaluate_every, cell.page_size, cell.metrics, cell.gradient_variance)
        if (alike := (learner, user, place, how)) not in self._known:
            self._known[alike] = gpu.why_not(request_of(cell, data))
        self._why = self._known[alike]
        return engine_name() if self._why is None else CPU

    def note(self, engine: str, key: str, cell: Cell, data: Collection) -> None:
        """Remember where the run with this key, of the cell last asked about, belongs."""
        if engine:
            self.device[key] = load_of(request_of(cell, data))
        elif self._why is not None:
            self._beside.setdefault(self._why, set()).add(key)

    def reasons(self) -> dict[str, int]:
        """Why runs are not on the device, and how many are not."""
        return {reason: len(keys) for reason, keys in self._beside.items()}


class Place(Protocol):
    """Somewhere that runs are computed."""

    running: dict[Future[Any], Any]

    @property
    def is_busy(self) -> bool:
        """Whether something is under way or waits."""

    def fill(self) -> None:
        """Start as much as may be under way."""

    def taken(self, future: Future[Any]) -> Iterator[tuple[Cell, str, Callable[[], Run]]]:
        """What a finished future computed: each call gives a run, or raises why there is none."""

    def names(self) -> list[str]:
        """What is under way, in a few words each."""

    def under_way(self) -> int:
        """Impressions shown in what is not finished."""


class OnEngine:
    """Runs on the CPU, one by one; the first of `missing` first."""

    def __init__(self, engine: Engine, missing: list[Keyed]) -> None:
        self._engine = engine
        self._waiting = missing[::-1]
        self.running: dict[Future[Any], Keyed] = {}

    @property
    def is_busy(self) -> bool:
        """Whether something is under way or waits."""
        return bool(self._waiting or self.running)

    def fill(self) -> None:
        """Start as much as the engine takes."""
        while self._waiting and len(self.running) < self._engine.slots:
            cell, key = self._waiting.pop()
            self.running[self._engine.submit(run_cell, cell)] = (cell, key)

    def taken(self, future: Future[Any]) -> Iterator[tuple[Cell, str, Callable[[], Run]]]:
        """The one run of a future."""
        yield *self.running.pop(future), future.result

    def names(self) -> list[str]:
        """What is under way, in a few words each."""
        return [describe(cell) for cell, _ in self.running.values()]

    def under_way(self) -> int:
        """A worker does not tell how far it is."""
        return 0


class OnDevice:
    """Runs on a device, in batches. Collections are opened as they are needed, and once."""

    def __init__(self, device: Device, missing: list[Keyed], loads: Mapping[str, Load]) -> None:
        self._device = device
        batches = planned([loads[key] for _, key in missing])
        self._waiting = [[missing[index] for index in batch] for batch in batches][::-1]
        self._opened: dict[Group, Collection] = {}
        self._known: dict[bytes, Any] = {}
        self._finished = 0
        self.running: dict[Future[Any], list[Keyed]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether something is under way or waits."""
        return bool(self._waiting or self.running)

    def fill(self) -> None:
        """Start a batch, and let another wait."""
        while self._waiting and len(self.running) < self._device.slots:
            batch = self._waiting.pop()
            requests = [self._request(cell) for cell, _ in batch]
            self.running[self._device.submit(requests)] = batch

    def taken(self, future: Future[Any]) -> Iterator[tuple[Cell, str, Callable[[], Run]]]:
        """The runs of a batch."""
        batch = self.running.pop(future)
        self._finished += sum(cell.impressions for cell, _ in batch)
        try:
            made = future.result()
        except Exception as error:
            made = [error] * len(batch)
        for (cell, key), one in zip(batch, made, strict=True):
            yield cell, key, _giver(one)

    def names(self) -> list[str]:
        """What is under way, in a few words."""
        runs = sum(map(len, self.running.values()))
        return [f"{counted(runs, 'run')} on the device"] if runs else []

    def under_way(self) -> int:
        """Impressions shown in the batch that is computed."""
        return max(0, self._device.impressions - self._finished)

    def _request(self, cell: Cell) -> Request:
        """With the same objects for what is the same: the device packs each of them once."""
        place = group_of(cell)
        if place not in self._opened:
            self._opened[place] = collection_of(cell)
        made = request_of(cell, self._opened[place])
        user = self._known.setdefault(msgspec.json.encode(cell.user), made.user)
        settings = self._known.setdefault(msgspec.json.encode(made.settings), made.settings)
        return made._replace(user=user, settings=settings)


def _giver(one: Run | Exception) -> Callable[[], Run]:
    def give() -> Run:
        if isinstance(one, Exception):
            raise one
        return one

    return give


class WorkDone:
    """What has been done of so much work, on the CPU and on a device; the slower of them tells how far it is."""

    def __init__(self, missing: list[Keyed], costs: dict[str, float], device: Some[str]) -> None:
        self._costs, self._device, self._total = costs, device, len(missing)
        self._work = {True: 0.0, False: 0.0}
        for _, key in missing:
            self._work[key in device] += costs[key]
        self._worked = {True: 0.0, False: 0.0}
        self._began = time.monotonic()
        self._done = self._impressions = 0
        self.failures: list[tuple[str, str]] = []

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def note(self, cell: Cell, key: str, cause: str | None) -> None:
        """A run is finished, or failed for a cause."""
        self._worked[key in self._device] += self._costs[key]
        if cause is None:
            self._done, self._impressions = self._done + 1, self._impressions + cell.impressions
        else:
            self.failures.append((describe(cell), cause))

    def progress(self, running: list[str], under_way: int) -> Progress:
        """For a display to show."""
        shares = [self._worked[place] / work for place, work in self._work.items() if work]
        return Progress(
            self._done, len(self.failures), self._total, self._impressions + under_way, running, self.seconds,
            min(shares, default=0.0),
        )  # fmt: skip


def run_cell(cell: Cell) -> Run:
    """One run of a study: what a worker does."""
    with in_one_sentence():
        return simulate(
            cell.learner,
            cell.user,
            collection_of(cell),
            impressions=cell.impressions,
            seed=cell.seed,
            evaluate_every=cell.evaluate_every,
            page_size=cell.page_size,
            metrics=cell.metrics,
            gradient_variance=cell.gradient_variance,
        )


def collection_of(cell: Cell) -> Collection:
    """The collection of a cell, mapped from the store, with the attributes that its people look at."""
    data = load(cell.source.data, fold=cell.fold, scale=cell.source.scale)
    found: Collection = cell.user.seen_on(data)
    return found


def describe(cell: Cell) -> str:
    """A cell in a few words."""
    return f"{cell.label}, {cell.user.name}, {cell.source.name}, seed {cell.seed}"


def request_of(cell: Cell, data: Collection) -> Request:
    """A cell as a device is asked for it."""
    settings = {
        "evaluate_every": cell.evaluate_every,
        "page_size": cell.page_size,
        "metrics": cell.metrics,
        "gradient_variance": cell.gradient_variance,
    }
    return Request(cell.learner, cell.user, data, cell.impressions, cell.seed, settings)
