"""The list of wrong changes: read from `mutants.toml`, held against the sources, put into a copy of them.

A list made by hand says what is being asked of the tests; a tool that changes every operator does not, and needs the
compiler for each of thousands of changes. An original must occur exactly once, so the list cannot quietly fall behind
the sources.
"""

import ast
import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.toml")
FIELDS = {"room", "name", "file", "original", "replacement", "wrong", "tests", "select", "equivalent"}


class Mutant(NamedTuple):
    """One small wrong change.

    `tests` are the files that should notice it, tried first, those of them that `select` (pytest's -k) chooses;
    `equivalent` says why nobody can notice it, where that is so.
    """

    name: str
    room: str
    file: str
    original: str
    replacement: str
    wrong: str
    tests: tuple[str, ...]
    select: str
    equivalent: str

    def source(self, root: Path = ROOT) -> Path:
        """The file that it changes."""
        return root / "src" / "rankloop" / self.file

    def applied(self, text: str) -> str:
        """The source with the change in it."""
        found = text.count(self.original)
        if found != 1:
            raise ValueError(
                f"{self.name}: the original occurs {found} times in {self.file}, and once is needed; "
                f"bring mutants.toml up to date"
            )
        return text.replace(self.original, self.replacement)

    def key(self, root: Path = ROOT) -> str:
        """What a verdict rests on: the change, its source file and the tests tried first."""
        digest = hashlib.sha256(repr((self.file, self.original, self.replacement, self.select)).encode())
        for path in (self.source(root), *(root / test for test in self.tests)):
            digest.update(content_of(path))
        return digest.hexdigest()[:16]


def content_of(path: Path) -> bytes:
    """Of a file, or of all the Python files of a folder, one after the other."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return b"".join(file.read_bytes() for file in files)


def load(path: Path = LIST) -> list[Mutant]:
    """Every mutant, with its room's tests where it names none of its own."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    rooms = listed["room"]
    mutants = []
    for given in listed["mutant"]:
        if unknown := set(given) - FIELDS:
            raise ValueError(f"mutants.toml: {given.get('name')} has unknown fields: {', '.join(sorted(unknown))}")
        room = rooms[given["room"]]
        given = {"select": room.get("select", ""), "equivalent": ""} | given
        mutants.append(Mutant(**given | {"tests": tuple(given.get("tests", room["tests"]))}))
    return mutants


def complaints(mutants: list[Mutant], root: Path = ROOT) -> list[str]:
    """What is wrong with the list, one sentence each."""
    found = []
    names = [mutant.name for mutant in mutants]
    found += [f"{name}: the name is used twice" for name in sorted(set(names)) if names.count(name) > 1]
    for mutant in mutants:
        missing = [path for path in (mutant.source(root), *(root / test for test in mutant.tests)) if not path.exists()]
        if missing:
            found.append(f"{mutant.name}: {missing[0].relative_to(root)} does not exist")
            continue
        text = mutant.source(root).read_text(encoding="utf-8")
        try:
            changed = ast.dump(ast.parse(mutant.applied(text))) != ast.dump(ast.parse(text))
        except (ValueError, SyntaxError) as error:
            found.append(f"{mutant.name}: {error}" if isinstance(error, SyntaxError) else str(error))
        else:
            found += [] if changed else [f"{mutant.name}: the replacement changes nothing"]
    return found
