"""Simulations on a GPU, a batch at a time, while other code goes on: what `on="gpu"` does in every command.

A batch is some hundreds or thousands of runs that share a launch: enough to fill a device, of about twenty seconds, and
all that a kill can cost. It runs in a thread of its own, so records are written, and runs without device code computed
on the CPU, while the device works. The first device that
CUDA shows is used; `CUDA_VISIBLE_DEVICES` chooses another.
"""

import os
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from typing import Any, NamedTuple, Self

from rankloop import gpu
from rankloop.display import counted, listed
from rankloop.errors import RankloopError, SettingsError
from rankloop.gpu import Request
from rankloop.runs.costs import ONE_EACH, device_seconds, runs_that_fill
from rankloop.runs.run import Run
from rankloop.settings import is_whole

RUNS = 2048
"""In a batch at most: more than a device has room for at once."""
SECONDS = 20.0
"""That a batch is to take of a device, by estimate: a kill costs it. One that fills a device may take longer."""
_BYTES = 24  # that an impression takes on this machine until its run is recorded: nDCG, clicks, and what is on the way
_SHARE = 8  # of this machine's memory, a batch may take one part in so many,
_LEAST = 4 << 30  # and always so many bytes: a virtual machine may be given its memory as it uses it
_GIVEN_UP = 3  # single runs in a row that a device failed at: it will not do better with the next


def require_device(where: str) -> None:
    """Refuse, with what is missing, where there is no device."""
    if (reason := gpu.why_no_device()) is not None:
        raise SettingsError(f"{where}: {reason}")


def engine_name() -> str:
    """The device's code as records and manifests name it: an edited kernel is another engine."""
    return f"gpu:{gpu.fingerprint()}"


def engine_of(manifest: Mapping[str, Any]) -> str:
    """The same, of a run that is finished; empty if the CPU computed it.

    >>> engine_of({"engine": {"name": "gpu", "sources": "0123", "device": "NVIDIA H200"}}), engine_of({})
    ('gpu:0123', '')
    """
    engine = manifest.get("engine")
    return f"{engine['name']}:{engine['sources']}" if engine else ""


def reasons_in_words(reasons: Mapping[str, int]) -> str:
    """What runs on the CPU after all, and why: `12 runs on the CPU: COLTR has no device code (12)`; empty if nothing.

    >>> reasons_in_words({"COLTR has no device code": 12, "PMGD has no device code": 6})
    '18 runs on the CPU: COLTR has no device code (12) and PMGD has no device code (6)'
    """
    if not reasons:
        return ""
    shown = listed([f"{reason} ({number:,})" for reason, number in reasons.items()])
    return f"{counted(sum(reasons.values()), 'run')} on the CPU: {shown}"


def placed(requests: Sequence[Request]) -> tuple[list[int], dict[str, list[int]]]:
    """The places of the requests that a device can run, and of the others, by the reason why it cannot."""
    mine: list[int] = []
    others: dict[str, list[int]] = {}
    for index, request in enumerate(requests):
        reason = gpu.why_not(request)
        (mine if reason is None else others.setdefault(reason, [])).append(index)
    return mine, others


class Load(NamedTuple):
    """What a run asks of a device, as far as batches are planned by it."""

    impressions: int
    seed: int
    alike: Hashable
    """What all runs of a launch have in common; those that have it take the same time and memory."""
    seconds: float
    full: int
    """How many such runs fill a device."""
    together: bool
    """Whether runs with the same seed share a block, which reads a query once for all of them."""


def load_of(request: Request) -> Load:
    """What a request asks of a device, by estimate."""
    learner, _, data, impressions, seed, settings = request
    every = settings.get("evaluate_every", 1000)
    seconds = device_seconds(
        learner,
        impressions,
        candidates=len(data.train.grades) / data.train.queries,
        features=data.features,
        page_size=settings.get("page_size", 10),
        points=-(-impressions // every) + 1 if is_whole(every) and every > 0 else 0,
        held_out=len(data.test.grades) * data.features,
    )
    method = (type(learner), getattr(learner, "candidates", 0))
    alike = (data.content_hash, *method, impressions, repr(settings))
    return Load(impressions, seed, alike, seconds, runs_that_fill(learner), not isinstance(learner, ONE_EACH))


def planned(loads: Sequence[Load], room: int | None = None) -> Iterator[list[int]]:
    """The places of runs in batches: each can share a launch, takes some seconds and fits into memory (`room`, bytes).

    What cannot share a launch would only wait for each other. Seeds stay whole where runs gain by it.

    >>> one = Load(100, seed=1, alike="ROLTR", seconds=0.1, full=264, together=True)
    >>> list(planned([one, one._replace(alike="PDGD"), one, one._replace(seed=2)], room=200 * _BYTES))
    [[0, 2], [3], [1]]
    """
    room = _room() if room is None else room
    kinds: dict[Hashable, list[int]] = {}
    for place, load in enumerate(loads):
        kinds.setdefault(load.alike, []).append(place)
    for places in kinds.values():
        first = loads[places[0]]
        places.sort(key=lambda place: loads[place].seed)
        most = max(1, min(RUNS, room // (_BYTES * max(1, first.impressions))))
        units = [[*unit] for _, unit in groupby(places, lambda place: loads[place].seed)]
        yield from _cut(units if first.together else [[place] for place in places], _wanted(first), most)


def _wanted(load: Load) -> int:
    """Runs such as this one for a batch: as many as some seconds have time for, filling the device whole times over."""
    if load.seconds * RUNS <= SECONDS:
        return RUNS
    return max(1, int(SECONDS / load.seconds / load.full)) * load.full


def _cut(units: Sequence[list[int]], wanted: int, most: int) -> Iterator[list[int]]:
    """Units in batches of at least so many runs, while there are, and at most so many; only a larger unit is cut."""
    batch: list[int] = []
    for unit in units:
        if batch and (len(batch) >= wanted or len(batch) + len(unit) > most):
            yield batch
            batch = []
        batch = batch + unit
        while len(batch) > most:
            yield batch[:most]
            batch = batch[most:]
    if batch:
        yield batch


def _room() -> int:
    """Bytes that the results of a batch may take here."""
    try:
        return max(_LEAST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _SHARE)
    except (ValueError, OSError, AttributeError):  # a system that does not tell
        return _LEAST


class Stopped(BaseException):
    """Nobody waits for it any more: what runs in a thread ends at its next look around."""


class Device:
    """The device: computes one batch after the other, in a thread, until the `with` block ends.

    A batch that fails, for want of memory perhaps, is halved until what fails is a single run; so nothing is lost but
    what cannot be computed.
    """

    slots = 2
    """Batches to have under way: one is computed, one waits, so that the device never does."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rankloop-device")
        self._stopped = threading.Event()
        self._failed = 0
        self._before = 0
        self.impressions = 0
        """Shown so far, in all batches, those of failed tries not counted twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, requests: Sequence[Request]) -> "Future[list[Run | Exception]]":
        """Start a batch: the run of each request, or why there is none."""
        return self._pool.submit(self._batch, list(requests))

    def _batch(self, requests: list[Request]) -> list[Run | Exception]:
        self._failed = 0
        return self._computed(requests)

    def _computed(self, requests: list[Request]) -> list[Run | Exception]:
        self._before = self.impressions
        try:
            made = gpu.simulate_on_device(requests, self._look)
        except Exception as error:
            self.impressions = self._before
            return self._halved(requests, error)
        self._failed = 0
        self.impressions = self._before + sum(request.impressions for request in requests)
        for run in made:
            run.manifest.setdefault("engine", {"name": "gpu", "sources": gpu.fingerprint()})
        return [*made]

    def _halved(self, requests: list[Request], error: Exception) -> list[Run | Exception]:
        if len(requests) == 1:
            self._failed = 0 if isinstance(error, RankloopError) else self._failed + 1
            return [error]
        made: list[Run | Exception] = []
        half = len(requests) // 2
        for part in (requests[:half], requests[half:]):
            given_up = self._failed >= _GIVEN_UP
            made += [error] * len(part) if given_up else self._computed(part)
        return made

    def _look(self, impressions: int) -> None:
        if self._stopped.is_set():
            raise Stopped
        self.impressions = self._before + impressions


def reasons_of(others: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """How many runs each reason holds for."""
    return {reason: len(some) for reason, some in others.items()}
