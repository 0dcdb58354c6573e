"""`rankloop serve`: open the store, refuse what is not safe, and answer."""

import ipaddress
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from rankloop.errors import SettingsError
from rankloop.live.http import create_app
from rankloop.live.http.app import Application
from rankloop.live.keys import Keyring
from rankloop.live.requests import Limits
from rankloop.live.service import Service
from rankloop.live.stores import open_store
from rankloop.terminal import err

SWITCH_SECONDS = 0.0005
KEEP_ALIVE_SECONDS = 75
"""Longer than the proxies and clients in front of it usually keep theirs: who hangs up first never loses a request."""


def serve(
    address: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    learn: bool = True,
    limits: Limits | None = None,
    extend: Callable[[Application], None] = lambda application: None,
) -> None:
    """Serve the log at an address until the process is told to end; `extend` adds pages to what is served."""
    limits = limits or Limits()
    store = open_store(address, serving=True)
    keys = Keyring(store, limits.rate)
    if keys.open and not is_local(host):
        store.close()
        raise SettingsError(
            f"without API keys the service listens on this machine only, not on {host}; make a key first: "
            f"rankloop keys create NAME --scope rank --scope click --scope admin --store {address}"
        )
    app = create_app(Service(store, limits=limits, learn=learn), keys)
    extend(app)
    err.print(f"rankloop serves {store!r} on http://{host}:{port}")
    # The learner and the writer hold the interpreter for moments; a page should not wait for the default 5 ms.
    sys.setswitchinterval(SWITCH_SECONDS)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=10, timeout_keep_alive=KEEP_ALIVE_SECONDS, h11_max_incomplete_event_size=64 << 10,
    )  # fmt: skip
    uvicorn.Server(config).run()


def is_local(host: str) -> bool:
    """Whether an address can only be reached from this machine.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        raise SettingsError(f"host {host!r} is no address of this machine") from None
    return all(ipaddress.ip_address(address).is_loopback for address in found)
