"""`rankloop results`: the tables of a results folder, and whether its records can be computed again."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from rankloop.cli.app import Against, Generalise, Json, app
from rankloop.cli.terminal import out, print_json, print_table, progress_in_steps, table
from rankloop.display import counted, mean_text, p_equals, signed
from rankloop.errors import DataError

if TYPE_CHECKING:
    from rankloop.metrics.names import Metric
    from rankloop.studies.comparisons import Compared
    from rankloop.studies.coverage import Coverage
    from rankloop.studies.records import Record, Results
    from rankloop.studies.regret.findings import Findings
    from rankloop.studies.verifying import Checked

BEST, TIED = "★", "≈"  # bold type is lost where output goes to a file


class _ShowUnlessNamed(TyperGroup):
    """`rankloop results FOLDER` shows a folder; other commands are named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if known else ["show", *args])


results = typer.Typer(
    cls=_ShowUnlessNamed,
    help="Show, compare or verify the results of studies.",
    no_args_is_help=True,
)
app.add_typer(results, name="results")


@results.command()
def show(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/quick.")],
    against: Against = None,
    generalise_to: Generalise = "this-collection",
    metric: Annotated[str | None, typer.Option(help="The metric to show; the study's first by default.")] = None,
    json: Json = False,
) -> None:
    """Print the contents of a results folder and how its methods compare; you may omit [bold]show[/bold]."""
    from rankloop.studies.records import read_results

    show_results(read_as(read_results(folder), against, generalise_to), json, metric)


def read_as(results: "Results", against: str | None, generalise_to: str) -> "Results":
    """The same results, compared and generalised as the options say."""
    from rankloop.statistics import require_generalisation
    from rankloop.studies.comparisons import require_baseline
    from rankloop.studies.records import Reading

    require_baseline(against, ((record.label, record.learner) for record in results.records))
    results.reading = Reading(require_generalisation(generalise_to), against)
    return results


@results.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A results folder, such as results/quick.")],
    sample: Annotated[int, typer.Option(help="How many runs, drawn at random, to recompute.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Runs to compute at a time; all cores by default.")] = None,
    json: Json = False,
) -> None:
    """Recompute some runs of a results folder, and compare every bit.

    Exit code 1 if any differs; it says which, by how much, and what else has changed since.
    """
    from rankloop.engines import engine
    from rankloop.settings import require_whole_number
    from rankloop.studies import verifying
    from rankloop.studies.records import read_results, require_finished

    size = require_whole_number("verify", "sample", sample, at_least=1)
    workers = os.cpu_count() or 1 if workers is None else require_whole_number("verify", "workers", workers, at_least=1)
    found = require_finished(read_results(folder), folder)
    drawn, away = verifying.sample(found, size, seed), verifying.elsewhere(found)
    if not drawn:
        raise DataError(f"all runs of {folder} were computed on a GPU, and can be verified where there is one")
    checked = []
    with progress_in_steps("computing again", len(drawn)) as advance, engine("threads", workers) as place:
        for one in verifying.verify(found, drawn, folder, place):
            checked.append(one)
            advance(one.name)
    _show_checked(checked, found, json)
    if away and not json:
        out.print(f"{counted(away, 'run')} of them computed on a GPU, to be verified where there is one.")
    if not all(one.same for one in checked):
        raise typer.Exit(1)


def _show_checked(checked: "list[Checked]", results: "Results", json: bool) -> None:
    if json:
        print_json([one.plain() for one in checked])
        return
    for one in checked:
        found = "same bits" if one.same else "DIFFERS" if one.is_compared else "NOT COMPARED"
        out.print(f"{found}: {one.name}", markup=False)
        for line in (*one.differences, *one.remarks):
            out.print(f"  {line}", markup=False)
    same = sum(one.same for one in checked)
    verb = "is the same" if same == len(checked) == 1 else "are the same"
    lost = sum(not one.is_compared for one in checked)
    rest = f"; {lost} could not be compared" if lost else ""
    finished = counted(len({record.key for record in results.records}), "finished run")
    out.print(f"{same} of {counted(len(checked), 'run')} {verb}, bit for bit{rest}; the study has {finished}.")
    if results.left_out:
        out.print(f"Not verified, though in this folder: {results.left_out}.", highlight=False)


def show_results(results: "Results", json: bool, metric: str | None = None) -> None:
    """One table for each grid, collection and user, by one metric; or all that they could show, as JSON."""
    from rankloop.studies.coverage import Coverage

    if results.regret is not None:
        _show_regret(results.regret, json)
        return
    if json:
        print_json(_summary(results, metric))
        return
    if not results.records:
        out.print("No run is finished.")
        return
    results = results.by(metric)
    coverage, name = Coverage(results), results.metric.title
    for place in _places(results):
        _show_place(coverage, *place)
    if results.left_out:
        out.print(f"\nNot shown, though in this folder: {results.left_out}.", highlight=False)
    lengths = sorted({record.impressions for record in results.records})
    ends = f"{' or '.join(f'{one:,}' for one in lengths)} impressions"
    grids = dict.fromkeys(coverage.speaks_of(grid) for grid in coverage.distinct_grids())
    has_skyline = any(record.learner == "MDPRank" for record in results.records)
    skyline = " MDPRank learns from the true grades: a skyline." if has_skyline else ""
    seen = results.metric.is_seen_on_pages  # no page shows a whole ranking
    online = f"Online: Σ 0.9995^i · {name} of the pages shown, 2000 at most. " if seen else ""
    out.print(
        f"\nMean ± 95 % t-interval {', '.join(grids)}. {BEST} better than every other method that learns\n"
        f"from clicks, p < 0.05 each (all must hold, so uncorrected); {TIED} tied with the best.\n"
        f"△ ▽ p < 0.05, ▲ ▼ p < 0.01 against the baseline (Holm, as in the lines above). All tests are paired.\n"
        f"{online}Offline: {name} on held-out queries\n"
        f"after {ends}.{skyline}"
    )


def _show_regret(found: "Findings", json: bool) -> None:
    """The tables of a study of regret, with the notes of each, and its sentences last."""
    from rankloop.studies.regret.tables import sentences, tables_for

    if json:
        print_json(found)
        return
    for made in tables_for(found):
        shown = table(*(column.heading for column in made.columns), title=made.title)
        for index, column in enumerate(made.columns):
            shown.columns[index].justify = "right" if column.kind == "number" else "left"
        for row, same in made.lines():
            shown.add_row(
                *([""] * same),
                *(f"[bold]{escape(e.plain)} {BEST}[/bold]" if e.best else escape(e.plain) for e in row[same:]),
            )
        out.print()
        print_table(shown)
        for note in made.all_notes:
            out.print(note.replace("Bold:", f"{BEST}:"), markup=False)
    out.print()
    for sentence in sentences(found):
        out.print(sentence, markup=False)


FIELDS = (("online_ndcg", "online", 1), ("offline_ndcg", "offline", 4))


def _fields(metric: "Metric") -> tuple[tuple[str, str, int], ...]:
    """What can be shown by a metric: no page shows a whole ranking."""
    return FIELDS if metric.is_seen_on_pages else FIELDS[1:]


def _summary(results: "Results", metric: str | None) -> dict[str, Any]:
    """Everything that the tables show, as plain values: runs by every metric, comparisons by the one that is shown."""
    from rankloop.studies.comparisons import mean_of, values_of
    from rankloop.studies.coverage import Coverage

    shown = results.by(metric) if results.records else results
    coverage = Coverage(shown)
    return {
        "study": results.study.name,
        "metric": shown.metric.name,
        "runs": len(results.records),
        "left_out": results.left_out,
        "generalises_to": results.reading.generalise_to,
        "rows": [
            {"grid": grid, "collection": collection, "user": user, "label": label}
            | {
                field: mean_of(results, values_of(runs, field))._asdict()
                | {"runs": [getattr(record, field) for record in runs]}
                for field in ("online_ndcg", "offline_ndcg", "learning_speed")
            }
            | _others(results, runs)
            for grid, collection, user in _places(results)
            for label in results.axis("label", grid=grid, collection=collection, user=user)
            if (runs := results.select(grid=grid, collection=collection, user=user, label=label))
        ],
        "comparisons": [one for grid in coverage.distinct_grids() for one in _comparisons(coverage, grid)],
        "manifest": results.records[0].manifest if results.records else {},
    }


def _others(results: "Results", runs: "list[Record]") -> dict[str, Any]:
    """The further metrics of some runs: `offline_err@10`, and online where pages show enough."""
    from rankloop.studies.comparisons import mean_of, values_of

    made = {}
    for name in dict.fromkeys(one.metric for record in runs for one in record.others):
        seen = [record.by(name) for record in runs]
        for where in ("online", "offline"):
            values = values_of(seen, f"{where}_ndcg")
            if values:
                made[f"{where}_{name}"] = mean_of(results, values)._asdict() | {"runs": list(values.values())}
    return made


def _comparisons(coverage: "Coverage", grid: str) -> list[dict[str, Any]]:
    from rankloop.metrics.names import is_page_ndcg
    from rankloop.studies.comparisons import against_baseline

    metric = coverage.results.metric
    named = "ndcg" if is_page_ndcg(metric) else metric.name
    return [
        {
            "grid": grid,
            "collection": one.collection,
            "user": one.user,
            "label": one.label,
            "against": one.baseline,
            "measure": f"{where}_{named}",
            "difference": one.test.difference.estimate,
            "half_width": one.test.difference.half_width(),
            "p": one.test.p,
            "p_holm": one.corrected_p,
            "pairs": one.test.pairs,
            "probability_of_improvement": one.better._asdict(),
        }
        for field, where, _ in _fields(metric)
        for one in against_baseline(coverage, grid, field)
    ]


def _show_place(coverage: "Coverage", grid: str, collection: str, user: str) -> None:
    from rankloop.studies.comparisons import against_baseline, mean_of, standing, values_of

    metric = coverage.results.metric
    shown = _fields(metric)
    headings = [text for _, where, _ in shown for text in (f"{where} {metric.title}", "")]
    made = table(escape(f"{user} clicks, {collection}"), *headings, "impressions/s", "runs")
    first = {field: standing(coverage, grid, collection, user, field) for field, _, _ in shown}
    compared = {
        (field, one.label): one
        for field, _, _ in shown
        for one in against_baseline(coverage, grid, field)
        if (one.collection, one.user) == (collection, user)
    }
    for label in coverage.labels(grid):
        records = coverage.runs(grid, collection, user, label)
        if not records:
            continue
        texts = []
        for field, _, digits in shown:
            text = mean_text(*mean_of(coverage.results, values_of(records, field)), digits)
            mark = BEST if first[field].best == label else first[field].mark(label)
            mark += one.mark if (one := compared.get((field, label))) else ""
            texts += [f"[bold]{text}[/bold]" if first[field].best == label else text, mark]
        rate = sum(record.impressions / record.learning_seconds for record in records) / len(records)
        made.add_row(escape(label), *texts, f"{rate:,.0f}", str(len(records)))
    out.print()
    print_table(made)
    _show_compared(compared)


def _show_compared(compared: "dict[tuple[str, str], Compared]") -> None:
    """Every method against the baseline: the difference, and p of the paired test after Holm's correction."""
    for field, name, digits in FIELDS:
        ours = [one for (measure, _), one in compared.items() if measure == field and one.test.pairs > 1]
        if not ours:
            continue
        shown = ", ".join(
            f"{one.label} {signed(one.test.difference.estimate, digits)} (p {p_equals(one.corrected_p)})"
            for one in ours
        )
        out.print(f"Against {ours[0].baseline} {name}: {shown}", markup=False, highlight=False)


def _places(results: "Results") -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((record.grid, record.collection, record.user) for record in results.records))
