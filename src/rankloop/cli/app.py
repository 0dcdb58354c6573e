"""The root of the command line, and the options that several commands share."""

from typing import TYPE_CHECKING, Annotated

import typer

from rankloop import __version__

if TYPE_CHECKING:
    from rankloop.client import Client

app = typer.Typer(
    help="Online learning to rank: search rankers that learn from clicks while people use them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

URL = "http://127.0.0.1:8080"
"""Where a service listens unless somebody says otherwise."""
PATIENCE = 30.0
"""Seconds in which a service should have answered: nobody's page waits for a command."""
STORE = "rankloop.db"
"""Where the log of a service lies unless somebody says otherwise."""

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON and nothing else.")]
Data = Annotated[str, typer.Option(help="A synthetic world, a name or a path.")]
Scale = Annotated[float, typer.Option(help="Size of a synthetic world; 1 is the size of the real collection.")]
Fold = Annotated[int | None, typer.Option(help="Which fold.")]
User = Annotated[
    str, typer.Option(help="A name (perfect, noisy, navigational, near-random), or a table as in a study file.")
]
Against = Annotated[
    str | None, typer.Option(help="Compare with this method or label; PDGD by default, as in the paper.")
]
Generalise = Annotated[
    str,
    typer.Option(
        "--generalise-to",
        help="this-collection (folds fixed, seeds random) or similar-collections (folds random).",
    ),
]
Url = Annotated[str, typer.Option(help="The service's URL.")]
Key = Annotated[
    str | None,
    typer.Option(envvar="RANKLOOP_API_KEY", help="An API key with the scope admin, if the service needs one."),
]
Workers = Annotated[int | None, typer.Option(help="Processes; all cores by default.")]


def service_at(url: str, key: str | None, *, patience: float = 0.0) -> "Client":
    """The service that a command talks to, where it may take longer than usual with more patience."""
    from rankloop.client import Client

    return Client(url, key, timeout=max(patience, PATIENCE))


def _load_plugins(modules: list[str] | None) -> list[str]:
    """Before anything else looks at what they bring."""
    if not modules:
        return []
    from rankloop.plugins import load

    return list(load(modules))


Plugin = Annotated[
    list[str] | None,
    typer.Option(
        callback=_load_plugins,
        help="A module or .py file with your own learners, users, rankers or attributes; may be repeated.",
        metavar="MODULE",
    ),
]


def group(name: str, help: str) -> typer.Typer:
    """A command with commands of its own."""
    made = typer.Typer(help=help, no_args_is_help=True)
    app.add_typer(made, name=name)
    return made


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Online learning to rank: search rankers that learn from clicks while people use them."""
    if version:
        typer.echo(f"rankloop {__version__}")
        raise typer.Exit
