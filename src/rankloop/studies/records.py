"""What a finished run leaves in a results folder, and how it is read back.

    FOLDER/study.toml            the study as it was run
    FOLDER/runs/<key>.parquet    one row per finished run; the key is a hash of what determines it
    FOLDER/started.json          the commands that it was run with
    FOLDER/results.parquet       one row per run of the study, with its place in it; made from the above
    FOLDER/curves.parquet        one row per run and evaluation point

A record appears by renaming a finished file, so whatever kills a process costs only the runs in flight.
"""

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rankloop.display.sheets import as_frame
from rankloop.errors import DataError, SettingsError
from rankloop.files import written_whole
from rankloop.metrics.names import Metric, metric
from rankloop.metrics.ndcg import CUTOFF
from rankloop.runs.batches import engine_of
from rankloop.runs.run import Run
from rankloop.runs.runs import measured_row, under_names_of_their_own
from rankloop.settings import require_choice
from rankloop.sources import fingerprint_of
from rankloop.statistics import THIS, GeneraliseTo
from rankloop.studies.columns import CURVE, QUERIES, SCHEMA
from rankloop.studies.held import Start, left_out, read_starts
from rankloop.studies.regret.findings import Findings, read_findings
from rankloop.studies.specification import Cell, Study, cells, metrics_of

CPU = ""
"""The engine of records that were computed on the CPU: their keys do not name it."""


class ByMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A run by a metric other than nDCG; where no page shows enough for it, `online` is NaN and its curve empty."""

    metric: str
    online: float
    offline: float
    offline_curve: list[float]
    online_curve: list[float]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run and its place in the study.

    `offline_curve` is nDCG on the test split at impressions `offline_at`; `online_curve` the mean nDCG of the pages
    shown in each interval between two of them. `metric` says which nDCG, `others` has the same for other metrics.
    """

    key: str
    grid: str
    collection: str
    stands_for: str | None
    is_published: bool
    fold: int | None
    user: str
    learner: str
    label: str
    seed: int
    impressions: int
    online_ndcg: float
    offline_ndcg: float
    gradient_variance: float
    clicks_per_page: float
    offline_at: list[int]
    offline_curve: list[float]
    online_curve: list[float]
    metric: str = f"ndcg@{CUTOFF}"
    others: list[ByMetric] = []
    weights: list[float]
    learning_seconds: float
    evaluation_seconds: float
    settings: dict[str, Any]
    manifest: dict[str, Any]

    @property
    def engine(self) -> str:
        """Which code computed it: `CPU`, or the device's (`gpu:…`)."""
        return engine_of(self.manifest)

    @property
    def learning_speed(self) -> float:
        """The mean of the offline curve, NaN without one: the spec's measure of how fast a method learns."""
        return float(np.mean(self.offline_curve)) if self.offline_curve else math.nan

    def by(self, name: str) -> "Record":
        """The same run measured by another metric, whose numbers and curves take the place of nDCG's."""
        if name == self.metric:
            return self
        one = next((one for one in self.others if one.metric == name), None)
        if one is None:
            have = ", ".join([self.metric, *(one.metric for one in self.others)])
            raise SettingsError(
                f"these runs were not measured by {name}, only by {have}; set `metrics` in the study file"
            )
        return msgspec.structs.replace(
            self, metric=name, online_ndcg=one.online, offline_ndcg=one.offline, offline_curve=one.offline_curve,
            online_curve=one.online_curve,
        )  # fmt: skip


class Reading(NamedTuple):
    """How results are read: what tests and intervals generalise to, and what methods are compared with.

    `against` is a label or a method; None: PDGD, as in the paper, where it was run.
    """

    generalise_to: GeneraliseTo = THIS
    against: str | None = None


_AS_THE_PAPER = Reading()


class Results:
    """The finished runs of a study, to be asked for by their place in it, and how they are to be read.

    `starts` says how they were started, `left_out` which records of the same folder are not among them, and why;
    `regret` is what a study of regret found out.
    """

    def __init__(self, study: Study, records: Sequence[Record], reading: Reading = _AS_THE_PAPER) -> None:
        self.study = study
        self.records = list(records)
        self.reading = reading
        self.starts: tuple[Start, ...] = ()
        self.left_out = ""
        self.regret: Findings | None = None

    @property
    def metric(self) -> Metric:
        """What `online_ndcg`, `offline_ndcg` and the curves are measured by: nDCG, unless `by` chose another metric."""
        return metric(self.records[0].metric) if self.records else metrics_of(self.study)[0]

    def by(self, name: str | None = None) -> "Results":
        """The same runs seen by another metric of the study; without a name, by the first that it names."""
        measured = {self.metric.name, *(one.metric for record in self.records[:1] for one in record.others)}
        wanted = metric(name or self.study.metrics[0], self.study.page_size, "results").name
        if name is None and wanted not in measured:
            return self  # of a version that measured nDCG@10 alone
        seen = copy.copy(self)
        seen.records = [record.by(wanted) for record in self.records]
        return seen

    def to_arrow(self, rows: Literal["runs", "curves"] = "runs") -> pa.Table:
        """`results.parquet` or `curves.parquet` as an Arrow table; `Runs` have the same columns, less the places."""
        require_choice("to_arrow", "rows", rows, ("runs", "curves"))
        return pa.Table.from_pylist(summary_rows(self) if rows == "runs" else curve_rows(self))

    def to_pandas(self, rows: Literal["runs", "curves"] = "runs") -> Any:
        """The same as a pandas frame."""
        return as_frame(self.to_arrow(rows))

    def select(self, **place: Any) -> list[Record]:
        """The records with these values (`grid=`, `collection=`, `user=`, `label=`, `learner=`, …), by seed."""
        return sorted(self._at(place), key=lambda record: record.seed)

    def values(self, name: str, **place: Any) -> list[Any]:
        """One field of the selected records, by seed."""
        return [getattr(record, name) for record in self.select(**place)]

    def axis(self, name: str, **place: Any) -> list[Any]:
        """The different values of a field among the selected records, in the order of the study."""
        return list(dict.fromkeys(getattr(record, name) for record in self._at(place)))

    def _at(self, place: dict[str, Any]) -> Iterator[Record]:
        return (one for one in self.records if all(getattr(one, name) == value for name, value in place.items()))


def key_of(cell: Cell, content_hash: str, engine: str = CPU) -> str:
    """The name of a run's record: a hash of everything that determines its result, sources included.

    `engine` names the code of another place than the CPU: the results are the same bits, the records are two.
    """
    determined = {"sources": fingerprint_of(cell.learner, cell.user)} | cell.settings(content_hash)
    determined |= {"engine": engine} if engine else {}
    return hashlib.sha256(json.dumps(determined, sort_keys=True).encode()).hexdigest()[:24]


def write_record(folder: Path, key: str, run: Run) -> Path:
    """One finished run as one file, whole or not at all."""
    queries = run.by_query
    table = pa.Table.from_pylist(
        [
            {
                "key": key,
                **measured_row(run),
                "metrics": [one.name for one in queries.metrics],
                "query_ids": queries.query_ids if len(queries.values) else [],
                "query_values": list(queries.values[-1]) if len(queries.values) else [],
            }
        ],
        schema=pa.unify_schemas([SCHEMA, QUERIES]),
    )
    path = record_path(folder, key)
    write_table(table, path, compression="zstd", use_dictionary=_DICTIONARIES, column_encoding=_ENCODINGS)
    return path


def record_path(folder: Path, key: str) -> Path:
    """Where a run's record lies."""
    return folder / "runs" / f"{key}.parquet"


def write_table(table: pa.Table, path: Path, **how: Any) -> None:
    """A Parquet file that appears whole or not at all."""
    with written_whole(path) as partial:
        pq.write_table(table, partial, **how)


def read_records(folder: Path, keyed: Iterable[tuple[Cell, str]]) -> list[Record]:
    """The records of those cells (with their keys) that are finished, in the order of the cells."""
    read = cache(_read_row)  # two grids may share a run
    return [_record(cell, row) for cell, key in keyed if (row := read(record_path(folder, key))) is not None]


def read_row(folder: Path, key: str) -> dict[str, Any]:
    """What the file of one run says, without its place in a study."""
    row = _read_row(record_path(folder, key))
    if row is None:
        raise DataError(f"{record_path(folder, key)} is missing")
    return row


def _read_row(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        row: dict[str, Any] = pq.read_table(path, schema=SCHEMA).to_pylist()[0]
    except (OSError, pa.ArrowException, IndexError) as error:
        why = "" if isinstance(error, pa.ArrowInvalid) else f" ({error})"  # Arrow's own words say the path again
        raise DataError(f"{path} is not a record of a run, or is damaged{why}; delete it to run it again") from None
    return row | {"settings": json.loads(row["settings"]), "manifest": json.loads(row["manifest"])}


class QueryResults(NamedTuple):
    """What each test query got at the end of a run: (metrics, queries), NaN where nothing is relevant."""

    metrics: tuple[str, ...]
    query_ids: NDArray[np.int64]
    values: NDArray[np.float32]


def read_queries(folder: Path, record: Record) -> QueryResults:
    """The query results of a run, from its record."""
    path = record_path(folder, record.key)
    try:
        table = pq.read_table(path, columns=QUERIES.names)
        metrics, ids, values = (table.column(name).combine_chunks() for name in QUERIES.names)
        names = tuple(metrics.flatten().to_pylist())
        numbers = values.flatten().flatten().to_numpy().reshape(len(names), -1)
        return QueryResults(names, ids.flatten().to_numpy(), numbers)
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise DataError(f"{path} has no query results ({error}); run the study again to have them") from None


def _record(cell: Cell, row: dict[str, Any]) -> Record:
    others = msgspec.convert(row["others"] or [], list[ByMetric])
    return Record(
        grid=cell.grid,
        collection=cell.source.name,
        stands_for=cell.source.stands_for,
        is_published=cell.source.is_published,
        fold=cell.fold,
        user=cell.user.name,
        learner=cell.learner.name,
        label=cell.label,
        seed=cell.seed,
        impressions=cell.impressions,
        **row | {"others": others},
    )


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """One row per run, as flat as a table wants it."""
    rows = [msgspec.to_builtins(record) for record in results.records]
    return [
        row
        | under_names_of_their_own(row["others"])
        | {name: json.dumps(row[name], sort_keys=True) for name in _DOCUMENTS}
        for row in rows
    ]


def curve_rows(results: Results) -> list[dict[str, Any]]:
    """One row per run and evaluation point, with the columns `CURVE`, and two for each further metric."""
    made = []
    for record in results.records:
        place = {name: getattr(record, name) for name in CURVE[:-3]}
        curves: dict[str, list[Any]] = {
            "offline_ndcg": record.offline_curve,
            "online_ndcg": [None, *record.online_curve],
        }
        for one in record.others:
            curves[f"offline_{one.metric}"] = one.offline_curve
            if metric(one.metric).is_seen_on_pages:
                curves[f"online_{one.metric}"] = [None, *one.online_curve]
        for point, at in enumerate(record.offline_at):
            made.append(place | {"impression": at} | {name: curve[point] for name, curve in curves.items()})
    return made


def write_summary(folder: Path, results: Results) -> None:
    """`results.parquet` and `curves.parquet`: the study as two tables for pandas, polars and DuckDB."""
    for name, table in (("results", results.to_arrow("runs")), ("curves", results.to_arrow("curves"))):
        if table.num_rows:
            write_table(table, folder / f"{name}.parquet")


def with_folder(results: Results, folder: Path) -> Results:
    """The same results, with what else their folder tells: how they were started, and what they leave out."""
    results.starts = read_starts(folder)
    shown = {record.key: record.settings for record in results.records}
    results.left_out = left_out(folder, shown, partial(_asked, results.study))
    results.regret = read_findings(folder) if results.study.regret is not None else None
    return results


def _asked(study: Study, grades: int) -> list[dict[str, Any]]:
    """The settings of all runs of a study, on collections with so many grades; none where a plugin of it is gone."""
    try:
        return [cell.graded(grades).settings("") for cell in cells(study)]
    except SettingsError:  # what is finished can be read without it
        return []


def read_results(folder: str | Path) -> Results:
    """A results folder, read back; the collections need not be there.

    The summary is written when a study ends. Where there is none yet, the runs that are finished are read one by one.
    """
    folder = Path(folder)
    study = _read_study(folder)
    try:
        rows = pq.read_table(folder / "results.parquet").to_pylist()
        documents = [row | {name: json.loads(row[name]) for name in _DOCUMENTS} for row in rows]
        return with_folder(Results(study, msgspec.convert(documents, list[Record])), folder)
    except FileNotFoundError:
        from rankloop.studies.found import find_records

        return with_folder(Results(study, read_records(folder, find_records(folder, study))), folder)
    except pa.ArrowException:
        raise damaged_summary(folder) from None
    except (OSError, msgspec.DecodeError, KeyError, ValueError) as error:
        raise DataError(f"{folder} holds no readable results: {error}") from None


def damaged_summary(folder: Path) -> DataError:
    """What is said of a folder whose results.parquet is no Parquet file: it is made from the records of its runs."""
    remedy = "delete it: the runs in runs/ are read instead, and `rankloop report` works again"
    if not (folder / "runs").is_dir():
        remedy = "delete it and run the study again"
    return DataError(f"{folder / 'results.parquet'} is damaged; {remedy}")


def _read_study(folder: Path) -> Study:
    try:
        return msgspec.toml.decode((folder / "study.toml").read_bytes(), type=Study)
    except FileNotFoundError:
        raise DataError(f"{folder} holds no results of a study: study.toml is missing") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{folder} holds no readable results: {error}") from None


def require_finished(results: Results, folder: Path) -> Results:
    """The results; refuse a folder in which no run is finished."""
    if not results.records:
        raise DataError(f"no run in {folder} is finished; the same `rankloop run` command continues the study")
    return results


_DOCUMENTS = ("settings", "manifest")
# Query numbers go up by a little, again and again: their differences take a tenth of the room.
_ENCODINGS = {"query_ids.list.element": "DELTA_BINARY_PACKED"}
_DICTIONARIES = ["metrics.list.element", "query_values.list.element.list.element"]
