"""Where runs are computed: processes on this machine, or a Ray cluster. Both give ordinary futures."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol


class Executor(Protocol):
    """Something that computes runs, a few at a time."""

    slots: int
    """How many runs to have under way."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation."""


class LocalProcesses:
    """Processes on this machine. One that dies takes only its own run along: the next gets a new pool."""

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

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.slots, mp_context=multiprocessing.get_context("spawn"))


@contextmanager
def local(workers: int) -> Iterator[LocalProcesses]:
    """Processes that end with the `with` block."""
    executor = LocalProcesses(workers)
    try:
        yield executor
    finally:
        executor.close()
