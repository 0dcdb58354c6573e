"""Filling the store: from files as a stream, or from a synthetic world.

A single file is split by query: of every five queries, in file order, the first, fourth and fifth
go to train, the second to test, the third to vali. That is 60/20/20, the same every time, and needs
no pass over the file beforehand.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.catalogue import Published, differences, require_splits
from rankloop.data.layout import Layout
from rankloop.data.store.arrays import SplitSummary, SplitWriter
from rankloop.data.store.entries import Entry, Meta, Slot, fingerprint, obtain
from rankloop.data.svmlight import reader as svmlight
from rankloop.data.svmlight.reader import Block
from rankloop.errors import DataError
from rankloop.sources import sources_of

if TYPE_CHECKING:
    from rankloop.data.worlds import World

Progress = Callable[[int, int], None]  # bytes done, bytes in all

_SPLIT_OF_QUERY = ("train", "test", "vali", "train", "train")


def signature(files: list[Path]) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file: if these differ, the content is taken to differ."""
    try:
        stats = {str(file): file.stat() for file in files}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}.") from error
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def import_files(
    slot: Slot,
    name: str,
    layout: Layout,
    normalise: bool | None,
    zero_based: bool,
    published: Published | None = None,
    progress: Progress | None = None,
    scales_from: Path | None = None,
) -> Entry:
    """The entry for these files and options, imported where it is not there yet.

    Whether to normalise, if nobody said so, is decided by the file `scales_from`.
    """
    if published is not None:
        require_splits(published, layout)
    files = signature(layout.files)
    options: dict[str, bool | float | int | None] = {"normalise": normalise, "zero_based": zero_based}

    def make(folder: Path) -> Meta:
        on, why = _normalisation(normalise, published, scales_from or layout.files[0], zero_based)
        folds, features, highest = _write(folder, layout, _reader(files, on, zero_based, progress))
        if signature(layout.files) != files:
            raise DataError(f"{layout.source} changed while it was being read. Import it again.")
        shapes = {
            fold: {split: (s.queries, s.documents) for split, s in splits.items()} for fold, splits in folds.items()
        }
        return Meta(
            name=name,
            features=features,
            folds=folds,
            source=str(layout.source),
            files=files,
            options=options,
            normalised=on,
            normalisation=why,
            differences=differences(published, features, highest, shapes) if published else [],
        )

    identity = {"source": str(layout.source), "files": files, "options": options, "code": _code(svmlight.__name__)}
    return obtain(slot, fingerprint(identity), make)


def make_world(slot: Slot, world: "World", fold: int, scale: float) -> Entry:
    """The entry for one fold of a synthetic world at a scale."""

    def make(folder: Path) -> Meta:
        splits: dict[str, SplitSummary] = {}
        for split in ("train", "vali", "test"):
            target = folder / f"fold{fold}" / split
            with SplitWriter(target) as writer:
                for block in world.blocks(split, fold=fold, scale=scale):
                    writer.add(*block)
                splits[split] = writer.close()
        return Meta(
            name=world.name,
            features=world.features,
            folds={f"fold{fold}": splits},
            options={"scale": scale, "fold": fold},
            normalised=world.normalised,
            normalisation="made that way",
            feature_names=world.feature_names,
        )

    return obtain(slot, world_fingerprint(world, fold, scale), make)


def world_fingerprint(world: "World", fold: int, scale: float) -> str:
    """What tells the entry of one fold of a world at a scale from all others."""
    return fingerprint({"world": world.name, "code": _code(type(world).__module__), "fold": fold, "scale": scale})


@cache
def _code(module: str) -> str:
    """A digest of the sources in this room that make an entry: after an edit of a generator or a reader, what an older
    one made is made again."""
    room = Path(__file__).parent
    files = {Path(__file__), *(file for file in sources_of(module, SplitWriter.__module__) if room in file.parents)}
    return fingerprint({str(file.relative_to(room)): file.read_bytes() for file in files})


def _normalisation(asked: bool | None, published: Published | None, scales: Path, zero_based: bool) -> tuple[bool, str]:
    """Whether to normalise, and why."""
    if asked is not None:
        return asked, "asked for" if asked else "asked to leave it out"
    if published is not None:
        return published.normalise, f"the rule for {published.title}"
    if svmlight.has_raw_scales(scales, zero_based=zero_based):
        return True, f"the first queries of {scales.name} have values outside [−1, 1]"
    return False, f"the first queries of {scales.name} lie within [−1, 1]"


def _reader(
    files: dict[str, tuple[int, int]], normalise: bool, zero_based: bool, progress: Progress | None
) -> Callable[[Path], Iterator[Block]]:
    """Reads files one after another and reports the bytes done of all of them."""
    done, total = 0, sum(size for size, _ in files.values())

    def report(read: int) -> None:
        if progress is not None:
            progress(done + read, total)

    def blocks(path: Path) -> Iterator[Block]:
        nonlocal done
        yield from svmlight.blocks(path, normalise=normalise, zero_based=zero_based, progress=report)
        done += files[str(path)][0]

    return blocks


def _write(
    folder: Path, layout: Layout, blocks: Callable[[Path], Iterator[Block]]
) -> tuple[dict[str, dict[str, SplitSummary]], int, int]:
    """Write all splits, equally wide; their summaries, the feature count and the highest grade."""
    writers = {
        fold: {split: SplitWriter(folder / fold / split) for split in splits} for fold, splits in layout.folds.items()
    }
    with ExitStack() as stack:
        for fold, splits in layout.folds.items():
            for writer in writers[fold].values():
                stack.callback(writer.abandon)
            if layout.single:
                for split, block in _routed(blocks(layout.source)):
                    writers[fold][split].add(*block)
                writers[fold] = _not_empty(writers[fold], layout.source)
            else:
                for split, path in splits.items():
                    for block in blocks(path):
                        writers[fold][split].add(*block)
        everything = [writer for fold in writers.values() for writer in fold.values()]
        features = max(writer.features for writer in everything)
        for writer in everything:
            writer.widen(features)
        folds = {fold: {split: writer.close() for split, writer in splits.items()} for fold, splits in writers.items()}
        return folds, features, max(writer.highest_grade for writer in everything)


def _routed(blocks: Iterator[Block]) -> Iterator[tuple[str, Block]]:
    """The queries of one file, each with the split that it belongs to."""
    names = np.array(_SPLIT_OF_QUERY)
    seen = 0
    for block in blocks:
        queries = len(block.query_ids)
        split_of = names[np.arange(seen, seen + queries) % len(names)]
        seen += queries
        for split in dict.fromkeys(_SPLIT_OF_QUERY):
            chosen = np.flatnonzero(split_of == split)
            if len(chosen):
                yield split, _pick(block, chosen)


def _pick(block: Block, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Block:
    lengths = np.diff(block.offsets)
    kept = np.repeat(np.isin(np.arange(len(lengths)), chosen), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
    return Block(block.query_ids[chosen], offsets, block.features[kept], block.grades[kept])


def _not_empty(writers: dict[str, SplitWriter], source: Path) -> dict[str, SplitWriter]:
    filled = {split: writer for split, writer in writers.items() if writer.queries}
    if "test" not in filled:
        raise DataError(
            f"{source}: one query cannot be split into train and test. Give a file with two "
            f"queries or more, or a folder with train.txt and test.txt."
        )
    return filled
