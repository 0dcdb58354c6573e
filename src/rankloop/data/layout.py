"""Which files of a folder are which split, under the spellings that published collections use.

A collection is a folder with train, vali and test files, or with Fold1, Fold2, … of such folders,
or a single file, which is then split by query.
"""

import re
from pathlib import Path
from typing import NamedTuple

from rankloop.data.store.entries import WHOLE, no_such_fold
from rankloop.errors import DataError

_SPELLINGS = {
    "train": ("train", "training", "trainingset"),
    "vali": ("vali", "valid", "validation", "validationset", "dev"),
    "test": ("test", "testset", "testing"),
}
_SPLIT_OF = {word: split for split, words in _SPELLINGS.items() for word in words}
_FILE = re.compile(
    rf"(?:(?P<prefix>.+)[._-])?(?P<word>{'|'.join(_SPLIT_OF)})"
    r"(?:\.(?:txt|dat|data|svm|svmlight|libsvm|letor))?(?:\.gz)?",
    re.IGNORECASE,
)
_FOLD = re.compile(r"fold[ _-]?(\d+)", re.IGNORECASE)


class Layout(NamedTuple):
    """The files of a collection: by fold (`fold1`, … or `whole`) and split.

    `single` is set where there is only one file, which has to be split by query.
    """

    source: Path
    folds: dict[str, dict[str, Path]]
    single: bool = False

    @property
    def files(self) -> list[Path]:
        """All files, each once."""
        return list(dict.fromkeys(f for splits in self.folds.values() for f in splits.values()))

    def only(self, fold: int | None) -> "Layout":
        """The same with one fold; None: the first."""
        keys = list(self.folds)
        key = keys[0] if fold is None else f"fold{fold}"
        if key not in self.folds:
            raise no_such_fold(str(self.source), [key.removeprefix("fold") for key in keys if key != WHOLE], fold)
        return self._replace(folds={key: self.folds[key]})


def find_layout(path: Path, prefix: str | None = None) -> Layout:
    """The layout of what lies at `path`; `prefix` chooses among files such as set1.train.txt."""
    if not path.exists():
        raise DataError(f"{path} does not exist. Check the path.")
    if not path.is_dir():
        return Layout(path, {WHOLE: {"train": path, "vali": path, "test": path}}, single=True)
    try:
        children = sorted(path.iterdir())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    folds = {int(match[1]): child for child in children if child.is_dir() and (match := _FOLD.fullmatch(child.name))}
    if folds:
        found = {f"fold{n}": _splits(folds[n], None) for n in sorted(folds)}
        return Layout(path, found)
    return Layout(path, {WHOLE: _splits(path, prefix)})


def _splits(folder: Path, prefix: str | None) -> dict[str, Path]:
    files: dict[str, Path] = {}
    names = sorted(child.name for child in folder.iterdir() if child.is_file())
    for name in names:
        match = _FILE.fullmatch(name)
        if match is None or (prefix is not None and match["prefix"] != prefix):
            continue
        split = _SPLIT_OF[match["word"].lower()]
        if split in files:
            raise DataError(
                f"{folder} has two {split} files, {files[split].name} and {name}. Keep one of "
                f"them, or import under the collection's id (for example yahoo-set1)."
            )
        files[split] = folder / name
    for split in ("train", "test"):
        if split not in files:
            there = ", ".join(names[:6]) + (", …" if len(names) > 6 else "") or "no files"
            wanted = f"{prefix}.{split}.txt" if prefix else f"{split}.txt"
            raise DataError(
                f"{folder}: the {split} file is missing; got {there}. Put it there as {wanted} "
                f"(or .gz), or give a folder with Fold1, Fold2, …"
            )
    return {split: files[split] for split in ("train", "vali", "test") if split in files}
