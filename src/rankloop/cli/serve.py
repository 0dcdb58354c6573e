"""`rankloop serve`: the service, with the dashboard beside it."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import STORE, Plugin, app
from rankloop.cli.terminal import err


class LogForm(StrEnum):
    """Lines for people, or for a machine that collects them."""

    text = "text"
    json = "json"


@app.command()
def serve(
    store: Annotated[str, typer.Argument(help="The log: a SQLite file (created if new), or postgresql://…")] = STORE,
    host: Annotated[
        str, typer.Option(help="The address to listen on; other machines can connect only if there are API keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 8080,
    learn: Annotated[bool, typer.Option(help="Learn in this process; --no-learn only ranks and logs.")] = True,
    max_candidates: Annotated[int, typer.Option(min=1, help="Maximum candidates in one rank request.")] = 5_000,
    max_body: Annotated[int, typer.Option(min=1024, help="Maximum bytes in one request.")] = 16 << 20,
    max_bodies: Annotated[int, typer.Option(min=1024, help="Maximum bytes of large bodies held at a time.")] = 256
    << 20,
    rate: Annotated[float, typer.Option(min=0.1, help="Requests per second for each key.")] = 10_000.0,
    keyless_rate: Annotated[
        float, typer.Option(min=0.1, help="Requests per second for all callers without a key, once there are keys.")
    ] = 100.0,
    keyless_connections: Annotated[
        int, typer.Option(min=1, help="Connections without a key; beyond that, the oldest is closed.")
    ] = 256,
    webhook: Annotated[
        str | None,
        typer.Option(help="Send alerts to this URL, signed with RANKLOOP_WEBHOOK_SECRET.", metavar="URL"),
    ] = None,
    webhook_secret_file: Annotated[
        Path | None, typer.Option(help="Read the secret from a file instead of the environment.")
    ] = None,
    log: Annotated[LogForm, typer.Option(help="The format of the service's log lines.")] = LogForm.text,
    plugin: Plugin = None,
) -> None:
    """Start the service: it ranks candidates and learns from clicks. Every event is on disk before it responds."""
    from rankloop.live import log_lines, tracing
    from rankloop.live.requests import Limits
    from rankloop.live.serving import serve
    from rankloop.live.webhook import checked_address, checked_secret
    from rankloop.web.dashboard import add_dashboard

    log_lines.set_up(log.value)
    tracing.set_up()
    limits = Limits(
        candidates=max_candidates, body_bytes=max_body, bodies_bytes=max_bodies, rate=rate, keyless_rate=keyless_rate,
        keyless_connections=keyless_connections,
    )  # fmt: skip
    secret = b""
    if webhook is not None:
        checked_address(webhook)
        secret = checked_secret(os.environ.get("RANKLOOP_WEBHOOK_SECRET"), webhook_secret_file)
    serve(
        store, host=host, port=port, learn=learn, limits=limits, webhook=webhook, webhook_secret=secret,
        extend=add_dashboard, dashboard="/", say=err.print,
    )  # fmt: skip
