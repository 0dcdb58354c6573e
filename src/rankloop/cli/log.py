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
    from rankloop.cli.logs import main_export

    main_export(store, file, form=form, model=model, json=json)


@log_app.command("import")
def log_import(
    file: Annotated[Path, typer.Argument(help="What export wrote.")], store: NewStore, json: Json = False
) -> None:
    """Put an exported log into an empty store of either kind, all or nothing."""
    from rankloop.cli.logs import main_import

    main_import(file, store, json=json)


@log_app.command("verify")
def log_verify(store: Store, json: Json = False) -> None:
    """Check every event, fold the log again and compare with every snapshot, bit by bit; exit code 1 if something is
    wrong."""
    from rankloop.cli.logs import main_verify

    raise typer.Exit(main_verify(store, json=json))


@log_app.command("compact")
def log_compact(
    store: Store,
    keep_days: Annotated[float, typer.Option(help="Delete what is older, as far as no model needs it.")],
    json: Json = False,
) -> None:
    """Delete old events and snapshots. What models have learned stays, and so do the counts on the dashboard."""
    from rankloop.cli.logs import main_compact

    main_compact(store, keep_days, json=json)


@log_app.command("backup")
def log_backup(
    store: Store, file: Annotated[Path, typer.Argument(help="The file to write.")], json: Json = False
) -> None:
    """Put a copy of one moment aside while the service runs: a SQLite file, or an export of a PostgreSQL log."""
    from rankloop.cli.logs import main_backup

    main_backup(store, file, json=json)


@log_app.command("restore")
def log_restore(
    file: Annotated[Path, typer.Argument(help="What backup wrote.")], store: NewStore, json: Json = False
) -> None:
    """Make a new log from a backup; one that is there is never overwritten."""
    from rankloop.cli.logs import main_restore

    main_restore(file, store, json=json)


@log_app.command("erase")
def log_erase(
    store: Store,
    client: Annotated[str, typer.Option(help="The client, as it was sent with rank requests.")],
    json: Json = False,
) -> None:
    """Erase one person's impressions and clicks. Weights stay until a refold."""
    from rankloop.cli.logs import main_erase

    main_erase(store, client, json=json)


@log_app.command("refold")
def log_refold(
    store: Store, model: Annotated[str, typer.Option(help="The model to compute anew.")], json: Json = False
) -> None:
    """Compute a model's weights anew from what is left in the log; a service that is learning goes on from them."""
    from rankloop.cli.logs import main_refold

    main_refold(store, model, json=json)


@app.command()
def replay(
    log: Annotated[str, typer.Argument(help="A SQLite file, postgresql://…, or what rankloop log export wrote.")],
    learner: Annotated[
        str | None, typer.Option(help="Another method, such as PDGD; the model's own by default.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Whose log; needed if there are several.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="SETTING=VALUE of the learner, or scaling, start, late_updates, guards.SETTING."),
    ] = None,
    begin: Annotated[
        int | None, typer.Option("--from", help="Begin with the snapshot of this version; by default with nothing.")
    ] = None,
    evaluate: Annotated[float, typer.Option(help="Share of closed impressions, the newest, to estimate on.")] = 0.3,
    at_most: Annotated[int, typer.Option(help="Evaluate so many of them, evenly spaced.")] = 10_000,
    eta: Annotated[
        float | None,
        typer.Option(help="Rank k is examined with probability (1/k)^eta; by default as the model assumes."),
    ] = None,
    clip: Annotated[float, typer.Option(help="The largest weight in clipped estimates.")] = 10.0,
    minimum_effective: Annotated[
        float, typer.Option(help="Impressions' worth of evidence below which there is no estimate.")
    ] = 100.0,
    picture: Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Fold a log with other settings or another learner: what it would have learned, and what that would have earned.

    Nobody is exposed to it. Example: [bold]rankloop replay shop.db --learner PDGD --set learning_rate=0.03[/bold].
    """
    from rankloop.cli.replay import main
    from rankloop.logs.replay.replaying import Options

    options = Options(
        model=model, learner=learner, changes=tuple(set_ or ()), begin=begin, evaluate=evaluate, at_most=at_most,
        eta=eta, clip=clip, minimum_effective=minimum_effective,
    )  # fmt: skip
    main(log, options, json=json, picture=picture)
