"""What there is to say about a stored collection: shapes, grades, lengths, where it came from."""

from pathlib import Path

import msgspec
import numpy as np

from rankloop.data.store.arrays import open_split
from rankloop.data.store.entries import Entry


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


class Report(msgspec.Struct, frozen=True):
    """A stored collection in full; `folds` by fold (`fold1`, … or `whole`) and split."""

    name: str
    kind: str
    source: str | None
    features: int
    normalised: bool
    normalisation: str
    zero_based: bool
    disk_bytes: int
    folder: str
    content_hashes: dict[str, str]
    differences: list[str]
    folds: dict[str, dict[str, SplitReport]]


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
