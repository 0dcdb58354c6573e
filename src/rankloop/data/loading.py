"""Collections by name or path: load, make, add, remove, list, describe.

A name is a synthetic world's, or one that was given with `add`. Anything else is a path, imported
on first use and again when its files change.
"""

import difflib
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.data.catalogue import CATALOGUE
from rankloop.data.collection import Collection
from rankloop.data.importing import Progress, import_files, make_world, world_fingerprint
from rankloop.data.layout import find_layout
from rankloop.data.store.entries import NAMED, PATHS, WORLDS, Entry, Slot, discard, entries, stored, versions
from rankloop.data.store.reports import Listed, Report, line, planned, report
from rankloop.errors import DataError
from rankloop.settings import is_whole

if TYPE_CHECKING:
    from rankloop.data.worlds import World

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def load(
    name_or_path: str | os.PathLike[str],
    *,
    fold: int | None = None,
    scale: float = 1.0,
    normalise: bool | None = None,
    zero_based: bool = False,
) -> Collection:
    """A collection, mapped from the store; imported or made first where it is not there yet.

    Args:
        name_or_path: a synthetic world (`tiny`, `mslr-like`, `yahoo-like`, `istella-like`), a name
            given with `add`, a folder with train, vali and test files or with Fold1, Fold2, …, or a
            single file, which is split by query into 60 % train, 20 % vali and 20 % test: of every
            five queries the first, fourth and fifth, the third, and the second.
        fold: which fold; None: the first.
        scale: the size of a synthetic world; 1 is that of the collection that it stands in for.
        normalise: min–max per query and feature. None: if a value outside [−1, 1] stands among the
            first training queries; for a name, as it was imported.
        zero_based: the files number their features from 0.

    >>> load("tiny").features > 0
    True
    """

    chosen = _fold(fold)

    def opened() -> Collection:
        entry = _entry(name_or_path, fold=chosen, scale=scale, normalise=normalise, zero_based=zero_based)
        return entry.collection(chosen, _highest_grade(entry))

    try:
        return opened()
    except FileNotFoundError:  # another process has just replaced this version
        return opened()


def make(name: str, *, fold: int = 1, scale: float = 1.0) -> Report:
    """Make a synthetic world now, if it is not stored yet; what it is. `load` does the same on first use.

    >>> make("tiny", scale=0.1).folds["fold1"]["train"].queries
    20
    """
    if _text(name) not in _synthetic():
        raise DataError(f"{name!r} is not a synthetic world. Choose from {', '.join(_synthetic())}.")
    return report(make_world(*_world(name, _fold(fold), scale)))


def add(
    name: str,
    path: str | os.PathLike[str],
    *,
    normalise: bool | None = None,
    zero_based: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Import a file or folder, with all its folds, under a name.

    A published collection's id (`rankloop.data.catalogue`) as the name takes normalisation from the
    catalogue, and `differences` of the report says how the files differ from what was published.
    Importing again from the same place replaces what was there. `progress` is called with the bytes
    done and the bytes in all.
    """
    _check_name(name)
    _check_options(normalise, zero_based)
    source = Path(_text(path)).expanduser().absolute()
    for old in versions(Slot(NAMED, name)):
        if old.meta.source != str(source):
            raise DataError(
                f"{name} is already imported from {old.meta.source}; got {source}. "
                f"Remove it first, or choose another name."
            )
    return report(_import(name, source, normalise, zero_based, progress))


def remove(name_or_path: str | os.PathLike[str]) -> list[Listed]:
    """Remove from the store all that has this name, or came from this path; what it was."""
    name = _text(name_or_path)
    path = str(Path(name).expanduser().absolute())
    matching = [
        entry
        for entry in entries()
        if (entry.meta.name == name and entry.kind != PATHS) or (entry.meta.source == path and entry.kind == PATHS)
    ]
    if not matching:
        raise DataError(f"Nothing is stored as {name!r}. {_near(name)}")
    removed = [line(entry) for entry in matching]
    for entry in matching:
        discard(entry)
    return removed


def listing() -> list[Listed]:
    """Everything in the store: named imports, imported paths and synthetic worlds."""
    return [line(entry) for entry in entries()]


def info(
    name_or_path: str | os.PathLike[str],
    *,
    fold: int | None = None,
    scale: float = 1.0,
    normalise: bool | None = None,
    zero_based: bool = False,
) -> Report:
    """What `load` with the same arguments gives: shapes, grades, lengths, source, differences.

    A named import is described with all its folds unless one is chosen. A synthetic world that is not stored is
    not made for it: `plan` of the report tells what it would be.
    """
    chosen, name = _fold(fold), _text(name_or_path)
    if name in _synthetic():
        slot, world, number, size = _world(name, chosen, scale, normalise, zero_based)
        made = stored(slot, world_fingerprint(world, number, size))
        return planned(world, number, size) if made is None else report(made)
    return report(_entry(name, fold=chosen, scale=scale, normalise=normalise, zero_based=zero_based).only(chosen))


def _entry(
    name_or_path: str | os.PathLike[str],
    *,
    fold: int | None,
    scale: float,
    normalise: bool | None,
    zero_based: bool,
) -> Entry:
    name = _text(name_or_path)
    if name in _synthetic():
        return make_world(*_world(name, fold, scale, normalise, zero_based))
    if scale != 1.0:
        raise DataError(f"Only a synthetic world has a scale; {name!r} got scale {scale!r}.")
    _check_options(normalise, zero_based)
    if _NAME.fullmatch(name) and (found := versions(Slot(NAMED, name))):
        return _named(found[0], normalise, zero_based)
    path = Path(name).expanduser().absolute()
    if not path.exists():
        raise DataError(_unknown(name))
    layout = find_layout(path)
    chosen = layout.only(fold)
    slot = _slot(PATHS, path.name, path=str(path), normalise=normalise, zero_based=zero_based,
                 fold=next(iter(chosen.folds)))  # fmt: skip
    return import_files(slot, path.name, chosen, normalise, zero_based, scales_from=layout.files[0])


def _world(
    name: str, fold: int | None, scale: float, normalise: Any = None, zero_based: Any = False
) -> tuple[Slot, "World", int, float]:
    """The place of a world, and the world with a fold and a scale that it can have."""
    if normalise is not None or zero_based:
        raise DataError(f"{name} is synthetic; leave normalise and zero_based out.")
    world, chosen = _synthetic()[name], 1 if fold is None else fold
    world.check(chosen, scale)
    return _slot(WORLDS, name, scale=float(scale), fold=chosen), world, chosen, float(scale)


def _synthetic() -> dict[str, "World"]:
    from rankloop.data import worlds  # generators that most loads do not need

    return worlds.WORLDS


def _named(entry: Entry, normalise: bool | None, zero_based: bool) -> Entry:
    """A named import, brought up to date with its source; as it is where the source is gone."""
    meta = entry.meta
    if (normalise is not None and normalise != meta.normalised) or (zero_based and not meta.options["zero_based"]):
        raise DataError(
            f"{meta.name} was imported with normalise={meta.normalised}, "
            f"zero_based={meta.options['zero_based']}. To change that, add it under another name."
        )
    source = Path(str(meta.source))
    if not source.exists():
        return entry
    asked = meta.options["normalise"]
    return _import(meta.name, source, None if asked is None else bool(asked), bool(meta.options["zero_based"]))


def _import(
    name: str, source: Path, normalise: bool | None, zero_based: bool, progress: Progress | None = None
) -> Entry:
    published = CATALOGUE.get(name)
    layout = find_layout(source, published.prefix if published else None)
    return import_files(Slot(NAMED, name), name, layout, normalise, zero_based, published, progress)


def _slot(kind: str, name: str, **identity: Any) -> Slot:
    text = repr(sorted(identity.items())).encode()
    stem = re.sub(r"[^a-z0-9._-]", "-", name.lower())[:32].lstrip(".") or "collection"
    return Slot(kind, f"{stem}-{hashlib.blake2b(text, digest_size=8).hexdigest()}")


def _highest_grade(entry: Entry) -> int | None:
    """The best grade that the labels could have, where a world or the catalogue says so."""
    if entry.kind == WORLDS:
        return _synthetic()[entry.meta.name].grades - 1
    published = CATALOGUE.get(entry.meta.name) if entry.kind == NAMED else None
    return published.highest_grade if published else None


def _fold(fold: Any) -> int | None:
    if fold is None:
        return None
    if not is_whole(fold) or fold < 1:
        raise DataError(f"fold must be a whole number from 1; got {fold!r}.")
    return int(fold)


def _text(name_or_path: Any) -> str:
    text = os.fspath(name_or_path) if isinstance(name_or_path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise DataError(f"A collection is given by name or path; got {name_or_path!r}.")
    return text


def _check_options(normalise: Any, zero_based: Any) -> None:
    if normalise is not None and not isinstance(normalise, bool):
        raise DataError(f"normalise must be True, False or None; got {normalise!r}.")
    if not isinstance(zero_based, bool):
        raise DataError(f"zero_based must be True or False; got {zero_based!r}.")


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise DataError(f"The name of a collection must be text; got {name!r}.")
    if name in _synthetic():
        raise DataError(f"{name!r} is the name of a synthetic world. Choose another name.")
    if not _NAME.fullmatch(name):
        raise DataError(
            f"{name!r} cannot be a name. Use up to 64 of a–z, 0–9, '.', '_' and '-', "
            f"beginning with a letter or a digit."
        )


def _unknown(name: str) -> str:
    if name in CATALOGUE:
        published = CATALOGUE[name]
        return (
            f"{published.title} has not been imported. Get it from {published.obtain}, then "
            f"import it: rankloop data add {name} PATH, where PATH holds {published.files}."
        )
    return f"{name!r} is neither a known collection nor an existing path. {_near(name)}"


def _near(name: str) -> str:
    known = sorted({*_synthetic(), *CATALOGUE, *(e.meta.name for e in entries() if e.kind == NAMED)})
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known names: {', '.join(known)}."
