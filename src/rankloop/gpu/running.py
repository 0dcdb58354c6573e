"""Runs on the device, from requests to results: what can share a launch does, in batches that fit the memory."""

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.asked import Asked, Learned, asked_for, finished
from rankloop.data.collection import Collection
from rankloop.divergence import LARGEST, require_finite
from rankloop.errors import DivergenceError, SettingsError
from rankloop.evaluation import measured
from rankloop.gpu import Request
from rankloop.gpu.batch import bytes_of_each, packed_batch, planned, words_of_each
from rankloop.gpu.device import DeviceMemory, about_device, free_memory, most_shared, processors, why_no_device
from rankloop.gpu.measuring import DEEPEST, HeldOut, measured_on_device
from rankloop.gpu.packing import LEARNERS, Queries, packed_problem
from rankloop.gpu.planning import batches, groups_of, room_for
from rankloop.gpu.programs import fingerprint, simulation
from rankloop.gpu.support import why_not
from rankloop.loop import Record
from rankloop.runs.run import Run, manifest_of

Outcome = Run | DivergenceError
_ALIKE = ("impressions", "evaluate_every", "page_size", "nothing_relevant", "by_query", "gradient_variance")
_CHUNK = 20_000  # impressions between two launches when nothing is evaluated
_MEMORY = 0.6  # of what is free, for a batch's results; scores of an evaluation and others' needs have the rest
_LOADED: dict[Any, Any] = {}  # the last training and the last test split on the device: a study asks again and again
_MOST_VALUES = 8 << 30  # bytes that a batch may leave, so that results arrive now and then


def simulate_on_device(requests: Sequence[Request], progress: Callable[[int], None] | None = None) -> list[Run]:
    """The runs of requests that there is device code for, in their order; raises where one of them diverges."""
    runs = []
    for outcome in outcomes_on_device(requests, progress):
        if isinstance(outcome, DivergenceError):
            raise outcome
        runs.append(outcome)
    return runs


def outcomes_on_device(requests: Sequence[Request], progress: Callable[[int], None] | None = None) -> list[Outcome]:
    """The same, with the error in the place of a run that diverged: the others are not lost."""
    missing = why_no_device()
    if missing is not None:
        raise SettingsError(missing)
    for request in requests:
        reason = why_not(request)
        if reason is not None:
            raise SettingsError(f"on the GPU: {reason}")
    outcomes: list[Outcome | None] = [None] * len(requests)
    done = 0
    loaded = _LOADED
    for places, batch in _batches(_asked(requests)):
        before = done

        def update(impressions: int, before: int = before) -> None:
            if progress is not None:
                progress(before + impressions)

        for place, outcome in zip(places, _run_batch(batch, loaded, update), strict=True):
            outcomes[place] = outcome
        done += sum(one.settings["impressions"] for one in batch)
    return [outcome for outcome in outcomes if outcome is not None]


def _asked(requests: Sequence[Request]) -> list[Asked]:
    """Requests, checked; those that differ only in their seed, once."""
    known: dict[Any, Asked] = {}
    made = []
    for learner, user, data, impressions, seed, settings in requests:
        key = (id(learner), id(user), id(data), impressions, id(settings))
        if key not in known:
            known[key] = asked_for(learner, user, data, impressions, seed, **settings)
        asked = known[key]
        made.append(asked._replace(settings=asked.settings | {"seed": seed}))
    return made


def _batches(asked: Sequence[Asked]) -> Iterator[tuple[list[int], list[Asked]]]:
    """What can share a launch: the same collection, method, number of rivals, page and points. Runs that share a seed
    stay together."""
    alike: dict[Any, list[int]] = {}
    for place, one in enumerate(asked):
        settings = one.settings
        method = (type(one.learner), getattr(one.learner, "candidates", 0))
        key = (one.data.content_hash, *method, *settings["metrics"], *(settings[name] for name in _ALIKE))
        alike.setdefault(key, []).append(place)
    for places in alike.values():
        places.sort(key=lambda place: asked[place].settings["seed"])
        each = bytes_of_each([asked[place] for place in places])
        for part in batches(each, len(places), min(int(_MEMORY * free_memory()), _MOST_VALUES)):
            chosen = [places[at] for at in part]
            yield chosen, [asked[place] for place in chosen]


class _Finished(NamedTuple):
    """What a batch left, on the host but for the checkpoints."""

    weights: NDArray[np.float64]
    values: NDArray[np.float64]
    clicks: NDArray[np.uint8]
    variance: NDArray[np.float64]
    checkpoints: Any
    seconds: float


def _run_batch(batch: list[Asked], loaded: dict[Any, Any], update: Callable[[int], None]) -> Iterator[Outcome]:
    first = batch[0]
    data, points = first.data, first.points
    left = _learn(batch, _train_of(data, loaded), update)
    began = time.perf_counter()
    checkpoints = left.checkpoints.get()
    found = _measure(first, left.checkpoints, checkpoints, loaded)
    evaluation = time.perf_counter() - began
    seconds = {"learning": left.seconds / len(batch), "evaluation": evaluation / len(batch)}
    manifests: dict[Any, dict[str, Any]] = {}
    for row, asked in enumerate(batch):
        key = (type(asked.learner), id(asked.user))
        if key not in manifests:
            manifests[key] = _manifest(asked)
        own = checkpoints[row, :, : data.features]
        record = Record(left.values[row], left.clicks[row].astype(np.int64), left.variance[row])
        weights = left.weights[row, : data.features].copy()
        try:
            _require_finite(asked, weights, own, points)
            learned = Learned(weights, own.copy(), record, found[row] if points else None, manifests[key])
            yield finished(asked, learned, dict(seconds))
        except DivergenceError as error:
            yield error


def _manifest(asked: Asked) -> dict[str, Any]:
    own = manifest_of(asked.learner, asked.user, asked.data.content_hash)
    return own | {"engine": {"name": "gpu", "sources": fingerprint()} | about_device()}


def _train_of(data: Collection, loaded: dict[Any, Any]) -> tuple[Queries, DeviceMemory]:
    """The training split on the device; the last one stays, since batches come in the order of collections."""
    key = ("train", data.train.digest)
    if key not in loaded:
        for other in [one for one in loaded if one[0] == "train"]:
            del loaded[other]
        memory = DeviceMemory()
        loaded[key] = Queries.of(data.train, memory), memory
    found: tuple[Queries, DeviceMemory] = loaded[key]
    return found


def _learn(batch: list[Asked], train: tuple[Queries, DeviceMemory], update: Callable[[int], None]) -> _Finished:
    """All impressions of all runs; a launch between two points of the curve."""
    import cupy

    first, queries = batch[0], train[0]
    data, settings, points = first.data, first.settings, first.points
    impressions, page_size = settings["impressions"], settings["page_size"]
    variance = bool(settings["gradient_variance"])
    seeds = [one.settings["seed"] for one in batch]
    room = room_for(queries.longest, page_size)
    shape, needed = planned(first, seeds, room, processors(), most_shared())
    groups = groups_of(seeds, shape.group)
    memory = DeviceMemory()
    people: dict[int, Any] = {}
    for one in batch:
        if id(one.user) not in people:
            people[id(one.user)] = one.user.compiled(page_size, data.train)
    own = [people[id(one.user)] for one in batch]
    left = packed_problem(
        queries,
        page_size,
        room,
        first.measures(),
        packed_batch(batch),
        own,
        groups,
        impressions,
        memory,
        variance=variance,
        features=data.features,
        words_each=words_of_each(batch),
    )
    launch, problem = simulation(LEARNERS[type(first.learner)], shape, queries.stride, variance=variance)
    launch.max_dynamic_shared_size_bytes = needed
    problem.copy_from_host(ctypes.c_void_p(left.problem.ctypes.data), left.problem.nbytes)
    checkpoints = cupy.zeros((len(batch), len(points), queries.stride), cupy.float64)
    row_of = {point: row for row, point in enumerate(points)}
    began, done = time.perf_counter(), 0
    waiting: list[tuple[Any, int]] = []
    for stop in sorted({*points, *range(0, impressions, _CHUNK), impressions}):
        if stop > done:
            launch((len(groups),), (shape.threads,), (np.int64(done), np.int64(stop)), shared_mem=needed)
            done = stop
        if stop in row_of:
            checkpoints[:, row_of[stop]] = left.weights
        event = cupy.cuda.Event()
        event.record()
        waiting.append((event, done * len(batch)))
        if len(waiting) > 2:  # one launch runs, one waits behind it: the device never does
            before, count = waiting.pop(0)
            before.synchronize()
            update(count)
    cupy.cuda.get_current_stream().synchronize()
    update(impressions * len(batch))
    seconds = time.perf_counter() - began
    return _Finished(
        left.weights.get(), left.values.get(), left.clicks.get(), left.variance.get(), checkpoints, seconds
    )


def _measure(first: Asked, checkpoints: Any, on_host: NDArray[np.float64], loaded: dict[Any, Any]) -> list[Any]:
    """Every run's rankers on the test split: on the device, or on the CPU where a metric looks deep."""
    if not first.points:
        return []
    data, settings = first.data, first.settings
    highest = data.grades - 1
    key = ("test", data.test.digest, settings["nothing_relevant"], *settings["metrics"])
    if key not in loaded:
        for other in [one for one in loaded if one[0] == "test"]:
            del loaded[other]
        memory = DeviceMemory()
        loaded[key] = HeldOut.of(data.test, first.chosen, highest, settings["nothing_relevant"], memory), memory
    test = loaded[key][0]
    if test.depth <= DEEPEST and np.isfinite(on_host).all():
        return measured_on_device(checkpoints, test, first.chosen, settings["by_query"] == "all")
    own = on_host[:, :, : data.features]
    return [
        measured(np.nan_to_num(one, posinf=0.0, neginf=0.0), data.test, first.chosen, highest_grade=highest)
        for one in own
    ]


def _require_finite(
    asked: Asked, weights: NDArray[np.float64], checkpoints: NDArray[np.float64], points: list[int]
) -> None:
    """Refuse weights, or the scores that they give, that are no numbers, as the CPU's loop does; most need no look."""
    data = asked.data
    stops = [*points, asked.settings["impressions"]]
    largest = max(data.train.largest, data.test.largest)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.log1p(np.abs(np.vstack([checkpoints, weights])).sum(axis=1)) + np.log1p(largest)
    for row in np.flatnonzero(~(sizes < LARGEST)):
        model = asked.learner.model(data.features, asked.settings["page_size"], asked.settings["seed"])
        model.ranker.weights[:] = weights if row == len(points) else checkpoints[row]
        require_finite(asked.learner, model, stops[row], data.train, data.test)
