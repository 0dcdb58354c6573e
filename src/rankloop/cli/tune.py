"""`rankloop tune`: search, print, and write the study file."""

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.text import Text

from rankloop.cli.app import Json, Plugin, User, Workers, app
from rankloop.cli.terminal import out as stdout
from rankloop.cli.terminal import print_json, print_table, progress_in_steps, table, working
from rankloop.display import counted
from rankloop.errors import DataError, SettingsError

if TYPE_CHECKING:
    from rankloop.studies.tuning.search import Candidate, TuningResult


@app.command()
def tune(
    learner: Annotated[str, typer.Argument(help="The method to tune, such as ROLTR.")],
    data: Annotated[
        str, typer.Option(help="A synthetic world, a name or a path; its validation split is used.")
    ] = "mslr-like",
    scale: Annotated[
        float | None, typer.Option(help="Size of a synthetic world; 1 is the size of the real collection.")
    ] = None,
    fold: Annotated[int | None, typer.Option(help="This fold only.")] = None,
    user: User = "noisy",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="SETTING=VALUE,VALUE,…; learning rates by default.")
    ] = None,
    objective: Annotated[str, typer.Option(help="online, offline, or speed (the mean of the curve).")] = "online",
    metric: Annotated[str, typer.Option(help="The metric: ndcg@10, err, map, …")] = "ndcg",
    impressions: Annotated[int, typer.Option(help="Pages shown per run.")] = 10_000,
    repeats: Annotated[int, typer.Option(help="Runs per candidate, with different seeds.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first repeat.")] = 1,
    workers: Workers = None,
    on: Annotated[str, typer.Option(help="local (processes), or gpu.")] = "local",
    out: Annotated[
        Path | None, typer.Option(help="Write a study that runs the best settings on the test split.")
    ] = None,
    plugin: Plugin = None,
    json: Json = False,
) -> None:
    """Search for good settings on the validation split, as the paper did for its learning rates.

    Example: [bold]rankloop tune ROLTR --set learning_rate=0.003,0.01,0.03 --out tuned.toml[/bold].
    """
    import msgspec

    from rankloop import users
    from rankloop.files import write_text
    from rankloop.learners import from_settings
    from rankloop.runs.batches import require_device
    from rankloop.settings import parse_value, require_choice, require_whole_number
    from rankloop.studies.options import placed
    from rankloop.studies.specification import source_of
    from rankloop.studies.tuning import search
    from rankloop.studies.tuning.space import learners_of, parse_search, search_space
    from rankloop.studies.tuning.study import as_study

    require_choice("tune", "objective", objective, search.OBJECTIVES)
    if require_choice("tune", "on", on, ("local", "gpu")) == "gpu":
        require_device("--on gpu")
    somebody = users.person("tune", parse_value(user))
    method = from_settings({"learner": learner})
    space = search_space(method, parse_search(set_ or ()))
    changes = {"scale": scale, "folds": None if fold is None else (fold,)}
    given = {name: value for name, value in changes.items() if value is not None}
    place = placed(msgspec.structs.replace(source_of(data, "tune"), **given))
    if out is not None:
        _check_target(out)
    began = time.perf_counter()
    require_whole_number("tune", "impressions", impressions, at_least=1)
    total = len(learners_of(method, space)) * require_whole_number("tune", "repeats", repeats, at_least=1)
    with working(f"preparing {place.name}"):
        search.opened(place, 0)
    with progress_in_steps(f"{counted(total, 'run')} of {counted(impressions, 'impression')}", total) as advance:
        result = search.tune(
            method, somebody, place, search=space, impressions=impressions, repeats=repeats, seed=seed,
            objective=cast(search.Objective, objective), metric=metric, workers=workers, progress=advance,
            on=cast(Any, on),
        )  # fmt: skip
    if out is not None:
        write_text(out, [as_study(result)])
    if json:
        print_json(_document(result) | {"seconds": round(time.perf_counter() - began, 3), "study": out and str(out)})
    else:
        _show(result, out)


def _document(result: "TuningResult") -> dict[str, Any]:
    """Everything that the table shows, as plain values."""
    import msgspec

    from rankloop.learners import to_settings
    from rankloop.runs.run import this_machine
    from rankloop.users import to_settings as to_user_settings

    best = result.best
    return {
        "objective": result.objective,
        "metric": result.metric.name,
        "user": to_user_settings(result.user),
        "data": result.data if result.source is None else msgspec.to_builtins(result.source),
        "impressions": result.impressions,
        "repeats": result.repeats,
        "seed": result.seed,
        "candidates": [
            {
                "settings": candidate.chosen,
                **candidate.interval._asdict(),
                "runs": candidate.values,
                "paired_p": None if candidate is best else _p(result, candidate),
            }
            for candidate in result.candidates
        ],
        "best": to_settings(best.learner),
        "at_edge": result.at_edge,
        "engine": result.engine,
        "beside": result.beside,
        "manifest": this_machine(),
    }


def _p(result: "TuningResult", candidate: "Candidate") -> float:
    """Of the paired test against the best, on this collection: repeats are spread over its folds."""
    from rankloop.statistics import paired_comparison

    folds = None if result.source is None else [result.source.fold_of(repeat) for repeat in range(result.repeats)]
    return paired_comparison(candidate.values, result.best.values, folds).p


def _show(result: "TuningResult", out: Path | None) -> None:
    from rankloop.studies.tuning.study import shown

    best = result.best
    made = table(best.learner.name, f"{result.objective} {result.metric.title}", "p against the best")
    for candidate in result.candidates:
        value = shown(candidate, result.objective)
        p = _p(result, candidate)
        compared = "" if math.isnan(p) else f"{p:.2g}"
        emphasis, compared = ("bold", "best") if candidate is best else ("", compared)
        made.add_row(Text(str(candidate), emphasis), Text(value, emphasis), Text(compared, emphasis))
    print_table(made)
    stdout.print(
        f"\nMean of {counted(result.repeats, 'run')} of {result.impressions:,} impressions on {result.data}, "
        f"{result.user.name} "
        f"clicks, ± 95 % t-interval; paired t-tests.\n{result.measured}."
    )
    if result.engine:
        stdout.print(f"Computed on a GPU{f'; {result.beside}' if result.beside else ''}.", markup=False)
    elif result.beside:
        stdout.print(f"Nothing was computed on a GPU; {result.beside}.", markup=False)
    for name in result.at_edge:
        stdout.print(f"The best {name} is the last one tried in its direction: try values beyond it.")
    if out is not None:
        stdout.print(f"\n{out}: measures {best} on the test split; run it with: rankloop run {out}", markup=False)


def _check_target(path: Path) -> None:
    """Refuse a file that could not be written, or not be run, before the search and not after it."""
    if path.suffix != ".toml":
        raise SettingsError(f"a study file ends in .toml; got {path}")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise DataError(f"cannot write {path}: its folder does not exist or is not writable")
