"""Processes on this machine. Whatever ends the process that started them ends them too."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self

from joblib import Parallel, delayed

START = "spawn"
"""How workers begin: from nothing, so that nothing of whoever started them is caught half-way."""


class LocalProcesses:
    """So many processes. One that dies takes only its own computation along: the next gets a new pool."""

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self._pool = self._new_pool()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation in a process of its own."""
        try:
            return self._pool.submit(function, *arguments)
        except BrokenProcessPool:
            self._pool = self._new_pool()
            return self._pool.submit(function, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context(START)
        return ProcessPoolExecutor(self.slots, mp_context=context, initializer=end_with, initargs=(os.getpid(),))


def each_done(function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """The result of `function(*job)` for each job, as they are done. With one worker nothing leaves this process.

    For jobs that share large arrays, and for callers whose main module must not be imported a second time. Arrays are
    mapped copy-on-write: read-only ones would be another type, and compile every kernel again.
    """
    calls = (delayed(function)(*job) for job in jobs)
    watched = {} if workers == 1 else {"initializer": end_with, "initargs": (os.getpid(),)}
    yield from Parallel(n_jobs=workers, return_as="generator_unordered", mmap_mode="c", **watched)(calls)


def end_with(parent: int) -> None:
    """End this process when `parent` does: nobody else would tell a worker that waits for work."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
