"""Which commit a folder's code is at: for manifests, so that a number can be traced to the text that computed it."""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import rankloop

_PATIENCE = 10.0  # seconds


def commits(sources: Iterable[Path] = ()) -> dict[str, dict[str, Any]]:
    """The commit of rankloop itself, where it runs from a checkout, of the working directory, and of code outside.

    `sources` are files of users and learners that lie outside the package. Commits are as they are when a process
    first asks for them. What is not under version control is left out.
    """
    package = Path(rankloop.__file__).parent
    asked = {"rankloop": (package, package / "__init__.py"), "working directory": (Path.cwd(), None)}
    asked |= {f"plugin {path.stem}": (path.parent, path) for path in sorted(sources)}
    return {name: dict(found) for name, (folder, file) in asked.items() if (found := _commit(folder, file))}


@cache  # as they are when a process first asks: a run must not wait for git each time
def _commit(folder: Path, file: Path | None) -> dict[str, Any] | None:
    """The commit that is checked out in a folder, and whether tracked files differ from it.

    A `file` that is not part of it is not what the commit describes: an installed package in somebody's own
    repository, or a module that was never added.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    tracked = file is None or _git(folder, "ls-files", "--error-unmatch", file.name) is not None
    if not tracked and file is not None and file.parent == Path(rankloop.__file__).parent:
        return None
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": bool(changed) or not tracked}


def _git(folder: Path, *words: str) -> str | None:
    """What git answers; None where there is no git, no repository, or no answer."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=_PATIENCE,
            env=environment | {"GIT_OPTIONAL_LOCKS": "0"}, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
