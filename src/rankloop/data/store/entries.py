"""Collections on disk, made once, opened in milliseconds, shared by all processes.

    collections/named/<name>@<fingerprint>/       imported under a name
    collections/paths/<slot>@<fingerprint>/       imported because a path was loaded
    collections/worlds/<slot>@<fingerprint>/      synthetic
        meta.json  fold1/train/{features,offsets,grades,query_ids}.npy  …

The fingerprint says what an entry was made from. An entry appears by renaming a finished folder, so
nothing half-made is ever seen; another version of the same slot is removed after that. One process
makes an entry while others that want it wait; what a killed process left behind is swept by the
next import.
"""

import hashlib
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rankloop.data.collection import Collection, Place, Split
from rankloop.data.content import digest_of_splits
from rankloop.data.store.arrays import SplitSummary, open_split
from rankloop.errors import DataError
from rankloop.files import locked
from rankloop.home import home

FORMAT = 1
NAMED, PATHS, WORLDS = "named", "paths", "worlds"
WHOLE = "whole"  # in place of a fold, where there are none


class Slot(NamedTuple):
    """A place for one entry, of which there is one valid version."""

    kind: str
    name: str

    @property
    def shelf(self) -> Path:
        """The folder that holds the versions."""
        return home() / "collections" / self.kind


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry is, where it came from and what is in it."""

    name: str
    features: int
    folds: dict[str, dict[str, SplitSummary]]
    source: str | None = None
    files: dict[str, tuple[int, int]] = {}  # size and mtime_ns by path
    options: dict[str, bool | float | int | None] = {}
    normalised: bool = False
    normalisation: str = ""
    differences: list[str] = []
    feature_names: tuple[str, ...] = ()
    made: float = msgspec.field(default_factory=time.time)
    format: int = FORMAT


class Entry(NamedTuple):
    """A stored collection: its folder and what the folder says about itself."""

    folder: Path
    meta: Meta

    @property
    def kind(self) -> str:
        """One of `named`, `paths` and `worlds`."""
        return self.folder.parent.name

    @property
    def folds(self) -> list[int]:
        """The folds that are there; none for a collection without folds."""
        return sorted(int(key.removeprefix("fold")) for key in self.meta.folds if key != WHOLE)

    def collection(self, fold: int | None, highest_grade: int | None = None) -> Collection:
        """One fold, mapped from disk; None: the first, or the only one."""
        key = self.fold_key(fold)
        content = self.meta.folds[key]
        number = None if key == WHOLE else int(key.removeprefix("fold"))
        places = {name: Place(self.meta.name, number, name, self.meta.source) for name in content}
        splits = {
            name: open_split(self.folder / key / name, stored.digest, places[name]) for name, stored in content.items()
        }
        return Collection(
            name=self.meta.name,
            train=splits["train"],
            vali=splits.get("vali"),
            test=splits["test"],
            fold=number,
            feature_names=self.meta.feature_names,
            highest_grade=highest_grade,
        )

    def fold_key(self, fold: int | None) -> str:
        """The folder of a fold, or a sentence that names the folds that are there."""
        if fold is None:
            return f"fold{self.folds[0]}" if self.folds else WHOLE
        if fold not in self.folds:
            raise no_such_fold(self.meta.name, self.folds, fold)
        return f"fold{fold}"

    def content_hash(self, key: str) -> str:
        """A name for the content of a fold: equal data, equal hash."""
        return digest_of_splits({name: split.digest for name, split in self.meta.folds[key].items()})

    def only(self, fold: int | None) -> "Entry":
        """The same with one fold; None: with all that are there."""
        if fold is None:
            return self
        key = self.fold_key(fold)
        return self._replace(meta=msgspec.structs.replace(self.meta, folds={key: self.meta.folds[key]}))

    @property
    def disk_bytes(self) -> int:
        """How much room the entry takes."""
        splits = (split for fold in self.meta.folds.values() for split in fold.values())
        return sum(sum(split.file_sizes().values()) for split in splits)


def no_such_fold(name: str, folds: Iterable[object], fold: int | None) -> DataError:
    """A sentence that says which folds there are."""
    listed = ", ".join(map(str, folds))
    if not listed:
        return DataError(f"{name} has no folds; got fold {fold}. Leave fold out.")
    return DataError(f"{name} has folds {listed}; got fold {fold}. Choose one of them.")


def fingerprint(identity: Mapping[str, Any]) -> str:
    """A short name for what an entry is made from."""
    text = msgspec.json.encode({"format": FORMAT, **identity}, order="sorted")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def versions(slot: Slot) -> list[Entry]:
    """What is stored in a slot, newest first: one entry, or more after an interrupted clean-up."""
    found = (_open(folder) for folder in slot.shelf.glob(f"{slot.name}@*"))
    return sorted((e for e in found if e is not None), key=lambda e: -e.meta.made)


def entries() -> Iterator[Entry]:
    """Everything in the store, by kind and name."""
    for kind in (NAMED, PATHS, WORLDS):
        for folder in sorted(Slot(kind, "").shelf.glob("*@*")):
            if not folder.name.startswith(".") and (entry := _open(folder)) is not None:
                yield entry


def reopened(place: Place, digest: str) -> Split:
    """A split that was pickled, mapped from this machine's store: whatever entry has its content."""
    for entry in sorted(entries(), key=lambda entry: entry.meta.name != place.collection):
        for key, splits in entry.meta.folds.items():
            for name, summary in splits.items():
                if summary.digest == digest:
                    with suppress(FileNotFoundError):  # another process has just replaced it
                        return open_split(entry.folder / key / name, digest, place)
    fold = "" if place.fold is None else f", fold={place.fold}"
    raise DataError(
        f"{place} was pickled by name and hash, and the store in {home()} has no {place.split} split with the hash "
        f"{digest}; load the same collection there first: rl.load({place.source or place.collection!r}{fold})"
    )


def stored(slot: Slot, print_: str) -> Entry | None:
    """The entry with this fingerprint, if it is there."""
    return _open(slot.shelf / f"{slot.name}@{print_}")


def obtain(slot: Slot, print_: str, make: Callable[[Path], Meta]) -> Entry:
    """The entry with this fingerprint; if it is not there, `make` fills a folder and describes it.

    Whatever goes wrong in `make` leaves the store as it was.
    """
    target = slot.shelf / f"{slot.name}@{print_}"
    if (found := _open(target)) is not None:
        return found
    try:
        slot.shelf.mkdir(parents=True, exist_ok=True)
        with locked(slot.shelf / f".{slot.name}.lock"):
            found = _open(target)  # another process may have made it in the meantime
            return found if found is not None else _make(slot, target, make)
    except OSError as error:
        raise DataError(
            f"The data folder {slot.shelf} cannot be written: {error.strerror}. "
            f"Make room there, or set RANKLOOP_HOME to another folder."
        ) from error


def discard(entry: Entry) -> None:
    """Remove an entry. Processes that have it open keep what they have mapped."""
    try:
        _remove(entry.folder)
    except OSError as error:
        raise DataError(f"{entry.folder} cannot be removed: {error.strerror}.") from error


def _make(slot: Slot, target: Path, make: Callable[[Path], Meta]) -> Entry:
    _sweep()
    partial = slot.shelf / f".{slot.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
        meta = make(partial)
        (partial / "meta.json").write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
        if target.exists():
            _remove(target)  # damaged: a whole one would have been opened
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    for folder in slot.shelf.glob(f"{slot.name}@*"):
        if folder != target:
            _remove(folder)
    return Entry(target, meta)


def _open(folder: Path) -> Entry | None:
    """The entry in a folder; None where it is not there, not whole, or of another format."""
    try:
        meta = msgspec.json.decode((folder / "meta.json").read_bytes(), type=Meta)
        if meta.format != FORMAT:
            return None
        for fold, splits in meta.folds.items():
            for split, summary in splits.items():
                for name, size in summary.file_sizes().items():
                    if (folder / fold / split / f"{name}.npy").stat().st_size != size:
                        return None
    except (OSError, msgspec.MsgspecError):
        return None
    return Entry(folder, meta)


def _remove(folder: Path) -> None:
    """Make an entry disappear at once, then free its room."""
    try:
        gone = folder.rename(folder.parent / f".trash-{uuid.uuid4().hex}")
    except FileNotFoundError:
        return
    shutil.rmtree(gone, ignore_errors=True)


def _sweep() -> None:
    """Remove what killed processes have left behind; what a living one is making is locked."""
    for kind in (NAMED, PATHS, WORLDS):
        shelf = Slot(kind, "").shelf
        for gone in shelf.glob(".trash-*"):
            shutil.rmtree(gone, ignore_errors=True)
        for left in [*shelf.glob(".*.partial"), *shelf.glob(".*.lock")]:
            stem = left.name.removesuffix(".partial").removesuffix(".lock")
            with locked(shelf / f"{stem}.lock", wait=False) as free:
                if free:
                    shutil.rmtree(shelf / f"{stem}.partial", ignore_errors=True)
