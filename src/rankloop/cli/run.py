"""`rankloop run`: plan, run with a display, and print what came out."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rankloop.cli.app import Against, Generalise, Json, Plugin, Workers, app
from rankloop.cli.terminal import err, progress_in_steps, working
from rankloop.cli.terminal import out as stdout
from rankloop.display import counted, duration

if TYPE_CHECKING:
    from rankloop.engines import Engine
    from rankloop.learners import Learner
    from rankloop.studies.places import Progress as StudyProgress
    from rankloop.studies.records import Results
    from rankloop.studies.runner import Outcome, Plan
    from rankloop.studies.specification import Cell
    from rankloop.users import User

_BYTES_PER_RECORD = 20_000
STARTING = 1.5
"""Seconds in which a worker begins: imports, and compiled loops from disk (1.4 s of a processor, measured)."""


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study by name (rankloop study list), or a .toml file.")] = "quick",
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="ID=PATH: the real collection for its stand-in. NAME or PATH: only this one; may be repeated."
        ),
    ] = None,
    scale: Annotated[
        float | None, typer.Option(help="Size of synthetic worlds; 1 is the size of the real collections.")
    ] = None,
    fold: Annotated[int | None, typer.Option(help="This fold only.")] = None,
    impressions: Annotated[int | None, typer.Option(help="Pages shown per run.")] = None,
    repeats: Annotated[
        list[str] | None,
        typer.Option(help="Runs per cell, with different seeds; METHOD=N for one method; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first repeat; the others count up from it.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="learner.SETTING=VALUE, or METHOD.SETTING=VALUE.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this method, label, user, collection or grid; may be repeated.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Use this metric instead: ndcg@10, err, map, …; may be repeated, the first is shown."),
    ] = None,
    workers: Workers = None,
    on: Annotated[
        str,
        typer.Option(help="local (processes), threads, gpu, ray (the cluster of this machine), or ray://HOST:PORT."),
    ] = "local",
    make_report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report", help="Write a report, or only keep the runs; `rankloop report` can write it later."
        ),
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Results folder; results/STUDY by default.")] = None,
    plugin: Plugin = None,
    against: Against = None,
    generalise_to: Generalise = "this-collection",
    json: Json = False,
) -> None:
    """Run a study: learners learn from simulated users; you get a table, plots and a report.

    Without a name: six methods start with no knowledge, show 10,000 result pages each to people with position bias, and
    learn from their clicks. [bold]rq1[/bold] … [bold]rq5[/bold] are the paper's research questions, [bold]paper[/bold]
    all of them. Finished runs are kept: the same command resumes where it stopped.

    Try [bold]rankloop run --only ROLTR --only PDGD --impressions 100000[/bold].
    """
    from rankloop.engines import engine
    from rankloop.runs.batches import require_device
    from rankloop.settings import require_whole_number
    from rankloop.statistics import require_generalisation
    from rankloop.studies import options
    from rankloop.studies.comparisons import require_baseline
    from rankloop.studies.coverage import unseen_changes
    from rankloop.studies.held import Start
    from rankloop.studies.runner import claimed, make_plan, run_plan
    from rankloop.studies.specification import cells, load_study

    if on == "gpu":
        require_device("--on gpu")
    workers = os.cpu_count() or 1 if workers is None else require_whole_number("run", "workers", workers, at_least=1)
    declared = options.with_data(options.with_plugins(load_study(study), plugin or ()), data or ())
    declared = options.with_fold(options.with_scale(declared, scale), fold)
    declared = options.with_numbers(declared, impressions=impressions, seed=seed)
    declared = options.with_repeats(declared, repeats or ())
    changed = options.with_metrics(options.with_settings(declared, set_ or ()), metric or ())
    declared, absent = options.without_absent(options.with_places(changed))
    chosen = options.only(cells(declared), only or ())
    for sentence in (*absent, *unseen_changes(chosen)):
        err.print(sentence, markup=False)
    require_generalisation(generalise_to)
    require_baseline(against, ((cell.label, cell.learner.name) for cell in chosen))
    folder = Path("results") / declared.name if out is None else out
    numbers = {"scale": scale, "fold": fold, "impressions": impressions, "seed": seed}
    many: dict[str, Iterable[str]] = {
        "repeats": repeats or (),
        "data": map(_located, data or ()),
        "set": set_ or (),
        "metric": metric or (),
        "plugin": plugin or (),
        "only": only or (),
        "on": ["gpu"] if on == "gpu" else [],
    }
    command = _command(study, numbers, many)
    with working(f"opening {declared.name}'s collections"):
        plan = make_plan(declared, chosen, folder, Start(command, tuple(only or ()), "gpu" if on == "gpu" else ""))
    with claimed(plan) as plan, engine("local" if on == "gpu" else on, workers, declared.plugins) as place:
        fresh = _not_compiled([cell for cell, _ in plan.on_cpu])
        _show_plan(plan, place.slots, len(fresh))
        _compile(fresh, place)
        with _study_progress(len(plan.missing)) as show:
            outcome = run_plan(plan, place, show, keep_only=not make_report)
    if make_report:
        if declared.regret is not None:
            _measure_regret(plan, outcome.results, absent)
        _show_and_report(outcome, folder, against, generalise_to, json)
    for what, cause in outcome.failures:
        err.print(f"failed: {what}: {cause}", markup=False)
    if outcome.failures:
        raise typer.Exit(1)


def _show_and_report(outcome: "Outcome", folder: Path, against: str | None, generalise_to: str, json: bool) -> None:
    from rankloop.cli.results import read_as, show_results
    from rankloop.studies import report

    results = read_as(outcome.results, against if outcome.results.records else None, generalise_to)
    show_results(results, json)
    page = report.write(results, folder)
    if not json:
        more = f"{folder}/figures/   {folder}/results.parquet   " if results.records else ""
        stdout.print(f"\n{page}   {more}({duration(outcome.seconds)})")


def _measure_regret(plan: "Plan", results: "Results", absent: "Sequence[str]") -> None:
    from rankloop.studies.regret.running import find_regret, places_of

    with progress_in_steps("fitting skylines", len(places_of(plan))) as advance:
        results.regret = find_regret(plan, results, absent, advance)


def _command(study: str, numbers: "Mapping[str, float | None]", many: "Mapping[str, Iterable[str]]") -> tuple[str, ...]:
    """What to type for the same runs, from anywhere: paths are absolute; what changes no result is left out."""
    words = ["rankloop", "run", str(Path(study).absolute()) if study.endswith(".toml") else study]
    for name, number in numbers.items():
        words += [] if number is None else [f"--{name}", f"{number:g}" if name == "scale" else str(number)]
    for name, values in many.items():
        words += [word for value in values for word in (f"--{name}", value)]
    return tuple(words)


def _located(data: str) -> str:
    """`--data` with its path from the root."""
    from rankloop.studies.options import located

    name, equals, path = data.partition("=")
    return f"{name}={Path(path).expanduser().absolute()}" if equals else located(data)


def _show_plan(plan: "Plan", workers: int, fresh: int) -> None:
    compiling = f" after compiling {counted(fresh, 'loop')}, once" if fresh else ""
    seconds, where = plan.seconds / workers, counted(workers, "process", "processes")
    seconds += STARTING if plan.on_cpu else 0.0
    if plan.on_device:
        seconds = max(seconds, plan.device_seconds)
        where = f"a device and {where} beside it" if plan.on_cpu else "a device"
    err.print(
        f"study {plan.study.name}: {counted(plan.runs, 'run')}, {plan.runs - len(plan.missing):,} done, "
        f"{len(plan.missing):,} to do: {plan.impressions:,} impressions, about {duration(seconds)} on "
        f"{where}{compiling}, "
        f"{len(plan.missing) * _BYTES_PER_RECORD / 1e6:.1f} MB in {plan.folder}"
    )
    if plan.start.beside:
        err.print(f"{plan.start.beside}.", markup=False)


def _not_compiled(cells: "list[Cell]") -> "dict[Path, tuple[Learner, User]]":
    """The loops that nobody has compiled yet, one for each method and kind of kernel, each with its mark on disk."""
    from rankloop import users
    from rankloop.kernels.compiler import cache_folder
    from rankloop.sources import fingerprint_of

    marks = {}
    for cell in cells:
        # All people of the package share one kernel; one from outside may have a click of its own.
        inside = type(cell.user).__module__.startswith("rankloop.")
        pair = (cell.learner, users.noisy() if inside else cell.user)
        marks[cache_folder() / f"{cell.learner.name}-{fingerprint_of(*pair)}.compiled"] = pair
    return {mark: pair for mark, pair in marks.items() if not mark.exists()}


def _compile(fresh: "dict[Path, tuple[Learner, User]]", place: "Engine") -> None:
    """Compile the loop of each method once, in parallel, before the runs need it."""
    if not fresh:
        return
    with progress_in_steps("compiling, once", len(fresh)) as advance:
        futures = {mark: place.submit(_compile_one, *pair) for mark, pair in fresh.items()}
        for mark, future in futures.items():
            with suppress(Exception):  # the runs will say what is wrong, each its own
                future.result()
                mark.touch()
            advance(fresh[mark][0].name)


def _compile_one(learner: "Learner", user: "User") -> None:
    from rankloop import load, simulate
    from rankloop.studies.mistakes import in_one_sentence

    with in_one_sentence():  # a plugin that exits must not end the study
        simulate(learner, user, load("tiny"), impressions=1, seed=1)


@contextmanager
def _study_progress(total: int) -> "Iterator[Callable[[StudyProgress], None]]":
    """What is running, done, failed and left, impressions a second and the time to go; plain lines when piped."""
    if not err.is_terminal:
        shown = 0

        def say(now: "StudyProgress") -> None:
            nonlocal shown
            finished = now.done + now.failed
            if (tenth := finished * 10 // max(1, total)) > shown:
                shown = tenth
                err.print(f"{finished:,} of {counted(total, 'run')}, {_standing(now)}")

        yield say
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("starting", total=total)

        def show(now: "StudyProgress") -> None:
            running = "; ".join(now.running)
            standing = f"{_standing(now)}   [dim]{running}[/dim]" if running else _standing(now)
            progress.update(task, completed=now.done + now.failed, description=standing)

        yield show


def _standing(now: "StudyProgress") -> str:
    left = now.total - now.done - now.failed
    rate = now.impressions / now.seconds if now.seconds > 0 else 0.0
    to_go = f", {duration(now.seconds * (1 / now.share - 1))} to go" if now.share > 0 and left else ""
    failed = f", {now.failed} failed" if now.failed else ""
    return f"{left} left{failed}, {rate:,.0f} impressions/s{to_go}"
