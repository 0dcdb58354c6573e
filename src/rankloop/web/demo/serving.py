"""A real service on a log of its own, with the demo's pages beside it."""

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from rankloop.errors import SettingsError
from rankloop.live.http.app import Application
from rankloop.live.serving import listen, serve
from rankloop.web.dashboard import add_dashboard
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.pages import ADDRESS, Demo
from rankloop.web.site import Site

HOST = "127.0.0.1"
PATIENCE = 120.0
"""Seconds until the first page must be there: a first start compiles."""


def run_demo(
    engine: Engine,
    store: str | None,
    port: int,
    seed: int,
    *,
    ready: Callable[[str, bool], None],
    say: Callable[[str], None],
) -> None:
    """Serve the demo until the process is told to end.

    `ready` hears its address once the first page is there, or that it does not come; `say` hears what the service says.
    """
    url = f"http://{HOST}:{port}"

    def extend(application: Application) -> None:
        if not application.keys.open:
            raise SettingsError(f"demo: the log at {store} has API keys, so it is a real service; choose another")
        add_dashboard(application)
        Demo(Site(application.pages), engine, url, seed)
        threading.Thread(target=lambda: ready(url + ADDRESS, _answers(url + ADDRESS)), daemon=True).start()

    # However it is told to end, it ends in order, and its log goes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _log(store) as address, suppress(KeyboardInterrupt):
        serve(address, host=HOST, port=port, extend=extend, say=say)


@contextmanager
def _log(store: str | None) -> Iterator[str]:
    """The log to use: the given one, or one that goes when the demo ends."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="rankloop-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _answers(address: str) -> bool:
    """Wait for the first page; False if it does not come."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if httpx.get(address, timeout=PATIENCE, trust_env=False).status_code == 200:
                return True
        except httpx.TransportError:
            time.sleep(0.05)
    return False


def free_port(port: int) -> int:
    """The port, if nobody listens there; 0 stands for any that is free."""
    with listen(HOST, port) as probe:
        return int(probe.getsockname()[1])
