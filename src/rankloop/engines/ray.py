"""An existing Ray cluster."""

import logging
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, Self

from rankloop.errors import SettingsError
from rankloop.plugins import files


class RayCluster:
    """A connection to a cluster (`auto`, `HOST:PORT` or `ray://HOST:PORT`).

    A computation whose node dies is started again on another one. Plugins that are files travel along.
    """

    def __init__(self, address: str, plugins: Iterable[str] = ()) -> None:
        try:
            import ray
        except ImportError:
            raise SettingsError(
                "--on ray needs the package ray; install it with: pip install 'rankloop[ray]'"
            ) from None
        self._ray: Any = ray
        _require_answer(address)
        try:
            ray.init(
                address=address, ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR,
                runtime_env={"py_modules": sent} if (sent := [str(path) for path in files(plugins)]) else None,
            )  # fmt: skip
        except (ConnectionError, ValueError, RuntimeError) as error:
            if address == "auto":  # Ray would speak of options that are its own
                raise SettingsError(
                    "no Ray cluster runs on this machine; start one with `ray start --head`, or name another one: "
                    "--on ray://HOST:PORT"
                ) from None
            raise SettingsError(f"no Ray cluster answers at {address!r}: {error}") from None
        # Twice as many runs as cores are under way, so that no core waits for this process to send the next one.
        self.slots = 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a computation on one core of the cluster, again and again if its node is lost."""
        remote = self._ray.remote(num_cpus=1, max_retries=-1)(function)
        future: Future[Any] = Future()
        remote.remote(*arguments).future().add_done_callback(partial(_hand_over, future))
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()  # what still runs for us there is stopped


def _hand_over(future: Future[Any], done: Future[Any]) -> None:
    """Give what Ray's future has; what was raised there is raised as it was, without Ray's traceback for a message."""
    if (error := done.exception()) is None:
        future.set_result(done.result())
    else:
        future.set_exception(getattr(error, "cause", None) or error)


def _require_answer(address: str) -> None:
    """Ray itself waits for minutes before it says that nobody is there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise SettingsError(f"no Ray cluster answers at {address!r}: {error}") from None
