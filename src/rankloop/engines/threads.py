"""Threads of this process. Kernels release the interpreter's lock, so they run beside each other and share all data."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self


class LocalThreads:
    """So many threads."""

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="rankloop-run")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation in a thread of its own."""
        return self._pool.submit(function, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
