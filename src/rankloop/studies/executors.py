"""Where runs are computed: processes on this machine, or a Ray cluster. Both give ordinary futures."""

import logging
import multiprocessing
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from rankloop.errors import SettingsError


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


class RayCluster:
    """An existing Ray cluster. A run whose node dies is started again on another one."""

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise SettingsError(
                "--on ray needs the package ray; install it with: pip install 'rankloop[ray]'"
            ) from None
        self._ray = ray
        _require_answer(address)
        try:
            ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise SettingsError(f"no Ray cluster answers at {address!r}: {error}") from None
        # Twice as many runs as cores are under way, so that no core waits for this process to send the next one.
        self.slots = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation on one core of the cluster, again and again if its node is lost."""
        remote = self._ray.remote(num_cpus=1, max_retries=-1)(function)
        future: Future[Any] = remote.remote(*arguments).future()
        return future

    def close(self) -> None:
        """Leave the cluster; what still runs for us there is stopped."""
        self._ray.shutdown()


def _require_answer(address: str) -> None:
    """Ray itself waits for minutes before it says that nobody is there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise SettingsError(f"no Ray cluster answers at {address!r}: {error}") from None


@contextmanager
def ray_cluster(address: str) -> Iterator[RayCluster]:
    """A connection to a Ray cluster (`auto`, `HOST:PORT` or `ray://HOST:PORT`) that ends with the `with` block."""
    executor = RayCluster(address)
    try:
        yield executor
    finally:
        executor.close()
