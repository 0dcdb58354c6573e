"""The public table of runs: one row for each, with what it was and what it came to, for others to add theirs to.

A Parquet file whose columns are `COLUMNS`, in their order, and whose metadata names the format. Rows of one collection,
fold, user, length and seed are pairs, whoever added them, as long as the collection's content is the same.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.errors import DataError
from rankloop.statistics import Interval, interval
from rankloop.studies.records import Record, Results, write_table

FORMAT = 1
COLUMNS = pa.schema(
    [
        ("collection", pa.string()),  # as its study names it
        ("data", pa.string()),  # the hash of its content
        ("fold", pa.int16()),  # null without folds
        ("user", pa.string()),
        ("people", pa.string()),  # the user's settings, JSON
        ("label", pa.string()),
        ("learner", pa.string()),
        ("settings", pa.string()),  # the learner's settings, JSON
        ("study", pa.string()),
        ("grid", pa.string()),
        ("seed", pa.int64()),
        ("impressions", pa.int64()),
        ("page_size", pa.int16()),
        ("metric", pa.string()),  # what the next three are measured by
        ("online", pa.float64()),  # Σ 0.9995^i over the pages shown
        ("offline", pa.float64()),  # on held-out queries, at the end
        ("speed", pa.float64()),  # the mean of the offline curve
        ("gradient_variance", pa.float64()),  # NaN unless it was measured
        ("clicks_per_page", pa.float64()),
        ("engine", pa.string()),  # empty: the CPU
        ("version", pa.string()),  # of rankloop
        ("key", pa.string()),  # a hash of all that determines the run
    ]
)
_MARK = b"rankloop.runs"
_RUN = ("collection", "data", "fold", "people", "label", "settings", "seed", "impressions", "page_size", "metric")
"""What a run was, whoever made it and wherever."""
_IDENTITY = (*_RUN, "grid", "online", "offline")
_PLACE = ("collection", "user", "impressions", "label", "learner")
_LINE = (*_PLACE, "people", "settings", "page_size", "metric")


def rows_of(results: Results) -> pa.Table:
    """The runs of a results folder as rows of the table."""
    return pa.Table.from_pylist([_row(record, results.study.name) for record in results.records], schema=COLUMNS)


def _row(record: Record, study: str) -> dict[str, Any]:
    settings = record.settings
    return {
        "collection": record.collection,
        "data": record.manifest.get("data"),
        "fold": record.fold,
        "user": record.user,
        "people": json.dumps(settings.get("user"), sort_keys=True),
        "label": record.label,
        "learner": record.learner,
        "settings": json.dumps(settings.get("learner"), sort_keys=True),
        "study": study,
        "grid": record.grid,
        "seed": record.seed,
        "impressions": record.impressions,
        "page_size": settings.get("page_size", 10),
        "metric": record.metric,
        "online": record.online_ndcg,
        "offline": record.offline_ndcg,
        "speed": record.learning_speed,
        "gradient_variance": record.gradient_variance,
        "clicks_per_page": record.clicks_per_page,
        "engine": record.engine,
        "version": record.manifest.get("versions", {}).get("rankloop", ""),
        "key": record.key,
    }


def read_runs(path: Path) -> pa.Table:
    """A table of runs; refuses a file that is none, or of another format."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; create it with `rankloop results add FOLDER --to {path}`") from None
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} is not a table of runs, or is damaged ({error})") from None
    mark = (table.schema.metadata or {}).get(_MARK)
    if mark is None:
        raise DataError(f"{path} is not a table of runs, though it is a Parquet file: its metadata names no format")
    if mark != str(FORMAT).encode():
        raise DataError(f"{path} has format {mark.decode()}; this version reads {FORMAT}")
    try:
        return table.select(COLUMNS.names).cast(COLUMNS)
    except (KeyError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} lacks columns of a table of runs ({error})") from None


def add_runs(path: Path, new: pa.Table) -> tuple[int, int]:
    """Add rows to the table, made if it is not there: how many were new, and how many it holds now.

    A run that is there already with the same outcome stays as it was: adding a folder twice changes nothing, and
    neither does a run that was made again on another machine.
    """
    old = read_runs(path) if path.exists() else COLUMNS.empty_table()
    known = {_values(row, _IDENTITY) for row in old.select(_IDENTITY).to_pylist()}
    asked = enumerate(new.select(_IDENTITY).to_pylist())
    fresh = [index for index, row in asked if _values(row, _IDENTITY) not in known]
    both = pa.concat_tables([old, new.take(pa.array(fresh, pa.int64()))])
    both = both.sort_by(
        [(name, "ascending") for name in ("collection", "user", "grid", "label", "impressions", "seed")]
    )
    marked = both.replace_schema_metadata({_MARK: str(FORMAT).encode()})
    write_table(marked, path, compression="zstd", compression_level=15)
    return len(fresh), both.num_rows


def _values(row: dict[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Those of a row; NaN, which equals nothing, as None."""
    return tuple(None if row[name] != row[name] else row[name] for name in names)


def _version(row: dict[str, Any]) -> list[int]:
    """The numbers of a version, to compare: 0.10 is later than 0.9."""
    return [int(number) for number in re.findall(r"\d+", row["version"] or "")]


class Line(NamedTuple):
    """A method on a collection with a kind of people: means with 95 % t-intervals over its runs, folds fixed."""

    collection: str
    user: str
    impressions: int
    label: str
    learner: str
    runs: int
    online: Interval
    offline: Interval
    speed: Interval
    engines: tuple[str, ...]


def summary(table: pa.Table, only: Iterable[str] = ()) -> list[Line]:
    """One line for each collection, user, length and label, the best offline first; `only` as in `rankloop run`.

    A run counts once, though two grids share it; one that was made again counts as the later version of rankloop has
    it. What was measured otherwise (other content, settings, pages or metric) has a line of its own.
    """
    groups: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[str, Any]]] = {}
    folds: dict[tuple[Any, ...], list[Any]] = {}
    for row in _chosen(table.to_pylist(), tuple(only)):
        # Each fold has content of its own: it is another collection only if the same fold is there with other content.
        contents = folds.setdefault((*_values(row, _LINE), row["fold"]), [])
        if row["data"] not in contents:
            contents.append(row["data"])
        known = groups.setdefault((*_values(row, _LINE), contents.index(row["data"])), {})
        before = known.get(_values(row, _RUN))
        if before is None or _version(before) <= _version(row):
            known[_values(row, _RUN)] = row
    lines = [_line(place[: len(_PLACE)], list(runs.values())) for place, runs in groups.items()]
    return sorted(lines, key=lambda one: (*one[:3], -one.offline.mean if math.isfinite(one.offline.mean) else 0.0))


def _chosen(rows: list[dict[str, Any]], words: Sequence[str]) -> list[dict[str, Any]]:
    """The rows that match words: methods or labels, users, collections, grids; words of one kind add up."""
    kinds = ("learner", "label", "user", "collection", "grid", "study")
    wanted: dict[str, set[str]] = {}
    for word in words:
        kind = next((kind for kind in kinds if any(row[kind] == word for row in rows)), None)
        if kind is None:
            there = sorted({row[kind] for row in rows for kind in kinds})
            raise DataError(f"--only {word!r} matches nothing; choose from {', '.join(map(repr, there))}")
        wanted.setdefault(kind, set()).add(word)
    return [row for row in rows if all(row[kind] in values for kind, values in wanted.items())]


def _line(place: tuple[Any, ...], rows: list[dict[str, Any]]) -> Line:
    folds = [row["fold"] for row in rows]
    online, offline, speed = (interval([row[name] for row in rows], folds) for name in ("online", "offline", "speed"))
    collection, user, impressions, label, learner = place
    engines = tuple(sorted({row["engine"] for row in rows}))
    return Line(collection, user, impressions, label, learner, len(rows), online, offline, speed, engines)
