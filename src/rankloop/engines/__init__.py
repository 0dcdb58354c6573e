"""Where many simulations run. One file for each kind of place, and one line in `engine`; all give ordinary futures."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rankloop.errors import SettingsError


class Engine(Protocol):
    """Something that computes, a few things at a time."""

    slots: int
    """How many computations to have under way."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation."""


def engine(on: str, workers: int, plugins: Iterable[str] = ()) -> AbstractContextManager[Engine]:
    """What `--on` names: so many processes (`local`) or threads here, or a Ray cluster; it ends with the block.

    Processes here find plugins where this one did; those of a cluster are sent their files.
    """
    if on == "local":
        from rankloop.engines.processes import LocalProcesses

        return LocalProcesses(workers)
    if on == "threads":
        from rankloop.engines.threads import LocalThreads

        return LocalThreads(workers)
    if on == "ray" or on.startswith(("ray://", "ray:")):
        from rankloop.engines.ray import RayCluster

        return RayCluster("auto" if on == "ray" else on if on.startswith("ray://") else on[4:], plugins)
    raise SettingsError(f"--on must be local, threads, gpu, ray, ray:HOST:PORT or ray://HOST:PORT; got {on!r}")
