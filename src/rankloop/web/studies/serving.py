"""The viewer as a server on this machine, until it is told to end."""

from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from rankloop.errors import SettingsError
from rankloop.live.http.connections import NEWCOMERS, limited
from rankloop.live.serving import is_for_this_machine, listen, url_of
from rankloop.web.studies.folders import require_folder
from rankloop.web.studies.pages import StudyPages
from rankloop.web.studies.shelf import Shelf


def create_viewer(root: Path) -> Starlette:
    """The viewer as an application."""
    application = Starlette()
    StudyPages(application, Shelf(root))
    return application


def serve_studies(root: Path, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Show the studies of a folder until the process is told to end; `ready` hears the address."""
    require_folder(root)
    if not is_for_this_machine(host):
        raise SettingsError(
            f"reports are shown on this machine only, not on {host}; omit --host, or share "
            "report.html, which is self-contained"
        )
    listening = listen(host, port)
    ready(url_of(listening, host))
    config = uvicorn.Config(
        create_viewer(root), http=limited(NEWCOMERS), ws="none", log_level="warning", access_log=False,
        server_header=False, timeout_graceful_shutdown=3,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
