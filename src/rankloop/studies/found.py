"""Which runs of a study lie in a results folder, without the collections at hand.

A run's record is named by a hash of what determines it, its collection included. The records say which collections
those were, so a folder can be read while the study runs, and a part of a study can be run without opening the data of
the rest.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rankloop.runs.batches import engine_name
from rankloop.studies.held import read_starts
from rankloop.studies.records import CPU, key_of, record_path
from rankloop.studies.specification import Cell, Study, cells


class Met(NamedTuple):
    """A collection as a record knows it."""

    content_hash: str
    grades: int


Group = tuple[bytes, int | None, tuple[str, ...]]
"""What cells on the same documents share: source, fold, and the attributes of documents that are looked at."""


def group_of(cell: Cell) -> Group:
    """The documents that a cell runs on."""
    return msgspec.json.encode(cell.source), cell.fold, cell.user.all_attributes


def find_records(folder: Path, study: Study, opened: Mapping[Group, Met] | None = None) -> list[tuple[Cell, str]]:
    """The cells of a study whose records are there, with their keys; `opened` are collections that are at hand.

    Where a cell was run on the CPU and on a device, the record of the engine that the study was last started on counts.
    """
    names = {path.stem for path in (folder / "runs").glob("*.parquet") if not path.name.startswith(".")}
    asked = cells(study)
    groups = defaultdict(list)
    for cell in asked:
        groups[group_of(cell)].append(cell)
    at_hand = opened or {}
    wanted = _Wanted(names, engines_of(folder))
    if groups.keys() <= at_hand.keys():
        met: Iterable[Met] = ()
    else:
        met = dict.fromkeys(one for name in sorted(names) if (one := _met(record_path(folder, name))) is not None)
    chosen = {group: at_hand.get(group) or wanted.collection(some, met) for group, some in groups.items()}
    placed = ((cell, one) for cell in asked if (one := chosen[group_of(cell)]) is not None)
    return [found for cell, one in placed if (found := wanted.found(cell, one)) is not None]


def engines_of(folder: Path) -> tuple[str, str]:
    """Both engines, first the one that the folder's study was last started on."""
    starts = read_starts(folder)
    return (engine_name(), CPU) if starts and starts[-1].on == "gpu" else (CPU, engine_name())


class _Wanted(NamedTuple):
    """The names of the records that are there, and the engines whose records count, the first before the second."""

    names: set[str]
    engines: tuple[str, str]

    def found(self, cell: Cell, one: Met) -> tuple[Cell, str] | None:
        """A cell on a collection, with the key of its record if there is one."""
        graded = cell.graded(one.grades)
        keys = (key_of(graded, one.content_hash, engine) for engine in self.engines)
        return next(((graded, key) for key in keys if key in self.names), None)

    def collection(self, group: list[Cell], met: Iterable[Met]) -> Met | None:
        """The collection under which records of these cells are found."""
        return next((one for one in met for cell in group if self.found(cell, one) is not None), None)


@lru_cache(maxsize=50_000)
def _met(path: Path) -> Met | None:
    """The collection of a record; a record never changes. What is unreadable is reported when it is needed."""
    try:
        settings = json.loads(pq.read_table(path, columns=["settings"]).column(0)[0].as_py())
        return Met(str(settings["data"]["hash"]), int(settings["data"]["grades"]))
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError, TypeError):
        return None
