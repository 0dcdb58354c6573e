"""`rankloop export`: a live model, a ranker, its run file, or qrels. `-` writes to standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.app import Data, Fold, Plugin, Scale, group
from rankloop.cli.terminal import err
from rankloop.errors import DataError

if TYPE_CHECKING:
    from rankloop.data import Split

STDOUT = "-"
Out = Annotated[str, typer.Option(help="The file to write; - is standard output.")]
SplitName = Annotated[str, typer.Option(help="train, vali or test.")]

commands = group("export", "Export models, rankers, rankings and grades to other tools.")


@commands.command()
def model(
    store: Annotated[str, typer.Argument(help="A service's log: a SQLite file, or postgresql://…")],
    name: Annotated[str, typer.Option("--model", help="The live model.")],
    form: Annotated[str, typer.Option("--format", help="json, elasticsearch, opensearch, solr or onnx.")] = "json",
    out: Out = STDOUT,
    plugin: Plugin = None,
) -> None:
    """Export a live model's last saved state to another system, and measure how closely it ranks like the original."""
    from rankloop.interchange import export_model
    from rankloop.live.exporting import leaving, newest_pages
    from rankloop.live.loading import load
    from rankloop.logs.access import at_one_moment, find_model

    with at_one_moment(store) as log:
        stored = find_model(log, name)
        fold, _ = load(log, stored)
        pages = newest_pages(log, stored.id)
    leaves = leaving(fold.settings, fold.view(), pages, form)
    content = export_model(leaves.model, form)
    if out == STDOUT:
        sys.stdout.buffer.write(content)
    else:
        from rankloop.files import written_whole

        with written_whole(out) as partial:
            partial.write_bytes(content)
        err.print(f"{out}: {name}, version {fold.version}", markup=False)
    err.print(str(leaves), markup=False)


@commands.command()
def ranker(
    source: Annotated[Path, typer.Argument(help="A saved run, a record, or a results folder.")],
    out: Out = STDOUT,
    grid: Annotated[str | None, typer.Option(help="In a results folder: this grid.")] = None,
    collection: Annotated[str | None, typer.Option(help="In a results folder: this collection.")] = None,
    user: Annotated[str | None, typer.Option(help="In a results folder: this user.")] = None,
    label: Annotated[str | None, typer.Option(help="In a results folder: this label.")] = None,
    seed: Annotated[int | None, typer.Option(help="In a results folder: this seed.")] = None,
) -> None:
    """Export a learned ranker as JSON: weights, features, and how it was learned."""
    from rankloop.interchange.rankers import ranker_text, read_ranker

    if source.is_dir():
        from rankloop.interchange.records import ranker_of_study

        learned = ranker_of_study(source, grid=grid, collection=collection, user=user, label=label, seed=seed)
    else:
        learned = read_ranker(source)
    learner = learned.settings.get("learner")
    method = learner["learner"] if isinstance(learner, dict) and "learner" in learner else "linear ranker"
    _write(out, [ranker_text(learned)], f"{method}, {len(learned.weights)} weights")


@commands.command()
def run(
    ranker: Annotated[Path, typer.Argument(help="A ranker as JSON.")],
    data: Data,
    fold: Fold = None,
    scale: Scale = 1.0,
    split: SplitName = "test",
    out: Out = STDOUT,
    tag: Annotated[str, typer.Option(help="The name of the run in the file.")] = "rankloop",
    depth: Annotated[int | None, typer.Option(help="Only this many documents per query.")] = None,
) -> None:
    """Export a TREC run: the ranker's ranking of a split, for trec_eval or ir-measures."""
    from rankloop.interchange.trec import run_lines

    queries = _split(data, fold, scale, split)
    _write(out, run_lines(ranker, queries, tag=tag, depth=depth), f"{queries.queries:,} queries ranked")


@commands.command()
def qrels(
    data: Data,
    fold: Fold = None,
    scale: Scale = 1.0,
    split: SplitName = "test",
    out: Out = STDOUT,
    exponential: Annotated[bool, typer.Option(help="Write 2^grade − 1 instead of the grade.")] = False,
) -> None:
    """Export TREC qrels: the grades of a split."""
    from rankloop.interchange.trec import qrels_lines

    queries = _split(data, fold, scale, split)
    _write(out, qrels_lines(queries, exponential=exponential), f"{len(queries.grades):,} judgements")


def _split(data: str, fold: int | None, scale: float, name: str) -> "Split":
    from rankloop.data import load
    from rankloop.settings import require_choice

    collection = load(data, fold=fold, scale=scale)
    require_choice("export", "split", name, ("train", "vali", "test"))
    if name not in collection.splits:
        raise DataError(f"{collection.name} has no {name} split; there are {', '.join(collection.splits)}")
    return collection.splits[name]


def _write(out: str, pieces: Iterable[str], what: str) -> None:
    if out == STDOUT:
        sys.stdout.writelines(pieces)
        return
    from rankloop.files import write_text

    err.print(f"{write_text(out, pieces)}: {what}", markup=False)
