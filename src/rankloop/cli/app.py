"""The root of the command line, and what all commands share."""

from typing import Annotated

import typer

from rankloop import __version__

app = typer.Typer(
    help="Online learning to rank: rankers that learn, while they are being used, from what people click.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON and nothing else.")]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Online learning to rank: rankers that learn, while they are being used, from what people click."""
    if version:
        typer.echo(f"rankloop {__version__}")
        raise typer.Exit
