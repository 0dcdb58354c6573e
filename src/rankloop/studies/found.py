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
    name: str = ""
    fold: int | None = None


Group = tuple[bytes, int | None, tuple[str, ...]]
"""What cells on the same documents share: source, fold, and the attributes of documents that are looked at."""
Documents = tuple[str, float | None, int | None]
"""Where a cell's documents come from, whatever the study calls them: data, scale, fold."""


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
    owners = _owners(asked, at_hand, met)
    chosen = {
        group: at_hand.get(group) or wanted.collection(some, (one for one in met if _may_be(one, some[0], owners)))
        for group, some in groups.items()
    }
    placed = ((cell, one) for cell in asked if (one := chosen[group_of(cell)]) is not None)
    return [found for cell, one in placed if (found := wanted.found(cell, one)) is not None]


def engines_of(folder: Path) -> tuple[str, str]:
    """Both engines, first the one that the folder's study was last started on."""
    starts = read_starts(folder)
    return (engine_name(), CPU) if starts and starts[-1].on == "gpu" else (CPU, engine_name())


def _owners(asked: list[Cell], at_hand: Mapping[Group, Met], met: Iterable[Met]) -> dict[str, set[Documents]]:
    """Whose each collection is, by its hash: of those who have it at hand, or else of those who call it so."""
    owners: dict[str, set[Documents]] = defaultdict(set)
    for cell in asked:
        if (one := at_hand.get(group_of(cell))) is not None:
            owners[one.content_hash].add(_documents(cell))
    for one in met:
        if one.content_hash not in owners:
            owners[one.content_hash] = {_documents(cell) for cell in asked if _name(cell) == one.name.lower()}
    return owners


def _may_be(one: Met, cell: Cell, owners: Mapping[str, set[Documents]]) -> bool:
    """Whether a cell may have run on a collection: it is not known to be another's. Runs on different collections may
    be alike in all but that, so that a key alone does not tell."""
    known = owners[one.content_hash]
    return (not known or _documents(cell) in known) and (None in (cell.fold, one.fold) or cell.fold == one.fold)


def _documents(cell: Cell) -> Documents:
    return cell.source.data, cell.source.scale, cell.fold


def _name(cell: Cell) -> str:
    """What a collection from there would be called."""
    return Path(cell.source.data).name.lower()


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
        data = settings["data"]
        return Met(str(data["hash"]), int(data["grades"]), str(data.get("name", "")), data.get("fold"))
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError, TypeError):
        return None
