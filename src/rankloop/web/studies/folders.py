"""Where studies lie below a folder, and by which address a browser asks for them.

An address is looked up among the studies that were found, and never made into a path: there is nothing to climb out of.
"""

import hashlib
import os
import re
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
    """Every study in a folder and below it, by its address, in the order of their paths."""
    if holds_study(root):
        return {address_of(root.resolve().name or "study"): root}
    studies: dict[str, Path] = {}
    waiting, looked = [(root, 0)], 0
    while waiting and looked < MOST:
        folder, depth = waiting.pop()
        looked += 1
        for below in reversed(_folders(folder)):
            if holds_study(below):
                studies[address_of(below.relative_to(root).as_posix())] = below
            elif depth + 1 < DEPTH:
                waiting.append((below, depth + 1))
    return dict(sorted(studies.items(), key=lambda entry: entry[1]))


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


def _folders(folder: Path) -> list[Path]:
    """The folders in a folder, by name; links are not followed, hidden ones not shown."""
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]
