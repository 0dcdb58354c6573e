"""For those who keep a log: export, import, verify, compact, erase; and replay it with other settings."""

import typer

from rankloop.cli.app import app

log_app = typer.Typer(help="The log of a service: move it, check it, keep it small.", no_args_is_help=True)
app.add_typer(log_app, name="log")
