"""Run and qrels files, the two text forms that trec_eval, pytrec_eval and ir-measures read.

A document has no name in a collection, so it is called `<qid>-<row>`, rows counted from 0 within the query. Evaluation
tools ignore the rank in a run file: they sort by score, in single precision, and break ties by document name. Scores
are therefore written strictly decreasing: a document whose score ties with the one above is moved just below it. The
order is then ours in every tool.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.collection import Split
from rankloop.errors import DataError, SettingsError
from rankloop.evaluation import scores_of
from rankloop.files import write_text
from rankloop.interchange.rankers import Ranker, read_ranker
from rankloop.rankers import LINEAR, Linear
from rankloop.settings import require_whole_number

Weights = ArrayLike | Ranker | str | os.PathLike[str]


def write_run(
    weights_or_path: Weights,
    split: Split,
    path: str | os.PathLike[str],
    *,
    tag: str = "rankloop",
    depth: int | None = None,
) -> Path:
    """Rank a split's queries and write `qid Q0 docid rank score tag`, one document a line.

    Args:
        weights_or_path: (features,) weights of a linear ranker, a `Ranker` of any kind, or the path of an exported
            ranker or saved run.
        split: the queries, such as `data.test`.
        path: the file to write.
        tag: the name of the ranker in the file.
        depth: how many documents per query; None: all.
    """
    return write_text(path, run_lines(weights_or_path, split, tag=tag, depth=depth))


def write_qrels(split: Split, path: str | os.PathLike[str], *, exponential: bool = False) -> Path:
    """Write the grades as `qid 0 docid grade`; with `exponential`, 2^grade − 1 in the place of the grade.

    trec_eval's nDCG takes what stands there as the gain: with `exponential` it is the nDCG of rankloop.
    """
    return write_text(path, qrels_lines(split, exponential=exponential))


def run_lines(
    weights_or_path: Weights, split: Split, *, tag: str = "rankloop", depth: int | None = None
) -> Iterator[str]:
    """The lines of a run file.

    >>> split = Split.of(features=[[0.0], [1.0], [1.0]], grades=[1, 0, 0], queries=[7, 7, 7])
    >>> print(*run_lines([1.0], split), sep="", end="")
    7 Q0 7-1 1 1.0 rankloop
    7 Q0 7-2 2 0.99999976 rankloop
    7 Q0 7-0 3 0.0 rankloop
    """
    if not tag or any(letter.isspace() for letter in tag):
        raise SettingsError(f"tag must be one word, without spaces; got {tag!r}")
    if depth is not None:
        require_whole_number("run file", "depth", depth, at_least=1)
    weights, kind = _weights(weights_or_path, split)
    return _run_lines(weights, kind, split, tag, depth)


def qrels_lines(split: Split, *, exponential: bool = False) -> Iterator[str]:
    """The lines of a qrels file: every candidate of every query, also the irrelevant ones.

    >>> split = Split.of(features=[[0.0], [1.0]], grades=[3, 0], queries=[7, 7])
    >>> print(*qrels_lines(split), *qrels_lines(split, exponential=True), sep="", end="")
    7 0 7-0 3
    7 0 7-1 0
    7 0 7-0 7
    7 0 7-1 0
    """
    for qid, rows in _queries(split):
        for row, grade in enumerate(split.grades[rows].tolist()):
            yield f"{qid} 0 {qid}-{row} {2**grade - 1 if exponential else grade}\n"


def _run_lines(weights: NDArray[np.float64], kind: Any, split: Split, tag: str, depth: int | None) -> Iterator[str]:
    for qid, rows in _queries(split):
        scores = scores_of(weights, split.arrays.features[rows], kind)
        if not np.isfinite(scores).all():
            raise DataError(f"query {qid}: the scores are too large for single precision; scale the weights down")
        order = np.argsort(-scores, kind="stable")[:depth]
        for rank, (row, score) in enumerate(zip(order, strictly_decreasing(scores[order]), strict=True), start=1):
            yield f"{qid} Q0 {qid}-{row} {rank} {score!s} {tag}\n"


def strictly_decreasing(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores in decreasing order, each moved down as little as keeps it visibly below the one before.

    >>> strictly_decreasing(np.array([2.0, 1.0, 1.0], np.float32)).tolist()
    [2.0, 1.0, 0.9999995231628418]
    """
    largest = np.abs(scores).max(initial=np.float32(0.0)) or np.float32(1.0)
    step = np.float32(2.0) * np.spacing(largest)
    moved = scores.copy()
    for i in range(1, len(moved)):
        below = min(moved[i - 1] - step, np.nextafter(moved[i - 1], np.float32(-np.inf)))
        moved[i] = min(moved[i], below)
    return moved


def _queries(split: Split) -> Iterator[tuple[int, slice]]:
    for q, qid in enumerate(split.query_ids.tolist()):
        yield qid, slice(int(split.offsets[q]), int(split.offsets[q + 1]))


def _weights(given: Weights, split: Split) -> tuple[NDArray[np.float64], Any]:
    where = "weights"
    if isinstance(given, str | os.PathLike):
        where = f"{os.fspath(given)}: weights"
        given = read_ranker(given)
    kind = given.kind if isinstance(given, Ranker) else LINEAR
    values = np.asarray(given.weights if isinstance(given, Ranker) else given, dtype=np.float64)
    features = split.features.shape[1]
    wanted, per = features, "one per feature"
    if not isinstance(kind, Linear):
        wanted, per = kind.count(features), f"as {kind} has"
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    if values.shape != (wanted,) or not np.isfinite(rounded).all():
        raise SettingsError(f"{where} must be finite, {per} ({wanted}); got shape {values.shape}")
    return values, kind
