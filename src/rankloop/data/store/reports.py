"""What there is to say about a collection: shapes, grades, lengths, where it came from."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop.data.store.arrays import open_split
from rankloop.data.store.entries import WORLDS, Entry

if TYPE_CHECKING:
    from rankloop.data.worlds import World


class SplitReport(msgspec.Struct, frozen=True):
    """The shape of a split: `grades[g]` documents have grade g; lengths are documents per query."""

    queries: int
    documents: int
    grades: list[int]
    shortest: int
    median: float
    mean: float
    longest: int
    nothing_relevant: int


class Plan(msgspec.Struct, frozen=True):
    """What a synthetic world would be: `queries` by split, grades 0 … `grades` − 1."""

    title: str
    fold: int
    scale: float
    queries: dict[str, int]
    grades: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A collection in full; `folds` by fold (`fold1`, … or `whole`) and split.

    `plan` is set, and `folds` is empty, where it is a synthetic world that is not stored.
    """

    name: str
    kind: str
    source: str | None
    features: int
    normalised: bool
    normalisation: str
    zero_based: bool = False
    disk_bytes: int = 0
    folder: str = ""
    content_hashes: dict[str, str] = {}
    differences: list[str] = []
    folds: dict[str, dict[str, SplitReport]] = {}
    plan: Plan | None = None


class Listed(msgspec.Struct, frozen=True):
    """A stored collection in one line; queries and documents are those of one fold."""

    name: str
    kind: str
    source: str | None
    folds: list[int]
    queries: int
    documents: int
    features: int
    normalised: bool
    scale: float | None
    disk_bytes: int


def report(entry: Entry) -> Report:
    """Everything about an entry; reads its grades, not its features."""
    meta = entry.meta
    return Report(
        name=meta.name,
        kind=entry.kind,
        source=meta.source,
        features=meta.features,
        normalised=meta.normalised,
        normalisation=meta.normalisation,
        zero_based=bool(meta.options.get("zero_based", False)),
        disk_bytes=entry.disk_bytes,
        folder=str(entry.folder),
        content_hashes={fold: entry.content_hash(fold) for fold in meta.folds},
        differences=meta.differences,
        folds={
            fold: {split: _split(entry.folder / fold / split) for split in splits}
            for fold, splits in meta.folds.items()
        },
    )


def planned(world: "World", fold: int, scale: float) -> Report:
    """Everything about a world that can be said without making it."""
    queries = {split: world.size(split, scale) for split in world.queries}
    counts = ", ".join(f"{count:,} {split}" for split, count in queries.items())
    return Report(
        name=world.name,
        kind=WORLDS,
        source=world.title,
        features=world.features,
        normalised=world.normalised,
        normalisation=f"not made yet; fold {fold} at scale {scale:g}: queries {counts}; grades 0–{world.grades - 1}",
        plan=Plan(world.title, fold, scale, queries, world.grades),
    )


def line(entry: Entry) -> Listed:
    """An entry in one line."""
    meta = entry.meta
    first = next(iter(meta.folds.values())).values()
    scale = meta.options.get("scale")
    return Listed(
        name=meta.name,
        kind=entry.kind,
        source=meta.source,
        folds=entry.folds,
        queries=sum(split.queries for split in first),
        documents=sum(split.documents for split in first),
        features=meta.features,
        normalised=meta.normalised,
        scale=None if scale is None else float(scale),
        disk_bytes=entry.disk_bytes,
    )


def _split(folder: Path) -> SplitReport:
    split = open_split(folder)
    lengths = np.diff(split.offsets)
    best = np.maximum.reduceat(split.grades, split.offsets[:-1])
    return SplitReport(
        queries=split.queries,
        documents=len(split.grades),
        grades=np.bincount(split.grades).tolist(),
        shortest=int(lengths.min()),
        median=float(np.median(lengths)),
        mean=float(lengths.mean()),
        longest=int(lengths.max()),
        nothing_relevant=int((best == 0).sum()),
    )
