"""`rankloop results queries`: two methods of a results folder, query by query."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.app import Json
from rankloop.cli.results import results as commands
from rankloop.cli.terminal import out, print_json, print_table, table
from rankloop.display import counted, p_equals, signed

if TYPE_CHECKING:
    from rankloop.studies.by_query import ComparedQueries


@commands.command()
def queries(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/quick.")],
    label: Annotated[str, typer.Argument(help="The method, by its label.")],
    against: Annotated[str, typer.Option(help="The method to compare it with.")] = "PDGD",
    metric: Annotated[str | None, typer.Option(help="The metric; the study's first by default.")] = None,
    grid: Annotated[str | None, typer.Option(help="This grid only.")] = None,
    collection: Annotated[str | None, typer.Option(help="This collection only.")] = None,
    user: Annotated[str | None, typer.Option(help="This user only.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst queries to list.")] = 10,
    picture: Annotated[Path | None, typer.Option(help="Also write a plot: a .png, .svg or .pdf file.")] = None,
    json: Json = False,
) -> None:
    """Compare two methods query by query on the test split, at the end of their runs.

    Example: [bold]rankloop results queries results/quick ROLTR --against PDGD --user noisy[/bold].
    """
    from rankloop.studies.by_query import compare_queries
    from rankloop.studies.records import read_results, require_finished

    results = require_finished(read_results(folder), folder).by(metric)
    place = {"grid": grid, "collection": collection, "user": user}
    made = compare_queries(results, folder, label, against, name=results.metric.name, **place)
    if picture is not None:
        from rankloop.studies.query_drawing import write_queries

        write_queries(made, picture, worst)
    if json:
        print_json([_document(one, worst) for one in made])
        return
    for one in made:
        _show(one, worst)
    if picture is not None:
        out.print(f"\n{picture}", markup=False)


def _document(one: "ComparedQueries", worst: int) -> dict[str, Any]:
    """A comparison as plain values; every query, the worst first."""
    better, equal, lost = one.tally
    return {
        "metric": one.metric.name,
        "label": one.label,
        "against": one.against,
        "collection": one.collection,
        "user": one.user,
        "pairs": one.pairs,
        "difference": one.interval._asdict(),
        "p": one.p,
        "better": better,
        "equal": equal,
        "worse": lost,
        "queries": [
            {"fold": fold, "query": query, "ours": ours, "theirs": theirs}
            for (fold, query), ours, theirs in sorted(
                zip(one.queries, one.ours.tolist(), one.theirs.tolist(), strict=True), key=lambda row: row[1] - row[2]
            )
        ],
        "worst": [one.queries[index][1] for index in one.worst(worst)],
    }


def _runs(one: "ComparedQueries") -> str:
    """The runs that a query's mean is over: a query is tested on one fold, and runs on the others do not see it."""
    runs, folds = f"{counted(one.pairs, 'run')} of each", len({fold for fold, _ in one.queries})
    return runs if folds < 2 else f"the runs on its fold; in all, {runs} on {folds} folds"


def _show(one: "ComparedQueries", worst: int) -> None:
    better, equal, lost = one.tally
    mean, half = one.interval
    out.print(
        f"\n{one.label} − {one.against}, {one.user} clicks, {one.collection}: {one.metric.title} {signed(mean, 4)} "
        f"± {half:.4f} (95 %), p {p_equals(one.p)}, paired over {counted(len(one.queries), 'query', 'queries')}.\n"
        f"Better on {better:,}, equal on {equal:,}, worse on {lost:,}; "
        f"a query counts by its mean over {_runs(one)}.",
        markup=False,
    )
    if not len(chosen := one.worst(worst)):
        return
    folds = any(fold is not None for fold, _ in one.queries)
    made = table("query", *(["fold"] if folds else []), one.label, one.against, "difference")
    for index in chosen:
        fold, query = one.queries[index]
        values = (f"{one.ours[index]:.4f}", f"{one.theirs[index]:.4f}", signed(float(one.differences[index]), 4))
        made.add_row(str(query), *([str(fold)] if folds else []), *values)
    print_table(made)
