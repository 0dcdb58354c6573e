"""`rankloop data`: what collections there are, import your own, make synthetic ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.app import Fold, Json, Scale, group
from rankloop.cli.terminal import out, print_json, print_table, progress_in_bytes, table, working
from rankloop.display import size

if TYPE_CHECKING:
    from rankloop.data.store.reports import Listed, Report

commands = group("data", "List, import and generate collections.")


@commands.command("list")
def list_(json: Json = False) -> None:
    """List what you can load: synthetic worlds, your imports, and published collections with their ids."""
    from rankloop import data

    stored = data.listing()
    if json:
        print_json(stored)
    else:
        _show_collections(stored)


@commands.command()
def add(
    name: Annotated[str, typer.Argument(help="The name to load it by; a published id such as mq2008.")],
    path: Annotated[Path, typer.Argument(help="A file, or a folder with train/vali/test or Fold1 … Fold5.")],
    normalise: Annotated[
        bool | None,
        typer.Option(help="Min–max per query and feature; decided from the data by default."),
    ] = None,
    zero_based: Annotated[bool, typer.Option(help="The files number their features from 0.")] = False,
    json: Json = False,
) -> None:
    """Import SVMlight/LETOR files once; after that they open in milliseconds.

    Example: [bold]rankloop data add mq2008 ~/letor/MQ2008[/bold], then [bold]rankloop run --data mq2008[/bold].
    """
    from rankloop import data

    with progress_in_bytes(f"importing {name}") as update:
        report = data.add(name, path, normalise=normalise, zero_based=zero_based, progress=update)
    _show_report(report, json)


@commands.command()
def info(
    name: Annotated[str, typer.Argument(help="A name, a path or a synthetic world.")],
    fold: Fold = None,
    scale: Scale = 1.0,
    json: Json = False,
) -> None:
    """Describe a collection: sizes, grades, documents per query, source, and differences from the published one."""
    from rankloop import data

    with working(f"opening {name}"):
        report = data.info(name, fold=fold, scale=scale)
    _show_report(report, json)


@commands.command()
def remove(
    name: Annotated[str, typer.Argument(help="A name or path from `rankloop data list`.")],
    json: Json = False,
) -> None:
    """Remove an import or a synthetic world from the data folder; the source files are not touched."""
    from rankloop import data

    removed = data.remove(name)
    if json:
        print_json(removed)
    else:
        for entry in removed:
            typer.echo(f"removed {entry.name} ({size(entry.disk_bytes)})")


@commands.command()
def make(
    name: Annotated[str, typer.Argument(help="mslr-like, yahoo-like, istella-like or tiny.")],
    scale: Scale = 1.0,
    fold: Annotated[int, typer.Option(help="The fold: different queries of the same world.")] = 1,
    json: Json = False,
) -> None:
    """Generate a synthetic world now (otherwise it is generated on first use)."""
    from rankloop import data

    with working(f"making {name} at scale {scale:g}"):
        report = data.make(name, fold=fold, scale=scale)
    _show_report(report, json)


def _show_collections(collections: "Sequence[Listed]") -> None:
    """What is stored, then what could be."""
    from rankloop.data.catalogue import CATALOGUE
    from rankloop.data.worlds import WORLDS

    if collections:
        stored = table("stored", "queries", "documents", "features", "folds", "scale", "disk", "from")
        for entry in collections:
            stored.add_row(
                entry.name, f"{entry.queries:,}", f"{entry.documents:,}", str(entry.features),
                ",".join(map(str, entry.folds)) or "–", "–" if entry.scale is None else f"{entry.scale:g}",
                size(entry.disk_bytes), entry.source or "made here",
            )  # fmt: skip
        print_table(stored)
        out.print()
    worlds = table("synthetic worlds", "queries", "features", "")
    for world in WORLDS.values():
        worlds.add_row(world.name, f"{sum(world.queries.values()):,}", str(world.features), world.title)
    print_table(worlds)
    out.print()
    published = table("published sets", "features", "grades", "")
    for known in CATALOGUE.values():
        features = " or ".join(map(str, known.features))
        published.add_row(known.id, features, f"0–{known.highest_grade}", known.title)
    print_table(published)
    out.print("\nImport your copy of a published set with: rankloop data add ID PATH")


def _show_report(report: "Report", json: bool) -> None:
    """Everything about one collection."""
    if json:
        print_json(report)
        return
    out.print(f"[bold]{report.name}[/bold]  {report.features} features, {size(report.disk_bytes)}")
    out.print(f"  from        {report.source or 'made here'}")
    out.print(f"  normalised  {'yes' if report.normalised else 'no'} ({report.normalisation})")
    shapes = table("", "queries", "documents", "per query", "nothing relevant", "documents by grade")
    for fold, splits in report.folds.items():
        for split, shape in splits.items():
            shapes.add_row(
                f"  {fold} {split}", f"{shape.queries:,}", f"{shape.documents:,}",
                f"{shape.shortest} – {shape.mean:.1f} – {shape.longest}", f"{shape.nothing_relevant:,}",
                " ".join(f"{count:,}" for count in shape.grades),
            )  # fmt: skip
    if report.folds:
        print_table(shapes)
    for difference in report.differences:
        out.print(f"  [yellow]differs[/yellow]  {difference}")
