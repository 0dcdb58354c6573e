"""The main job: six learners, two users, a table and a picture, in about a minute."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rankloop.data.worlds import WORLDS
from rankloop.errors import DataError
from rankloop.learners import LEARNERS, Learner, to_settings
from rankloop.run import Run, this_machine
from rankloop.settings import require_choice, require_whole_number
from rankloop.studies.figures import learning_curves
from rankloop.studies.grid import Grid, Results, compile_kernels, paper_learners, run_grid
from rankloop.studies.statistics import compare, interval
from rankloop.terminal import out as stdout
from rankloop.terminal import print_json, progress_in_steps, table, working

DEFAULT_SCALE = 0.2  # of a synthetic world: large enough to generalise, small enough for two minutes


def grid(*, learners: Sequence[str] | None = None, users: Sequence[str] | None = None, **settings: Any) -> Grid:
    """The grid that the command line asks for; learners by name, with the paper's settings."""
    chosen: dict[str, Any] = {"evaluate_every": max(1, settings["impressions"] // 20)}
    if settings["scale"] is None:
        settings["scale"] = DEFAULT_SCALE if settings["data"] in WORLDS else 1.0
    if learners:
        for name in learners:
            require_choice("run", "learner", name, LEARNERS)
        standard = {learner.name: learner for learner in paper_learners()}
        chosen["learners"] = tuple(standard.get(name) or LEARNERS[name]() for name in dict.fromkeys(learners))
    else:
        chosen["learners"] = paper_learners()
    if users:
        chosen["users"] = tuple(dict.fromkeys(users))
    return Grid(**chosen, **settings)


def main(grid: Grid, *, out: Path, workers: int | None = None, json: bool = False) -> None:
    """Run the grid, print the table (or JSON), and write picture and numbers to `out`."""
    _writable(out)
    workers = os.cpu_count() or 1 if workers is None else require_whole_number("run", "workers", workers, at_least=1)
    began = time.perf_counter()
    with working(f"preparing {grid.data}"):
        data = grid.collection()
    with progress_in_steps("compiling, once", len(grid.learners)) as compiled:
        for name in compile_kernels(grid, workers):
            compiled(name)
    total = len(grid.cells)
    with progress_in_steps(f"{total} runs of {grid.impressions:,} impressions", total) as tell:
        results = run_grid(grid, workers, lambda run: tell(_word(run)))
    seconds = time.perf_counter() - began
    document = summary(results, seconds)
    picture = learning_curves(results, out / "learning-curves.png")
    numbers = out / "results.json"
    numbers.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
    if json:
        print_json(document)
        return
    stdout.print(f"{data!r}")
    for user in grid.users:
        _show(document, user)
    _explain(document)
    stdout.print(f"\n{picture}   {numbers}   ({seconds:.0f} s)")


def summary(results: Results, seconds: float) -> dict[str, Any]:
    """Everything that the table shows, as plain values."""
    grid = results.grid
    rows = [_row(results, learner, user) for user in grid.users for learner in grid.learners]
    return {
        "data": grid.data,
        "scale": grid.scale,
        "fold": grid.fold,
        "impressions": grid.impressions,
        "repeats": grid.repeats,
        "seed": grid.seed,
        "seconds": round(seconds, 3),
        "rows": rows,
        "manifest": this_machine(),
    }


def _row(results: Results, learner: Learner, user: str) -> dict[str, Any]:
    runs = results.of(learner.name, user)
    online, offline = [run.online_ndcg for run in runs], [run.offline_ndcg for run in runs]
    row: dict[str, Any] = {
        "user": user,
        "learner": learner.name,
        "settings": to_settings(learner),
        "online_ndcg": interval(online)._asdict() | {"runs": online},
        "offline_ndcg": interval(offline)._asdict() | {"runs": offline},
        "impressions_per_second": sum(run.impressions_per_second for run in runs) / len(runs),
        "against_pdgd": None,
    }
    if learner.name == "ROLTR" and ("PDGD", user) in results.runs:
        reference = results.of("PDGD", user)
        row["against_pdgd"] = {
            "online": _comparison(online, [run.online_ndcg for run in reference]),
            "offline": _comparison(offline, [run.offline_ndcg for run in reference]),
        }
    return row


def _comparison(values: list[float], reference: list[float]) -> dict[str, Any]:
    compared = compare(values, reference)
    return compared._asdict() | {"mark": compared.mark}


def _show(document: dict[str, Any], user: str) -> None:
    rows = [row for row in document["rows"] if row["user"] == user]
    learners = [row for row in rows if row["settings"]["learner"] != "MDPRank"]
    made = table(f"{user} clicks", "online nDCG@10", "", "offline nDCG@10", "", "impressions/s")
    for row in rows:
        marks = row["against_pdgd"] or {"online": {"mark": ""}, "offline": {"mark": ""}}
        cells = []
        for column, digits in (("online_ndcg", 1), ("offline_ndcg", 4)):
            value = row[column]
            text = f"{value['mean']:.{digits}f} ± {value['half_width']:.{digits}f}"
            best = value["mean"] == max(other[column]["mean"] for other in learners)
            cells.append(f"[bold]{text}[/bold]" if best else text)
        made.add_row(
            row["learner"], cells[0], marks["online"]["mark"], cells[1], marks["offline"]["mark"],
            f"{row['impressions_per_second']:,.0f}",
        )  # fmt: skip
    stdout.print()
    stdout.print(made)


def _explain(document: dict[str, Any]) -> None:
    stdout.print(
        f"\nMean of {document['repeats']} runs ± 95 % t-interval. Online: Σ 0.9995^i · nDCG@10 of the pages shown, "
        f"2000 at most. Offline: nDCG@10 on\nheld-out queries after {document['impressions']:,} impressions. MDPRank "
        f"learns from the true grades (the authors' variant): a skyline."
    )
    for row in document["rows"]:
        if row["against_pdgd"]:
            online = row["against_pdgd"]["online"]
            stdout.print(
                f"ROLTR against PDGD online, {row['user']}: {online['difference']:+.1f}, "
                f"p = {online['welch_p']:.2g} (Welch), {online['paired_p']:.2g} (paired). "
                f"△ ▽ p < 0.05, ▲ ▼ p < 0.01."
            )


def _word(run: Run) -> str:
    return f"{run.settings['learner']['learner']}, {run.settings['user']['name']}"


def _writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
    except OSError as error:
        raise DataError(f"cannot write results to {folder}: {error.strerror}") from None
