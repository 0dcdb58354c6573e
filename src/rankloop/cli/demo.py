"""For everybody: a search that learns while you click."""

from typing import Annotated

import typer

from rankloop.cli.app import app


@app.command()
def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8090,
    store: Annotated[
        str | None, typer.Option(help="Keep the log here, a SQLite file; without it, the log goes with the demo.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of pages and simulated visitors: the same seed, the same story.")] = 1,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Search the Python standard library with a ranking that learns from your clicks, and from 1,000 visitors'."""
    from rankloop.web.demo.serving import run_demo

    run_demo(store, port, seed, browser=browser)
