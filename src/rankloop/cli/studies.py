"""`rankloop run`: plan, run with a display, and print what came out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankloop.cli.terminal import (
    err,
    out,
    print_json,
    print_table,
    progress_in_steps,
    study_progress,
    table,
    working,
)
from rankloop.data import load
from rankloop.display import duration
from rankloop.engines import Engine, engine
from rankloop.errors import DataError, SettingsError
from rankloop.kernels.compiler import cache_folder
from rankloop.learners import Learner
from rankloop.settings import require_whole_number
from rankloop.simulation import simulate
from rankloop.studies import options, report
from rankloop.studies.records import Record, Results, read_results
from rankloop.studies.runner import Plan, make_plan, run_plan
from rankloop.studies.specification import cells, load_study
from rankloop.studies.statistics import compare, interval
from rankloop.users import noisy

_BYTES_PER_RECORD = 20_000


def run(
    name: str,
    *,
    data: Sequence[str] = (),
    scale: float | None = None,
    fold: int | None = None,
    impressions: int | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    only: Sequence[str] = (),
    workers: int | None = None,
    on: str = "local",
    folder: Path | None = None,
    json: bool = False,
) -> int:
    """Run a study; the exit code: 0, or 1 if a run failed."""
    workers = os.cpu_count() or 1 if workers is None else require_whole_number("run", "workers", workers, at_least=1)
    study = options.with_data(load_study(name), data)
    study = options.with_fold(options.with_scale(study, scale), fold)
    study = options.with_numbers(study, impressions=impressions, repeats=repeats, seed=seed)
    study = options.with_settings(study, settings)
    chosen = options.only(cells(study), only)
    folder = Path("results") / study.name if folder is None else folder
    with working(f"opening {study.name}'s collections"):
        plan = make_plan(study, chosen, folder)
    with engine(on, workers) as place:
        _tell_plan(plan, place.slots)
        _compile([cell.learner for cell, _ in plan.missing], place)
        with study_progress(len(plan.missing)) as show:
            outcome = run_plan(plan, place, show)
    if json:
        print_json(summary(outcome.results))
        report.write(outcome.results, folder)
    else:
        show_results(outcome.results)
        page = report.write(outcome.results, folder)
        out.print(f"\n{page}   {folder}/figures/   {folder}/results.parquet   ({duration(outcome.seconds)})")
    for what, cause in outcome.failures:
        err.print(f"failed: {what}: {cause}")
    return 1 if outcome.failures else 0


def results(folder: Path, json: bool = False) -> None:
    """Print the results of a folder."""
    found = read_results(folder)
    if json:
        print_json(summary(found))
    else:
        show_results(found)


def summary(results: Results) -> dict[str, Any]:
    """Everything that the tables show, as plain values."""
    return {
        "study": results.study.name,
        "runs": len(results.records),
        "rows": [
            {"grid": grid, "collection": collection, "user": user, "label": label}
            | {
                field: interval(values)._asdict() | {"runs": values}
                for field in ("online_ndcg", "offline_ndcg", "learning_speed")
                if (values := results.values(field, grid=grid, collection=collection, user=user, label=label))
            }
            for grid, collection, user in _places(results)
            for label in results.axis("label", grid=grid, collection=collection, user=user)
        ],
        "manifest": results.records[0].manifest if results.records else {},
    }


def show_results(results: Results) -> None:
    """One table for each grid, collection and user."""
    for grid, collection, user in _places(results):
        _show_place(results, {"grid": grid, "collection": collection, "user": user})
    impressions = max((record.impressions for record in results.records), default=0)
    out.print(
        f"\nMean ± 95 % t-interval. Online: Σ 0.9995^i · nDCG@10 of the pages shown, 2000 at most. Offline: nDCG@10 on "
        f"held-out queries\nafter {impressions:,} impressions. MDPRank learns from the true grades: a skyline."
    )


def _show_place(results: Results, place: dict[str, str]) -> None:
    labels = results.axis("label", **place)
    heading = f"{place['user']} clicks, {place['collection']}"
    made = table(heading, "online nDCG@10", "", "offline nDCG@10", "", "impressions/s", "runs")
    click_learners = [label for label in labels if results.select(label=label, **place)[0].learner != "MDPRank"]
    for label in labels:
        records = results.select(label=label, **place)
        texts = []
        for field, digits in (("online_ndcg", 1), ("offline_ndcg", 4)):
            mean, half = interval([getattr(record, field) for record in records])
            text = f"{mean:.{digits}f} ± {half:.{digits}f}" if len(records) > 1 else f"{mean:.{digits}f}"
            best = max((interval(results.values(field, label=one, **place)).mean for one in click_learners), default=0)
            texts += [f"[bold]{text}[/bold]" if mean == best else text, _mark(results, records, field, place)]
        rate = sum(record.impressions / record.learning_seconds for record in records) / len(records)
        made.add_row(label, *texts, f"{rate:,.0f}", str(len(records)))
    out.print()
    print_table(made)
    _compare_online(results, place)


def _mark(results: Results, records: list[Record], field: str, place: dict[str, str]) -> str:
    rivals = results.select(label="PDGD", **place)
    if records[0].label != "ROLTR" or not rivals:
        return ""
    return compare([getattr(one, field) for one in records], [getattr(one, field) for one in rivals]).mark


def _compare_online(results: Results, place: dict[str, str]) -> None:
    ours, rivals = (results.values("online_ndcg", label=label, **place) for label in ("ROLTR", "PDGD"))
    if len(ours) > 1 and len(rivals) > 1:
        found = compare(ours, rivals)
        out.print(
            f"ROLTR against PDGD online: {found.difference:+.1f}, p = {found.welch_p:.2g} (Welch), "
            f"{found.paired_p:.2g} (paired). △ ▽ p < 0.05, ▲ ▼ p < 0.01."
        )


def _places(results: Results) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((record.grid, record.collection, record.user) for record in results.records))


def _tell_plan(plan: Plan, workers: int) -> None:
    err.print(
        f"study {plan.study.name}: {plan.runs} runs, {plan.runs - len(plan.missing)} done, {len(plan.missing)} to do: "
        f"{plan.impressions:,} impressions, about {duration(plan.seconds / workers)} on {workers} processes, "
        f"{len(plan.missing) * _BYTES_PER_RECORD / 1e6:.1f} MB in {plan.folder}"
    )


def _compile(learners: list[Learner], place: Engine) -> None:
    """Compile the loop of each method once, in parallel, before the runs need it."""
    methods = {learner.name: learner for learner in learners}
    fresh = {name: learner for name, learner in methods.items() if not (cache_folder() / f"{name}.compiled").exists()}
    if not fresh:
        return
    with progress_in_steps("compiling, once", len(fresh)) as tell:
        futures = {name: place.submit(_compile_one, learner) for name, learner in fresh.items()}
        for name, future in futures.items():
            future.result()
            (cache_folder() / f"{name}.compiled").touch()
            tell(name)


def _compile_one(learner: Learner) -> None:
    simulate(learner, noisy(), load("tiny"), impressions=1, seed=1)


def new_study(path: Path) -> None:
    """Write a study to start from."""
    if path.suffix != ".toml":
        raise SettingsError(f"a study file ends in .toml; got {path}")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE.format(name=path.stem))
    except FileExistsError:
        raise SettingsError(f"{path} is there already; choose another name") from None
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None


_TEMPLATE = """\
# A study: learners × users × collections × repeats. Run it with: rankloop run {name}.toml
name = "{name}"
title = "ROLTR with and without unbiased rewards"
question = "Does reward shaping help on my data?"
impressions = 10_000        # pages shown per run
repeats = 5                 # runs per cell, with different seeds; spread over the folds
evaluate_every = 500        # impressions between two points of the learning curve
users = ["perfect", "noisy"]

# A synthetic world, a name from `rankloop data list`, or a path.
collections = [{{ data = "mslr-like", scale = 0.1 }}]

[[grids]]
name = "rewards"
title = "Unbiased against naive rewards"
learners = [
  {{ learner = "ROLTR", reward = "ips+-", label = "ips" }},
  {{ learner = "ROLTR", reward = "naive+-", label = "naive" }},
  {{ learner = "PDGD" }},
]
"""
