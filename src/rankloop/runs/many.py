"""Many simulations at once: every learner with every user on every collection, with every seed."""

import inspect
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import nullcontext
from itertools import product
from typing import Any, NamedTuple

from rankloop.bare import taken_as
from rankloop.data.collection import Collection
from rankloop.display import counted
from rankloop.display.progress import Update, progress_bar
from rankloop.engines import Engine, engine
from rankloop.errors import RankloopError, SettingsError
from rankloop.gpu import Request
from rankloop.learners import Learner
from rankloop.runs.batches import (
    Device,
    Stopped,
    load_of,
    placed,
    planned,
    reasons_in_words,
    reasons_of,
    require_device,
)
from rankloop.runs.run import Run, manifest_of
from rankloop.runs.runs import Place, Runs
from rankloop.settings import is_whole, require_seed, require_whole_number
from rankloop.simulation import simulate
from rankloop.users import User

_LOOK = 0.1  # seconds between two looks at what is running


def simulate_many(
    learners: Learner | Iterable[Learner] | Mapping[str, Learner],
    users: User | Iterable[User] | Mapping[str, User],
    data: Collection | Iterable[Collection],
    impressions: int,
    seeds: int | Iterable[int],
    *,
    workers: int | None = None,
    on: str | Engine = "threads",
    progress: bool | None = None,
    **settings: Any,
) -> Runs:
    """Every learner with every user on every collection, with every seed; the runs, in that order.

    Learners share seeds, and so the queries: runs with the same seed are pairs. The results are the same bits as those
    of `simulate`, whatever the number of workers, and on a device but for the gradient's variance.

    Args:
        learners: one, several, or several by the label that tables and pictures shall show.
        users: likewise.
        data: a collection, or several, such as the folds of one.
        impressions: how many pages each run shows.
        seeds: the seeds, or how many: 5 is 1, 2, 3, 4, 5.
        workers: how many runs at a time; as many as there are processors unless told otherwise.
        on: `threads` of this process, which share the data; `processes`, for users and learners in plain Python;
            `gpu`, with what has no device code in threads beside it (a run's manifest names its `engine`); `ray`, or
            an engine of your own (`rankloop.engines`).
        progress: a bar where somebody looks, in a terminal or a notebook; True: plain lines elsewhere too; False: none.
        settings: whatever else `simulate` takes: `evaluate_every`, `page_size`, `delay`, …

    >>> import rankloop as rl
    >>> learners = {"slow": rl.ROLTR(learning_rate=0.001), "fast": rl.ROLTR(learning_rate=0.1)}
    >>> runs = rl.simulate_many(learners, rl.users.perfect(), rl.load("tiny"), 300, seeds=[1, 2])
    >>> runs
    Runs(4 runs of slow and fast with perfect on tiny)
    >>> runs.to_arrow().num_rows
    4
    """
    jobs, places = _jobs(learners, users, data, impressions, seeds, settings)
    workers = _processors() if workers is None else workers
    at_once = min(len(jobs), require_whole_number("simulate_many", "workers", workers, at_least=1))
    if isinstance(on, str) and on not in ("threads", "processes", "gpu", "ray") and not on.startswith("ray:"):
        choices = "threads, processes, gpu, ray, ray:HOST:PORT or an engine"
        raise SettingsError(f"simulate_many: on must be {choices}; got {on!r}")
    if on == "gpu":
        require_device("simulate_many, on='gpu'")
    with progress_bar("simulating", progress) as update:
        if on == "processes":
            done = _in_processes(jobs, at_once, update)
        elif on == "gpu":
            done = _on_device(jobs, at_once, update)
        else:
            done = _on_engine(jobs, on, at_once, update)
    found = Runs(done)
    # What has no label of its own has the name that tells it from the others.
    named = (zip(own, made, strict=True) for own, made in zip(places, found.places, strict=True))
    return Runs(found, [Place(*(mine or other for mine, other in one)) for one in named])


class _Job(NamedTuple):
    learner: Any
    user: Any
    data: Collection
    impressions: int
    seed: int
    settings: dict[str, Any]

    def run(self, progress: Callable[[int], None] | None = None) -> Run:
        try:
            return simulate(
                self.learner, self.user, self.data, self.impressions, self.seed, progress=progress, **self.settings
            )
        except RankloopError as error:
            raise self.failed(error) from error.__cause__
        except Exception as error:
            self.failed(error)
            raise

    def failed(self, error: Exception) -> Exception:
        """An error that says in which run it happened."""
        if isinstance(error, RankloopError):
            return type(error)(f"{self}: {error}")
        error.add_note(f"in the run {self}")
        return error

    def __str__(self) -> str:
        names = (
            getattr(one, "name", None) or getattr(one, "__name__", None) or type(one).__name__
            for one in (self.learner, self.user, self.data)
        )
        return f"{', '.join(map(str, names))}, seed {self.seed}"


def _jobs(
    learners: Any, users: Any, data: Any, impressions: int, seeds: Any, settings: dict[str, Any]
) -> tuple[list[_Job], list[tuple[str, str, str]]]:
    known = [name for name, one in inspect.signature(simulate).parameters.items() if one.kind is one.KEYWORD_ONLY]
    for name in settings:
        if name not in known or name == "progress":
            listed = ", ".join(sorted({*known} - {"progress"}))
            raise SettingsError(f"simulate_many: {name} is not a setting of a simulation; choose from {listed}")
    jobs, places = [], []
    named = (_labelled("learners", learners), _labelled("users", users), _labelled("data", data))
    for (label, learner), (of_user, user), (of_data, one), seed in product(*named, _seeds(seeds)):
        jobs.append(_Job(learner, user, one, impressions, seed, settings))
        places.append((of_data, of_user, label))
    return jobs, places


def _labelled(what: str, given: Any) -> list[tuple[str, Any]]:
    """(label, thing) for one thing, several, or several by label; no label is empty."""
    if isinstance(given, Mapping):
        made = [(str(label), one) for label, one in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        made = [("", one) for one in given]
    else:
        made = [("", given)]
    if not made:
        raise SettingsError(f"simulate_many: {what} must not be empty")
    if any(one == other for index, (_, one) in enumerate(made) for _, other in made[:index]):
        raise SettingsError(f"simulate_many: {what} must be different; the same one was given twice")
    return made


def _seeds(given: Any) -> list[int]:
    if is_whole(given):
        return list(range(1, 1 + require_whole_number("simulate_many", "seeds", given, at_least=1)))
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise SettingsError(f"simulate_many: seeds must be a whole number or a list of them; got {given!r}")
    made = [require_seed("simulate_many", seed) for seed in given]
    if not made or len(set(made)) != len(made):
        raise SettingsError(f"simulate_many: seeds must be different, and at least one; got {made}")
    return made


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_engine(jobs: list[_Job], on: str | Engine, workers: int, update: Update) -> list[Run]:
    """Run all jobs on an engine; if one fails, the others are stopped."""
    done = [0] * len(jobs)
    stopped = threading.Event()
    made: dict[int, Run] = {}
    running: dict[Future[Run], int] = {}
    waiting = deque(range(len(jobs)))
    place = engine(on, workers) if isinstance(on, str) else nullcontext(on)
    with place as where:
        begin = _starter(jobs, where, done, stopped)
        try:
            while waiting or running:
                while waiting and len(running) < where.slots:
                    index = waiting.popleft()
                    running[begin(index)] = index
                finished, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in finished:
                    index = running.pop(future)
                    made[index] = future.result()
                    done[index] = jobs[index].impressions
                update(sum(done) / sum(job.impressions for job in jobs), _standing(len(made), len(jobs)))
        except BaseException:
            stopped.set()
            for future in running:
                future.cancel()
            raise
    return [made[index] for index in range(len(jobs))]


def _starter(
    jobs: list[_Job], where: Engine, done: list[int], stopped: threading.Event
) -> Callable[[int], Future[Run]]:
    """How a job is started: a thread tells how far it is, and listens."""
    from rankloop.engines.threads import LocalThreads

    def looking_around(index: int) -> Callable[[int], None]:
        def look(impressions: int) -> None:
            if stopped.is_set():
                raise Stopped
            done[index] = impressions

        return look

    if isinstance(where, LocalThreads):
        return lambda index: where.submit(jobs[index].run, looking_around(index))
    return lambda index: where.submit(_Job.run, jobs[index])


def _in_processes(jobs: list[_Job], workers: int, update: Update) -> list[Run]:
    from rankloop.engines.processes import each_done

    made: dict[int, Run] = {}
    for index, run in each_done(_numbered, enumerate(jobs), workers):
        made[index] = _traced(run, jobs[index])
        update(len(made) / len(jobs), _standing(len(made), len(jobs)))
    return [made[index] for index in range(len(jobs))]


def _on_device(jobs: list[_Job], workers: int, update: Update) -> list[Run]:
    """Batches on the device, and what has no device code in threads beside it; if a run fails, all are stopped."""
    mine, others = placed([Request(*job) for job in jobs])
    beside = sorted(index for some in others.values() for index in some)
    whole = sum(job.impressions for job in jobs)
    on_cpu = sum(jobs[index].impressions for index in beside)
    where = f" ({reasons_in_words(reasons_of(others))})" if others else ""
    made: dict[int, Run] = {}
    with Device() as device:
        started: dict[Future[Any], list[int]] = {}
        for batch in planned([load_of(Request(*jobs[index])) for index in mine]):
            indices = [mine[place] for place in batch]
            started[device.submit([Request(*jobs[index]) for index in indices])] = indices

        def look(part: float, _: str = "") -> None:
            for future in [one for one in started if one.done()]:
                indices = started.pop(future)
                made.update(zip(indices, _given([jobs[index] for index in indices], future), strict=True))
            text = _standing(len(made) + round(part * len(beside)), len(jobs)) + where
            update((part * on_cpu + device.impressions) / whole, text)

        threaded = _on_engine([jobs[index] for index in beside], "threads", workers, look)
        while started:
            wait(started, timeout=_LOOK, return_when=FIRST_COMPLETED)
            look(1.0)
    made.update(zip(beside, threaded, strict=True))
    return [made[index] for index in range(len(jobs))]


def _given(jobs: list[_Job], batch: Future[Any]) -> list[Run]:
    """The runs of a finished batch; raises for the first that failed."""
    made = batch.result()
    for job, one in zip(jobs, made, strict=True):
        if isinstance(one, Exception):
            raise job.failed(one) from one.__cause__
    return list(made)


def _traced(run: Run, job: _Job) -> Run:
    """With the sources of users and learners as they are known here: a worker never saw the script they are from."""
    here = manifest_of(taken_as(Learner, job.learner), taken_as(User, job.user), job.data.content_hash)
    run.manifest.update({name: here[name] for name in ("sources", "commits")})
    return run


def _numbered(index: int, job: _Job) -> tuple[int, Run]:
    return index, job.run()


def _standing(done: int, total: int) -> str:
    return f"{done:,} of {counted(total, 'run')}"
