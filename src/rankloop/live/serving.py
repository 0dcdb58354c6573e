"""Serving: open the store, refuse what is not safe, and answer."""

import errno
import gc
import logging
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

import uvicorn

from rankloop.errors import RankloopError, SettingsError
from rankloop.live.errors import StateError
from rankloop.live.http import create_app
from rankloop.live.http.app import Application
from rankloop.live.http.connections import SPARE_FILES, limited
from rankloop.live.kept import summary_of
from rankloop.live.keys import Keyring
from rankloop.live.loading import settings_of
from rankloop.live.local import is_local
from rankloop.live.preparing import Preparation
from rankloop.live.requests import Limits
from rankloop.live.service import Service
from rankloop.live.stores import open_store
from rankloop.live.webhook import Webhook

log = logging.getLogger("rankloop.service")

SWITCH_SECONDS = 0.0005
FREEZE_AFTER = 10
"""Seconds, or a few more: by then somebody has asked for a page, and what that needs is loaded."""
COMPILES_AFTER = 4
"""Seconds, or a few more: kernels that are on disk are loaded by then."""
END_SECONDS = 30.0
"""How long a service that was asked to end may take: for requests under way, what waits to be written, a snapshot."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the proxies and clients in front of it usually keep theirs: who hangs up first never loses a request."""


def serve(
    address: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    learn: bool = True,
    limits: Limits | None = None,
    webhook: str | None = None,
    webhook_secret: bytes = b"",
    extend: Callable[[Application], None] = lambda application: None,
    dashboard: str = "",
    say: Callable[[str], None] = print,
) -> None:
    """Serve the log at an address until the process is asked to end.

    `extend` adds pages to what is served, `dashboard` is where those for people begin; `say` hears where it listens.
    Alerts are sent to `webhook`, signed.
    """
    limits = limits or Limits()
    require_files()
    store = open_store(address, serving=True)
    keys = Keyring(store, limits.rate)
    if keys.open and not is_for_this_machine(host):
        store.close()
        place = "postgresql://…" if store.shared else address  # the real one may hold a password
        raise SettingsError(
            f"without API keys the service listens on this machine only, not on {host}; make a key first: "
            f"rankloop keys create NAME --scope rank --scope click --scope admin --store {place}"
        )
    try:
        for model in store.models():
            settings_of(model)
            if kept := store.newest_snapshot(model.id):
                with suppress(StateError):  # damage is one model's trouble, and the others are served
                    summary_of(kept.state)
        teller = Webhook(webhook, webhook_secret, store) if webhook else None
        listening = listen(host, port)
    except RankloopError:
        store.close()
        raise
    app = create_app(Service(store, limits=limits, learn=learn, webhook=teller), keys)
    extend(app)
    url = url_of(listening, host)
    say(f"rankloop serves {store} on {url}")
    if dashboard:
        say(f"dashboard: {url}{dashboard}")
    app.service.refreshers.append(_tells_of_compiling(app.service.preparation, say))
    _keep_pauses_short(app.service)
    config = uvicorn.Config(
        app, http=limited(limits.keyless_connections), ws="none", log_level="warning", log_config=None,
        access_log=False, server_header=False, timeout_graceful_shutdown=10, timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )  # fmt: skip
    Server(config).run(sockets=[listening])


MOST_FILES = 1 << 16
LEAST_CONNECTIONS = 128


def require_files() -> None:
    """As many open files as the system allows this process, for each connection is one; refused if those are too few.

    Without that, a service that runs out of them could not even say so: it could accept no connection to say it on.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):  # where the system says one thing and does another, the old limit stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft != resource.RLIM_INFINITY and soft < SPARE_FILES + LEAST_CONNECTIONS:
        raise SettingsError(
            f"this process may open {soft} files, too few to serve: {SPARE_FILES} are for the log, and each connection "
            f"takes one; allow at least {SPARE_FILES + LEAST_CONNECTIONS} (ulimit -n, or LimitNOFILE of a unit)"
        )


class Server(uvicorn.Server):
    """A server that ends when it is asked to, whatever hangs."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a thread sees to it that it does."""
        super().handle_exit(sig, frame)
        threading.Thread(target=_end_anyway, name="rankloop-end", daemon=True).start()


def _end_anyway() -> None:
    """What was acknowledged is on disk, so nothing is lost by not waiting longer."""
    time.sleep(END_SECONDS)
    log.error("the service did not end within %g s, because its store or its compiler hangs; it ends now", END_SECONDS)
    os._exit(1)


def _tells_of_compiling(preparation: Preparation, say: Callable[[str], None]) -> Callable[[], None]:
    """Called every second or so: says once that the first page waits, if kernels take longer than loading them does."""
    looks = iter(range(COMPILES_AFTER))

    def look() -> None:
        if next(looks, None) == COMPILES_AFTER - 1 and not preparation.is_done:
            say("compiling, once after an installation: the first page may wait for half a minute")

    return look


def _keep_pauses_short(service: Service) -> None:
    """Two settings of the interpreter without which some pages wait a tenth of a second."""
    # The learner and the writer hold the interpreter for moments; a page should not wait for the default 5 ms.
    sys.setswitchinterval(SWITCH_SECONDS)
    # Compiled code brings some 160,000 objects that live as long as the process. The garbage collector need not look at
    # them again and again: what there is now is kept out of its sight, and what the first pages load a little later.
    gc.collect()
    gc.freeze()
    looks = iter(range(FREEZE_AFTER))
    service.refreshers.append(lambda: gc.freeze() if next(looks, None) == FREEZE_AFTER - 1 else None)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Of a name with several addresses, the IPv4 one."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(addresses, key=lambda one: one[0] != socket.AF_INET)
        return socket.create_server((str(address[0]), port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise SettingsError(f"port {port} is in use by another program; choose another with --port") from None
        raise SettingsError(f"cannot listen on {host}, port {port}: {error.strerror}") from None


def url_of(listening: socket.socket, host: str) -> str:
    """Where a browser finds what listens on this host."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


def is_for_this_machine(host: str) -> bool:
    """Whether what listens on a host, by whichever of its addresses, can only be reached from this machine.

    >>> is_for_this_machine("127.0.0.1"), is_for_this_machine("localhost"), is_for_this_machine("0.0.0.0")
    (True, True, False)
    """
    try:
        return all(is_local(str(info[4][0])) for info in socket.getaddrinfo(host, None))
    except OSError:
        raise SettingsError(f"host {host!r} is not an address of this machine") from None
