"""For researchers: collections, studies, tuning, benchmarks, and results for other tools."""

from pathlib import Path
from typing import Annotated, cast

import typer

from rankloop.cli.app import Json, app

data_app = typer.Typer(help="Collections: what is there, import your own, make synthetic ones.", no_args_is_help=True)
study_app = typer.Typer(help="Studies: those of the paper, and your own.", no_args_is_help=True)
export_app = typer.Typer(help="Rankers, rankings and grades for other tools.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")
app.add_typer(export_app, name="export")

Scale = Annotated[float, typer.Option(help="Size of a synthetic world; 1 is the size of the real collection.")]


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study by name (rankloop study list), or a .toml file.")] = "quick",
    data: Annotated[
        list[str] | None,
        typer.Option(help="ID=PATH: the real collection for its stand-in. NAME or PATH: this one for all."),
    ] = None,
    scale: Annotated[float | None, typer.Option(help="Size of synthetic worlds; 1 is that of the real ones.")] = None,
    fold: Annotated[int | None, typer.Option(help="This fold only.")] = None,
    impressions: Annotated[int | None, typer.Option(help="Pages shown per run.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Runs per cell, with different seeds.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the first repeat; the others count on.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="learner.SETTING=VALUE, or METHOD.SETTING=VALUE.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this method, label, user, collection or grid; may be repeated.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    on: Annotated[str, typer.Option(help="local, ray (the cluster of this machine), or ray://HOST:PORT.")] = "local",
    out: Annotated[Path | None, typer.Option(help="Results folder; results/STUDY by default.")] = None,
    json: Json = False,
) -> None:
    """Run a study: learners meet simulated users, and a table, pictures and a report say what they learned.

    Without a name: six methods start knowing nothing, show 10,000 result pages each to people with position bias, and
    learn from their clicks. [bold]rq1[/bold] … [bold]rq5[/bold] are the paper's research questions, [bold]paper[/bold]
    all of them. What is finished is kept: the same command goes on where it was stopped.

    Try [bold]rankloop run --only ROLTR --only PDGD --impressions 100000[/bold].
    """
    from rankloop.cli import studies as command

    raise typer.Exit(
        command.run(
            study, data=data or (), scale=scale, fold=fold, impressions=impressions, repeats=repeats, seed=seed,
            settings=set_ or (), only=only or (), workers=workers, on=on, folder=out, json=json,
        )
    )  # fmt: skip


@app.command()
def results(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/quick.")], json: Json = False
) -> None:
    """Print what a results folder holds."""
    from rankloop.cli import studies as command

    command.results(folder, json)


@app.command()
def report(
    folder: Annotated[
        Path, typer.Argument(help="A results folder, such as results/quick; with --serve also one that holds several.")
    ],
    serve: Annotated[bool, typer.Option("--serve", help="Show the reports as pages on this machine.")] = False,
    host: Annotated[str, typer.Option(help="With --serve: an address of this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve; 0 takes a free one.")] = 8100,
    browser: Annotated[bool, typer.Option(help="With --serve: open the pages in a browser.")] = True,
) -> None:
    """Write the report of a results folder anew (report.html, figures, tables), or show the reports that there are.

    [bold]rankloop report results --serve[/bold] shows every study below results, also one that is still running.
    """
    if serve:
        from rankloop.web.studies import serve_studies

        serve_studies(folder, host=host, port=port, browser=browser)
        return
    from rankloop.studies import report
    from rankloop.studies.records import read_results

    typer.echo(str(report.write(read_results(folder), folder)))


@app.command()
def tune(
    learner: Annotated[str, typer.Argument(help="The method to tune, such as ROLTR.")],
    data: Annotated[
        str, typer.Option(help="A synthetic world, a name or a path; its validation split is used.")
    ] = "mslr-like",
    scale: Annotated[float | None, typer.Option(help="Size of a synthetic world; 1 is that of the real one.")] = None,
    fold: Annotated[int | None, typer.Option(help="This fold only.")] = None,
    user: Annotated[str, typer.Option(help="perfect, noisy, navigational or near-random.")] = "noisy",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="SETTING=VALUE,VALUE,…; learning rates by default.")
    ] = None,
    objective: Annotated[str, typer.Option(help="online, offline, or speed (the mean of the curve).")] = "online",
    impressions: Annotated[int, typer.Option(help="Pages shown per run.")] = 10_000,
    repeats: Annotated[int, typer.Option(help="Runs per candidate, with different seeds.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the first repeat.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the study that runs the choice on the test split.")] = None,
    json: Json = False,
) -> None:
    """Search settings on the validation split, the way the paper chose its learning rates.

    Example: [bold]rankloop tune ROLTR --set learning_rate=0.003,0.01,0.03 --out tuned.toml[/bold].
    """
    from rankloop.cli.tuning import main as main_tune
    from rankloop.settings import require_choice
    from rankloop.studies import tuning

    require_choice("tune", "objective", objective, ("online", "offline", "speed"))
    main_tune(
        learner, data=data, scale=scale, fold=fold, user=user, search=set_ or (),
        objective=cast(tuning.Objective, objective), impressions=impressions, repeats=repeats, seed=seed,
        workers=workers, out=out, json=json,
    )  # fmt: skip


Out = Annotated[str, typer.Option(help="The file to write; - is standard output.")]
Fold = Annotated[int | None, typer.Option(help="Which fold.")]
SplitName = Annotated[str, typer.Option(help="train, vali or test.")]


@export_app.command("ranker")
def export_ranker(
    source: Annotated[Path, typer.Argument(help="A saved run, a record, or a results folder.")],
    out: Out = "-",
    grid: Annotated[str | None, typer.Option(help="In a results folder: this grid.")] = None,
    collection: Annotated[str | None, typer.Option(help="In a results folder: this collection.")] = None,
    user: Annotated[str | None, typer.Option(help="In a results folder: this user.")] = None,
    label: Annotated[str | None, typer.Option(help="In a results folder: this label.")] = None,
    seed: Annotated[int | None, typer.Option(help="In a results folder: this seed.")] = None,
) -> None:
    """A learned ranker as JSON: weights, features, and how it was learned."""
    from rankloop.cli import exports

    exports.main_ranker(source, out=out, grid=grid, collection=collection, user=user, label=label, seed=seed)


@export_app.command("run")
def export_run(
    ranker: Annotated[Path, typer.Argument(help="A ranker as JSON.")],
    data: Annotated[str, typer.Option(help="A synthetic world, a name or a path.")],
    fold: Fold = None,
    scale: Scale = 1.0,
    split: SplitName = "test",
    out: Out = "-",
    tag: Annotated[str, typer.Option(help="The name of the run in the file.")] = "rankloop",
    depth: Annotated[int | None, typer.Option(help="Only so many documents per query.")] = None,
) -> None:
    """A TREC run: the ranker's ranking of a split, for trec_eval or ir-measures."""
    from rankloop.cli import exports

    exports.main_run(ranker, data=data, fold=fold, scale=scale, split=split, out=out, tag=tag, depth=depth)


@export_app.command("qrels")
def export_qrels(
    data: Annotated[str, typer.Option(help="A synthetic world, a name or a path.")],
    fold: Fold = None,
    scale: Scale = 1.0,
    split: SplitName = "test",
    out: Out = "-",
    exponential: Annotated[bool, typer.Option(help="Write 2^grade − 1 instead of the grade.")] = False,
) -> None:
    """TREC qrels: the grades of a split."""
    from rankloop.cli import exports

    exports.main_qrels(data=data, fold=fold, scale=scale, split=split, out=out, exponential=exponential)


@study_app.command("list")
def study_list(json: Json = False) -> None:
    """The studies that come with rankloop."""
    from rankloop.cli.terminal import print_json, print_table, table
    from rankloop.studies.specification import cells, load_study, names

    if json:
        print_json([{"name": name, "question": load_study(name).question} for name in names()])
        return
    made = table("study", "runs", "question")
    made.columns[2].justify = "left"
    for name in names():
        found = load_study(name)
        made.add_row(name, f"{len(cells(found)):,}", found.question)
    print_table(made)


@study_app.command("show")
def study_show(name: Annotated[str, typer.Argument(help="A study by name, or a .toml file.")]) -> None:
    """Print a study's file: copy it, change it, run it."""
    from rankloop.studies.specification import load_study, text_of

    if name.endswith(".toml"):
        load_study(name)
        typer.echo(Path(name).read_text(encoding="utf-8"), nl=False)
    else:
        typer.echo(text_of(name), nl=False)


@study_app.command("new")
def study_new(path: Annotated[Path, typer.Argument(help="The file to write, ending in .toml.")]) -> None:
    """Write a small study to start from."""
    from rankloop.cli import studies as command

    command.new_study(path)
    typer.echo(f"wrote {path}; run it with: rankloop run {path}")


@data_app.command("list")
def data_list(json: Json = False) -> None:
    """What can be loaded: synthetic worlds, what you imported, and the published sets with their ids."""
    from rankloop.cli.terminal import print_json, show_collections
    from rankloop.data import listing

    found = listing()
    if json:
        print_json(found)
    else:
        show_collections(found)


@data_app.command("add")
def data_add(
    name: Annotated[str, typer.Argument(help="The name to load it by; a published id such as mq2008.")],
    path: Annotated[Path, typer.Argument(help="A file, or a folder with train/vali/test or Fold1 … Fold5.")],
    normalise: Annotated[
        bool | None,
        typer.Option(help="Min–max per query and feature; decided from the data by default."),
    ] = None,
    zero_based: Annotated[bool, typer.Option(help="The files number their features from 0.")] = False,
    json: Json = False,
) -> None:
    """Import SVMlight/LETOR files once; afterwards they open in milliseconds.

    Example: [bold]rankloop data add mq2008 ~/letor/MQ2008[/bold], then [bold]rankloop run --data mq2008[/bold].
    """
    from rankloop.cli.terminal import print_json, progress_in_bytes, show_report
    from rankloop.data import add

    with progress_in_bytes(f"importing {name}") as update:
        report = add(name, path, normalise=normalise, zero_based=zero_based, progress=update)
    if json:
        print_json(report)
    else:
        show_report(report)


@data_app.command("info")
def data_info(
    name: Annotated[str, typer.Argument(help="A name, a path or a synthetic world.")],
    fold: Annotated[int | None, typer.Option(help="Which fold.")] = None,
    scale: Scale = 1.0,
    json: Json = False,
) -> None:
    """Shapes, grades, documents per query, where it came from, and how it differs from what was published."""
    from rankloop.cli.terminal import print_json, show_report, working
    from rankloop.data import info

    with working(f"opening {name}"):
        report = info(name, fold=fold, scale=scale)
    if json:
        print_json(report)
    else:
        show_report(report)


@data_app.command("remove")
def data_remove(
    name: Annotated[str, typer.Argument(help="A name or path from `rankloop data list`.")],
    json: Json = False,
) -> None:
    """Remove an import or a synthetic world from the data folder; the source files are not touched."""
    from rankloop.cli.terminal import print_json
    from rankloop.data import remove
    from rankloop.display import size

    removed = remove(name)
    if json:
        print_json(removed)
    else:
        for entry in removed:
            typer.echo(f"removed {entry.name} ({size(entry.disk_bytes)})")


@data_app.command("make")
def data_make(
    name: Annotated[str, typer.Argument(help="mslr-like, yahoo-like, istella-like or tiny.")],
    scale: Scale = 1.0,
    fold: Annotated[int, typer.Option(help="Which fold: other queries of the same world.")] = 1,
    json: Json = False,
) -> None:
    """Make a synthetic world now (loading one makes it on first use)."""
    from rankloop.cli.terminal import print_json, show_report, working
    from rankloop.data import make

    with working(f"making {name} at scale {scale:g}"):
        report = make(name, fold=fold, scale=scale)
    if json:
        print_json(report)
    else:
        show_report(report)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option(help="A small working set, for a first look.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write the table as Markdown.")] = None,
    json: Json = False,
) -> None:
    """Measure speed and memory as ratios in one run: against reading memory, NumPy and scikit-learn."""
    from rankloop import benchmark
    from rankloop.cli.terminal import print_json, show_benchmark

    if out is not None:
        out.open("a").close()  # better to fail now than after all the measuring
    results = benchmark.run(quick=quick)
    if out is not None:
        out.write_text(benchmark.as_markdown(results))
    if json:
        print_json(results)
    else:
        show_benchmark(results)
