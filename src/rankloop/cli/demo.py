"""`rankloop demo`: a search that learns while you click."""

import sys
from typing import Annotated

import typer

from rankloop.cli.app import app
from rankloop.cli.terminal import err, open_browser, out, working


@app.command()
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 8090,
    store: Annotated[
        str | None, typer.Option(help="Keep the log in this SQLite file; by default it is deleted with the demo.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of pages and simulated visitors; the same seed gives the same results.")
    ] = 1,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Search the Python documentation with a ranking that learns from your clicks and 1,000 simulated visitors’."""
    from rankloop.settings import require_seed
    from rankloop.web.demo.engine import Engine
    from rankloop.web.demo.serving import PATIENCE, free_port, run_demo

    seed, port = require_seed("demo", seed), free_port(port)
    with working("reading the Python standard library (a few seconds, the first time only)"):
        engine = Engine()

    def ready(address: str, answers: bool) -> None:
        if not answers:
            err.print(f"rankloop: the first page did not come within {PATIENCE:g} s; try {address} yourself")
            return
        out.print(f"The demo is at {address} (Ctrl-C stops it)")
        sys.stdout.flush()
        if browser:
            open_browser(address)

    run_demo(engine, store, port, seed, ready=ready, say=err.print)
