"""What `rankloop export` does: a ranker, its run file, or the qrels that judge it. `-` writes to standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path

from rankloop.cli.terminal import err
from rankloop.data import load
from rankloop.data.collection import Collection, Split
from rankloop.errors import DataError
from rankloop.files import write_text
from rankloop.interchange.rankers import Ranker, ranker_text, read_ranker
from rankloop.interchange.trec import qrels_lines, run_lines
from rankloop.settings import require_choice

STDOUT = "-"


def main_ranker(
    source: Path,
    *,
    out: str = STDOUT,
    grid: str | None = None,
    collection: str | None = None,
    user: str | None = None,
    label: str | None = None,
    seed: int | None = None,
) -> None:
    """Write a ranker as JSON, out of a saved run, a record, another export, or a run of a study's results folder."""
    if source.is_dir():
        from rankloop.interchange.records import ranker_of_study

        ranker = ranker_of_study(source, grid=grid, collection=collection, user=user, label=label, seed=seed)
    else:
        ranker = read_ranker(source)
    _write(out, [ranker_text(ranker)], f"{_told(ranker)}, {len(ranker.weights)} weights")


def main_run(
    ranker: Path,
    *,
    data: str,
    fold: int | None = None,
    scale: float = 1.0,
    split: str = "test",
    out: str = STDOUT,
    tag: str = "rankloop",
    depth: int | None = None,
) -> None:
    """Write the TREC run file of a ranker on one split of a collection."""
    queries = _split(load(data, fold=fold, scale=scale), split)
    _write(out, run_lines(ranker, queries, tag=tag, depth=depth), f"{queries.queries:,} queries ranked")


def main_qrels(
    *,
    data: str,
    fold: int | None = None,
    scale: float = 1.0,
    split: str = "test",
    out: str = STDOUT,
    exponential: bool = False,
) -> None:
    """Write the qrels file of one split of a collection."""
    queries = _split(load(data, fold=fold, scale=scale), split)
    _write(out, qrels_lines(queries, exponential=exponential), f"{len(queries.grades):,} judgements")


def _split(data: Collection, name: str) -> Split:
    require_choice("export", "split", name, ("train", "vali", "test"))
    if name not in data.splits:
        raise DataError(f"{data.name} has no {name} split; there are {', '.join(data.splits)}")
    return data.splits[name]


def _write(out: str, pieces: Iterable[str], what: str) -> None:
    if out == STDOUT:
        sys.stdout.writelines(pieces)
        return
    err.print(f"{write_text(out, pieces)}: {what}", markup=False)


def _told(ranker: Ranker) -> str:
    learner = ranker.settings.get("learner")
    return str(learner["learner"]) if isinstance(learner, dict) and "learner" in learner else "linear ranker"
