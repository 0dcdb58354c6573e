"""Where studies lie below a folder, and by which address a browser asks for them.

An address is looked up among the studies that were found, and never made into a path: there is nothing to climb out of.
"""

import hashlib
import os
import re
from itertools import islice
from pathlib import Path

from rankloop.errors import DataError

DEPTH = 4
"""Folders below the given one that are looked into; a results folder itself is not searched further."""
MOST = 5_000
"""Folders looked at: somebody's whole home folder must not keep a page waiting."""
WRITTEN = ("study.toml", "results.parquet", "curves.parquet", "tables.tex", "report.md", "report.html")
"""The files of a study that may be fetched; figures are asked for by name."""


def require_folder(root: Path) -> Path:
    """The folder to show, or a sentence that says why it cannot be."""
    if not root.exists():
        raise DataError(
            f"no folder {root}; give a results folder such as results/quick, or a folder that contains some"
        )
    if not root.is_dir():
        raise DataError(f"{root} is a file; give the folder that contains it")
    try:
        next(root.iterdir(), None)
    except OSError as error:
        raise DataError(f"cannot read the folder {root}: {error.strerror}") from None
    return root


def find_studies(root: Path) -> dict[str, Path]:
    """Every study in a folder and below it, by its address, in the order of their paths.

    Links are not followed, hidden folders not shown.
    """
    if holds_study(root):
        return {address_of(root.resolve().name or "study"): root}
    studies: list[Path] = []
    for place, names, _ in islice(os.walk(root), MOST):
        inside = [Path(place, name) for name in sorted(names) if not name.startswith(".")]
        below = [folder for folder in inside if not folder.is_symlink()]
        found = [folder for folder in below if holds_study(folder)]
        studies += found
        is_deep = len(Path(place).relative_to(root).parts) + 1 >= DEPTH
        names[:] = [] if is_deep else [folder.name for folder in below if folder not in found]
    return {address_of(folder.relative_to(root).as_posix()): folder for folder in sorted(studies)}


def address_of(place: str) -> str:
    """A path as one word of an address; what that loses is made up for by a few digits of its hash.

    >>> address_of("rq2"), address_of("Mine & yours/rq2")
    ('rq2', 'mine-yours-rq2-cf927e')
    """
    word = re.sub(r"[^a-z0-9]+", "-", place.lower()).strip("-")
    if word == place:
        return word
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:6]
    return f"{word}-{digest}" if word else digest


def holds_study(folder: Path) -> bool:
    """Whether a folder has the results of a study, or a report that was written from them."""
    if (folder / "study.toml").is_file() and ((folder / "runs").is_dir() or (folder / "results.parquet").is_file()):
        return True
    try:
        with (folder / "report.md").open(encoding="utf-8") as file:
            opening = file.read(8_000)
    except (OSError, UnicodeDecodeError):
        return False
    return opening.startswith("# ") and "\n## What was run\n" in opening


def file_of(folder: Path, name: str) -> Path | None:
    """A file that a study wrote, if it is there; a link that leads out of the folder is not it."""
    path = folder / name
    if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        return None
    return path
