"""Rankers out of a study's results folder: the weights that a run ended with are in its record."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.errors import DataError
from rankloop.interchange.rankers import Ranker, kind_of

PLACE = ("grid", "collection", "user", "label", "seed")
_COLUMNS = ["weights", "settings", "manifest"]


def ranker_of_record(path: Path) -> Ranker:
    """The ranker in the record of one run, `FOLDER/runs/<key>.parquet`."""
    rows = _rows(path, _COLUMNS)
    if len(rows) != 1:
        raise DataError(f"{path} holds {len(rows)} runs, not one; give the results folder and say which run")
    return _ranker(rows[0])


def ranker_of_study(folder: Path, **place: Any) -> Ranker:
    """The ranker of one run of a study, by its place in it: grid, collection, user, label, seed.

    What is None is left open; the rest must leave exactly one run.
    """
    rows = _rows(folder / "results.parquet", [*PLACE, *_COLUMNS])
    asked = {name: value for name, value in place.items() if value is not None}
    matching = [row for row in rows if all(row[name] == value for name, value in asked.items())]
    if not matching:
        described = ", ".join(f"{name} {value!r}" for name, value in asked.items())
        raise DataError(f"{folder} has no run with {described}; choose from {_choices(rows)}")
    if len({(row["settings"], tuple(row["weights"])) for row in matching}) > 1:
        raise DataError(f"{folder} has {len(matching)} such runs; choose one of {_choices(matching)}")
    return _ranker(matching[0])


def _ranker(row: dict[str, Any]) -> Ranker:
    settings = json.loads(row["settings"])
    return Ranker(
        weights=tuple(row["weights"]),
        kind=kind_of(settings),
        settings=settings,
        manifest=json.loads(row["manifest"]),
    )


def _rows(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    try:
        return list(pq.ParquetFile(path).read(columns=columns).select(columns).to_pylist())
    except FileNotFoundError:
        raise DataError(f"cannot read {path}: there is no such file; is the study finished?") from None
    except (OSError, KeyError, pa.ArrowException) as error:
        raise DataError(f"{path} does not contain rankloop results, or is damaged: {error}") from None


def _choices(rows: list[dict[str, Any]]) -> str:
    axes = {name: list(dict.fromkeys(row[name] for row in rows)) for name in PLACE}
    open_axes = {name: values for name, values in axes.items() if len(values) > 1} or axes
    return "; ".join(f"{name} {', '.join(map(str, values))}" for name, values in open_axes.items())
