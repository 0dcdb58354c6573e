"""`rankloop demo`: a real service on a log of its own, the demo's pages beside it, and a browser that opens them."""

import os
import signal
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from rankloop.cli.terminal import err, out, working
from rankloop.errors import SettingsError
from rankloop.live.http.app import Application
from rankloop.live.serving import serve
from rankloop.settings import require_seed
from rankloop.web.dashboard import add_dashboard
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.pages import ADDRESS, add_demo

HOST = "127.0.0.1"
_PATIENCE = 120.0  # seconds until the first page must be there: a first start compiles


def run_demo(store: str | None, port: int, seed: int, *, browser: bool) -> None:
    """Serve the demo until the process is told to end."""
    seed = require_seed("demo", seed)
    port = free_port(port)
    url = f"http://{HOST}:{port}"
    with working("reading the Python standard library (some seconds, the first time only)"):
        engine = Engine()

    def extend(application: Application) -> None:
        if not application.keys.open:
            raise SettingsError(f"demo: the log at {store} has API keys, so it is somebody's service; give another")
        add_dashboard(application)
        add_demo(application.pages, engine, url, seed)
        threading.Thread(target=_announce, args=(url + ADDRESS, browser), daemon=True).start()

    # However it is told to end, it ends in order, and its log goes with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _log(store) as address, suppress(KeyboardInterrupt):
        serve(address, host=HOST, port=port, extend=extend)


@contextmanager
def _log(store: str | None) -> Iterator[str]:
    """The log to use: the given one, or one that goes when the demo ends."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="rankloop-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _announce(address: str, browser: bool) -> None:
    """Tell where the demo is as soon as its first page is there."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            if httpx.get(address, timeout=_PATIENCE, trust_env=False).status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.05)
    else:
        err.print(f"rankloop: the first page did not come within {_PATIENCE:g} s; try {address} yourself")
        return
    out.print(f"The demo is at {address} (Ctrl-C ends it)")
    sys.stdout.flush()
    if browser and has_display():
        webbrowser.open(address)


def has_display() -> bool:
    """Whether a browser could be seen: without a display one in the terminal would open, in the way."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def free_port(port: int) -> int:
    """The port, if nobody listens there; 0 stands for any that is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SettingsError(
                f"demo: port {port} of {HOST} cannot be used ({error.strerror}); choose another with --port, "
                f"or --port 0 for any that is free"
            ) from None
        return int(probe.getsockname()[1])
