"""Whether records of a study are what the code computes: recompute some of them and compare every bit."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from rankloop import gpu
from rankloop.engines import Engine
from rankloop.errors import DataError, RankloopError
from rankloop.metrics.names import metric
from rankloop.runs.batches import engine_of
from rankloop.runs.run import Run
from rankloop.runs.runs import by_metric, measured_row
from rankloop.settings import flat
from rankloop.studies.places import collection_of, request_of, run_cell
from rankloop.studies.records import QueryResults, Record, Results, read_queries, read_row
from rankloop.studies.specification import Cell, cells

_ONE_AT_A_TIME = threading.Lock()  # one thread at a time speaks to a device
_COMPARED = ("online_ndcg", "offline_ndcg", "gradient_variance", "clicks_per_page", "offline_at", "offline_curve",
             "online_curve", "weights")  # fmt: skip


class Checked(NamedTuple):
    """A record that was computed again: what differs, in words; nothing if every bit is the same."""

    record: Record
    differences: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    is_compared: bool = True
    """False where the record cannot be read or computed again; `differences` says why."""

    @property
    def name(self) -> str:
        """Which run it is."""
        record = self.record
        fold = "" if record.fold is None else f", fold {record.fold}"
        return f"{record.label}, {record.user}, {record.collection}{fold}, seed {record.seed}"

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "key": self.record.key,
            "run": self.name,
            "same": self.same,
            "compared": self.is_compared,
            "differences": self.differences,
            "remarks": self.remarks,
        }

    @property
    def same(self) -> bool:
        """Whether all bits agree."""
        return not self.differences


def elsewhere(results: Results) -> int:
    """How many runs of a folder were computed on a device, where there is none to compute them again."""
    return 0 if gpu.why_no_device() is None else len({one.key for one in results.records if one.engine})


def sample(results: Results, size: int, seed: int) -> list[Record]:
    """So many different runs, drawn without replacement; all of them if there are not more.

    A run that was computed on a device is computed again on one, since that is the code it verifies: without one it
    is not drawn.
    """
    here = [one for one in results.records if not one.engine] if elsewhere(results) else results.records
    records = list({record.key: record for record in here}.values())
    return records if size >= len(records) else Random(seed).sample(records, size)


def verify(results: Results, records: Sequence[Record], folder: Path, engine: Engine) -> Iterator[Checked]:
    """Compute these records of a folder again, a few at a time, and tell of each as it is done."""
    asked = {place_of(cell): cell for cell in cells(results.study)}
    waiting = list(reversed(records))
    running: dict[Future[Any], tuple[Record, QueryResults]] = {}
    while waiting or running:
        while waiting and len(running) < engine.slots:
            record = waiting.pop()
            cell = asked.get((record.grid, record.collection, record.user, record.label, record.seed))
            if cell is None:
                yield Checked(record, ("the study file no longer asks for it",), is_compared=False)
                continue
            try:
                cell, kept = _as_it_was_run(cell, record), _kept(folder, record)
            except RankloopError as error:
                yield Checked(record, (str(error),), is_compared=False)
                continue
            running[engine.submit(_again, cell, bool(record.engine))] = (record, kept)
        finished, _ = wait(running, return_when=FIRST_COMPLETED) if running else ((), ())
        for future in finished:
            record, kept = running.pop(future)
            try:
                yield compared(record, kept, future.result())
            except RankloopError as error:
                yield Checked(record, (f"it could not be computed again: {error}",), is_compared=False)


def _again(cell: Cell, on_device: bool) -> Run:
    """The run of a cell, where its record was computed."""
    if not on_device:
        return run_cell(cell)
    with _ONE_AT_A_TIME:
        (run,) = gpu.simulate_on_device([request_of(cell, collection_of(cell))])
    return run


def place_of(cell: Cell) -> tuple[str, str, str, str, int]:
    """What tells a cell from the others of its study."""
    return cell.grid, cell.source.name, cell.user.name, cell.label, cell.seed


def _as_it_was_run(cell: Cell, record: Record) -> Cell:
    data = collection_of(cell)
    if data.content_hash != record.manifest.get("data"):
        raise DataError(f"{cell.source.name} is no longer the collection that it was computed on: its content differs")
    return cell.on(data)


def _kept(folder: Path, record: Record) -> QueryResults:
    """What a record's own file has of each query; refuses one that says otherwise than the folder's table of runs."""
    row = read_row(folder, record.key)
    others = [name for name in _COMPARED if _difference(getattr(record, name), row[name]) is not None]
    if others:
        raise DataError(f"results.parquet and the run's own file differ in {', '.join(others)}; one was changed")
    return read_queries(folder, record)


def compared(record: Record, kept: QueryResults, run: Run) -> Checked:
    """A record, with what it keeps of each query, against the same run, computed now."""
    now = {name: value for name, value in measured_row(run).items() if name in _COMPARED}
    then = {name: getattr(record, name) for name in _COMPARED}
    for other in record.others:
        measured = by_metric(run.by(other.metric)) if metric(other.metric) in run.metrics else {}
        for name in ("online", "offline", "offline_curve", "online_curve"):
            then[f"{other.metric} {name}"], now[f"{other.metric} {name}"] = getattr(other, name), measured.get(name, [])
    queries = run.by_query
    then["query_ids"], now["query_ids"] = kept.query_ids, queries.query_ids if len(queries.values) else []
    for place, name in enumerate(kept.metrics):
        mine: Any = queries[name] if len(queries.values) and metric(name) in queries.metrics else []
        then[f"{name} of each query"], now[f"{name} of each query"] = kept.values[place], mine
    differences = [
        f"{name}: {how}" for name, value in then.items() if (how := _difference(value, now[name])) is not None
    ]
    return Checked(record, tuple(differences), tuple(_remarks(record, run)) if differences else ())


def _difference(then: Any, now: Any) -> str | None:
    """How far two values or lists are apart, unless they are the same bits."""
    a, b = np.atleast_1d(np.asarray(then, dtype=np.float64)), np.atleast_1d(np.asarray(now, dtype=np.float64))
    if a.shape != b.shape:
        return f"{a.size} values, {b.size} now"
    unequal = np.flatnonzero((a.view(np.int64) != b.view(np.int64)) & ~(np.isnan(a) & np.isnan(b)))
    if not len(unequal):
        return None
    worst = unequal[int(np.argmax(np.nan_to_num(np.abs(a - b)[unequal], nan=np.inf)))]
    text = f"{a[worst]:.17g}, {b[worst]:.17g} now (off by {abs(a[worst] - b[worst]):.2g})"
    return text if a.size == 1 else f"{len(unequal)} of {a.size} differ, at most {text}"


def _remarks(record: Record, run: Run) -> Iterator[str]:
    """What else is not as it was, and may be the cause."""
    if record.manifest.get("sources") != run.manifest["sources"]:
        yield "the code has changed since"
    if record.engine != (engine_of(run.manifest) or record.engine):
        yield "the device's code has changed since"
    for name in ("versions", "processor"):
        if record.manifest.get(name) != run.manifest[name]:
            yield f"other {name}"
    then, now = flat(record.settings), flat(run.settings)
    for key in dict.fromkeys([*then, *now]):
        if str(then.get(key)) != str(now.get(key)):
            yield f"{key} was {then.get(key)}, is {now.get(key)}"
