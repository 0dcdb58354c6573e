"""`rankloop report DIR --serve`: the viewer on this machine, until it is told to end."""

import os
import sys
import webbrowser
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from rankloop.cli.terminal import err
from rankloop.errors import SettingsError
from rankloop.live.serving import is_for_this_machine, listen, url_of
from rankloop.web.studies.folders import find_studies, require_folder
from rankloop.web.studies.pages import StudyPages
from rankloop.web.studies.shelf import Shelf


def create_viewer(root: Path) -> Starlette:
    """The viewer as an application."""
    application = Starlette()
    StudyPages(application, Shelf(root))
    return application


def serve_studies(root: Path, *, host: str = "127.0.0.1", port: int = 8100, browser: bool = True) -> None:
    """Show the studies of a folder until the process is told to end."""
    require_folder(root)
    if not is_for_this_machine(host):
        raise SettingsError(
            f"reports are shown on this machine only, not on {host}; leave --host away, or send report.html, "
            "which needs nothing but itself"
        )
    listening = listen(host, port)
    address = url_of(listening, host)
    number = len(find_studies(root))
    told = (
        f"{number} {'study' if number == 1 else 'studies'} of {root}"
        if number
        else f"{root}, which has no studies yet,"
    )
    err.print(f"rankloop shows {told} on {address}   (Ctrl-C ends)", markup=False)
    if browser and _has_screen():
        webbrowser.open(address)  # the system queues the request until the server answers
    config = uvicorn.Config(
        create_viewer(root), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
    )
    uvicorn.Server(config).run(sockets=[listening])


def _has_screen() -> bool:
    """Without one, the system might open a text browser in this very terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
