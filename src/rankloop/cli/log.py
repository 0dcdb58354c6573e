"""For those who keep a log: export, import, verify, compact, erase; and replay it with other settings."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.app import Json, app

log_app = typer.Typer(
    help="The log of a service: move it, check it, keep it small. All of it may run beside the service.",
    no_args_is_help=True,
)
app.add_typer(log_app, name="log")

Store = Annotated[str, typer.Argument(help="The log: a SQLite file, or postgresql://…")]
NewStore = Annotated[str, typer.Argument(help="The new log: a SQLite file, or an empty database, postgresql://…")]


@log_app.command("export")
def log_export(
    store: Store,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    form: Annotated[
        str, typer.Option("--format", help="rankloop (everything), ubi (for _bulk), ubi-queries or ubi-events.")
    ] = "rankloop",
    model: Annotated[str | None, typer.Option(help="For UBI: the pages of this model only.")] = None,
    json: Json = False,
) -> None:
    """Write the whole log, as it is now, into one file that checks itself; or its pages and clicks as UBI 1.3.

    The file is as secret as the log: it holds keys' hashes and the secrets that sign impression ids.
    """
    from rankloop.live.upkeep.commands import main_export

    main_export(store, file, form=form, model=model, json=json)


@log_app.command("import")
def log_import(
    file: Annotated[Path, typer.Argument(help="What export wrote.")], store: NewStore, json: Json = False
) -> None:
    """Put an exported log into an empty store of either kind, all or nothing."""
    from rankloop.live.upkeep.commands import main_import

    main_import(file, store, json=json)


@log_app.command("verify")
def log_verify(store: Store, json: Json = False) -> None:
    """Check every event, fold the log again and compare with every snapshot, bit by bit; exit code 1 if something is
    wrong."""
    from rankloop.live.upkeep.commands import main_verify

    raise typer.Exit(main_verify(store, json=json))


@log_app.command("compact")
def log_compact(
    store: Store,
    keep_days: Annotated[float, typer.Option(help="Delete what is older, as far as no model needs it.")],
    json: Json = False,
) -> None:
    """Delete old events and snapshots. What models have learned stays, and so do the counts on the dashboard."""
    from rankloop.live.upkeep.commands import main_compact

    main_compact(store, keep_days, json=json)


@log_app.command("backup")
def log_backup(
    store: Store, file: Annotated[Path, typer.Argument(help="The file to write.")], json: Json = False
) -> None:
    """Put a copy of one moment aside while the service runs: a SQLite file, or an export of a PostgreSQL log."""
    from rankloop.live.upkeep.commands import main_backup

    main_backup(store, file, json=json)


@log_app.command("restore")
def log_restore(
    file: Annotated[Path, typer.Argument(help="What backup wrote.")], store: NewStore, json: Json = False
) -> None:
    """Make a new log from a backup; one that is there is never overwritten."""
    from rankloop.live.upkeep.commands import main_restore

    main_restore(file, store, json=json)


@log_app.command("erase")
def log_erase(
    store: Store,
    client: Annotated[str, typer.Option(help="The client, as it was sent with rank requests.")],
    json: Json = False,
) -> None:
    """Erase one person's impressions and clicks. Weights stay until a refold."""
    from rankloop.live.upkeep.commands import main_erase

    main_erase(store, client, json=json)


@log_app.command("refold")
def log_refold(
    store: Store, model: Annotated[str, typer.Option(help="The model to compute anew.")], json: Json = False
) -> None:
    """Compute a model's weights anew from what is left in the log; a service that is learning goes on from them."""
    from rankloop.live.upkeep.commands import main_refold

    main_refold(store, model, json=json)
