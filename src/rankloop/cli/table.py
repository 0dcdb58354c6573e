"""`rankloop results add`, `table` and `pack`: runs for others to see, and to send."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from rankloop.cli.app import Json
from rankloop.cli.results import results
from rankloop.cli.terminal import err, out, print_json, print_table, table
from rankloop.display import counted, mean_text

if TYPE_CHECKING:
    from rankloop.studies.published_runs import Line


@results.command("table")
def show_table(
    file: Annotated[Path, typer.Argument(help="A table of runs, such as docs/results/runs.parquet.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this method, label, user, collection, grid or study; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Print a table of runs: how every method did on each collection with each user, whoever added it."""
    from rankloop.studies.published_runs import read_runs, summary

    lines = summary(read_runs(file), only or ())
    if json:
        print_json([one._asdict() | _intervals(one) for one in lines])
        return
    places = dict.fromkeys(line[:3] for line in lines)
    for collection, user, impressions in places:
        made = table(
            escape(f"{user} clicks, {collection}, {impressions:,}"), "online", "offline", "speed", "runs", "on"
        )
        for line in lines:
            if line[:3] == (collection, user, impressions):
                made.add_row(escape(line.label), *_means(line), f"{line.runs:,}", _place(line))
        out.print()
        print_table(made)
    out.print(
        "\nMean ± 95 % t-interval over runs, folds fixed. Online: Σ 0.9995^i · nDCG of the pages shown. Offline: nDCG "
        "on\nheld-out queries at the end; speed: its mean over the learning curve."
    )


@results.command("add")
def add(
    folders: Annotated[list[Path], typer.Argument(help="Results folders, such as results/paper.")],
    to: Annotated[Path, typer.Option(help="The table of runs; created if it does not exist.")],
) -> None:
    """Add the runs of results folders to a table of runs, one row each; existing rows stay as they are."""
    from rankloop.studies.published_runs import add_runs, rows_of
    from rankloop.studies.records import read_results, require_finished

    for folder in folders:
        new, whole = add_runs(to, rows_of(require_finished(read_results(folder), folder)))
        err.print(f"{to}: {counted(new, 'run')} of {folder} added, {whole:,} in all", markup=False)


@results.command("pack")
def pack(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/paper.")],
    to: Annotated[Path, typer.Option(help="The tar file to write.")],
) -> None:
    """Pack a results folder without weights and per-query results into one small file, enough for reports.

    [bold]tar -xf FILE -C FOLDER[/bold] unpacks it for rankloop report.
    """
    from rankloop.studies.packed import pack as write

    runs = write(folder, to)
    err.print(f"{to}: {counted(runs, 'run')}, {to.stat().st_size / 1e6:.1f} MB", markup=False)


def _means(line: "Line") -> list[str]:
    return [mean_text(*line.online, 1), mean_text(*line.offline, 4), mean_text(*line.speed, 4)]


def _place(line: "Line") -> str:
    return " and ".join("GPU" if engine else "CPU" for engine in line.engines)


def _intervals(line: "Line") -> dict[str, Any]:
    return {name: getattr(line, name)._asdict() for name in ("online", "offline", "speed")}
