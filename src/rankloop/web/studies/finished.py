"""The finished runs of a study, also of one that is still running.

A run's record is named by a hash of what determines it, its collection included. The records say which collections
those were, so a folder can be read while the study runs, without the collections at hand.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.errors import DataError
from rankloop.studies.records import Results, key_of, read_records, read_results, record_path
from rankloop.studies.specification import Cell, Study, cells


class _Met(NamedTuple):
    """A collection as a record knows it."""

    content_hash: str
    grades: int


def read_study(folder: Path) -> Study:
    """The study of a results folder."""
    try:
        return msgspec.toml.decode((folder / "study.toml").read_bytes(), type=Study)
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(f"study.toml cannot be read: {error}") from None


def is_summarised(folder: Path) -> bool:
    """Whether results.parquet holds every run that there is: it is written when a study ends."""
    summary, runs = folder / "results.parquet", folder / "runs"
    if not summary.is_file() or not runs.is_dir():
        return summary.is_file()
    written = summary.stat().st_mtime_ns
    # The folder changes with every record that appears in it.
    return written >= max(runs.stat().st_mtime_ns, (folder / "study.toml").stat().st_mtime_ns)


def count_finished(folder: Path, study: Study) -> int:
    """How many runs of a study are finished; what two grids share counts twice, as it does in the report."""
    summarised = _summarised(folder)
    if is_summarised(folder):
        return summarised
    return max(summarised, len(_keyed(folder, study)))


def read_finished(folder: Path, study: Study) -> Results:
    """The finished runs of a study: from its summary, or record by record while that is not up to date."""
    if is_summarised(folder):
        return read_results(folder)
    keyed = _keyed(folder, study)
    if _summarised(folder) > len(keyed):  # a copy whose times say nothing, or records of another release
        return read_results(folder)
    return Results(study, read_records(folder, keyed))


def _summarised(folder: Path) -> int:
    try:
        return int(pq.read_metadata(folder / "results.parquet").num_rows)
    except (OSError, pa.ArrowException):
        return 0


def _keyed(folder: Path, study: Study) -> list[tuple[Cell, str]]:
    """The cells of a study whose records are there, with their keys."""
    names = {path.stem for path in (folder / "runs").glob("*.parquet") if not path.name.startswith(".")}
    met = dict.fromkeys(one for name in sorted(names) if (one := _met(record_path(folder, name))) is not None)
    asked = cells(study)
    groups = defaultdict(list)
    for cell in asked:
        groups[_group(cell)].append(cell)
    chosen = {group: _chosen(some, names, met) for group, some in groups.items()}
    placed = ((cell, one) for cell in asked if (one := chosen[_group(cell)]) is not None)
    keyed = (_keyed_on(cell, one) for cell, one in placed)
    return [(cell, key) for cell, key in keyed if key in names]


def _group(cell: Cell) -> tuple[bytes, int | None]:
    """Cells that run on the same documents."""
    return msgspec.json.encode(cell.source), cell.fold


def _chosen(group: list[Cell], names: set[str], met: Iterable[_Met]) -> _Met | None:
    """The collection under which records of these cells are found."""
    return next((one for one in met for cell in group if _keyed_on(cell, one)[1] in names), None)


def _keyed_on(cell: Cell, one: _Met) -> tuple[Cell, str]:
    graded = cell.graded(one.grades)
    return graded, key_of(graded, one.content_hash)


@lru_cache(maxsize=50_000)
def _met(path: Path) -> _Met | None:
    """The collection of a record; a record never changes. What is unreadable is reported when it is needed."""
    try:
        settings = json.loads(pq.read_table(path, columns=["settings"]).column(0)[0].as_py())
        return _Met(str(settings["data"]["hash"]), int(settings["data"]["grades"]))
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError, TypeError):
        return None
