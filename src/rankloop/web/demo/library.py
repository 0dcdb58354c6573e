"""The standard library as documents: what is public, under the name by which people import it.

Python modules are read from their sources (`sources`), the rest is asked directly (`compiled`). A thing is one
document, under the shortest public name that offers it: `asyncio.gather` and not `asyncio.tasks.gather`,
`collections.deque` and not `_collections.deque`, `os.path.join` and not `posixpath.join`.
"""

import hashlib
import os.path
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rankloop.web.demo.compiled import documents_of, documents_of_module, import_compiled
from rankloop.web.demo.documents import Document, document
from rankloop.web.demo.sources import PassedOn, Source, is_public, read_source

# Tests, demonstrations, programs, poems, and what is about to leave the library.
LEFT_OUT = frozenset(
    {"antigravity", "this", "idlelib", "turtledemo", "lib2to3", "distutils", "pydoc_data"}
    | {"test", "tests", "__main__", "__hello__", "__phello__"}
)
# `os` and `os.path` speak for these.
_BEHIND = frozenset({"posix", "nt", "genericpath", "posixpath", "ntpath", "nturl2path"})
_SPOKEN_FOR = {os.path.__name__: "os.path"}
_FAMILIES_LEFT_OUT = ("encodings.",)  # one module per character set, all alike
_FARTHEST = 4  # modules through which a name is followed to its definition


Sources = dict[str, tuple[str, Source]]
"""(file, module) by dotted name."""


class Library(NamedTuple):
    """The documents, ordered by id, and how many files could not be read."""

    documents: list[Document]
    unreadable: int


def read_library(folder: Path | None = None, names: Iterable[str] | None = None) -> Library:
    """Every public module, class, function, method and property below `folder`: this Python's own library.

    `names` are the top-level modules that count, those of this Python by default. The same library gives
    the same documents in the same order.
    """
    wanted = sys.stdlib_module_names if names is None else frozenset(names)
    sources, unreadable = _read_sources(library_folder() if folder is None else folder, wanted)
    documents: dict[str, Document] = {}
    for entry in _from_sources(sources):
        documents.setdefault(entry.id, entry)
    for name in sorted(wanted - sources.keys() - LEFT_OUT - _BEHIND):
        module = import_compiled(name) if is_public(name) else None
        for entry in documents_of_module(module) if module else ():
            documents.setdefault(entry.id, entry)
    return Library([documents[id] for id in sorted(documents)], unreadable)


def library_folder() -> Path:
    """Where this Python keeps its library."""
    return Path(sysconfig.get_path("stdlib"))


def library_digest(folder: Path | None = None) -> str:
    """A name for the library as it lies on disk: this Python, and every source with its size and time.

    >>> library_digest() == library_digest()
    True
    """
    folder = library_folder() if folder is None else folder
    digest = hashlib.blake2b(sys.version.encode(), digest_size=8)
    for path, _ in module_files(folder, sys.stdlib_module_names):
        status = path.stat()
        digest.update(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def module_files(folder: Path, names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The source files of these top-level modules, each with its dotted name, in order of name."""
    for name in sorted(names):
        if name not in LEFT_OUT:
            yield from _files_of(folder / name, name)


def _files_of(stem: Path, name: str) -> Iterator[tuple[Path, str]]:
    if (stem / "__init__.py").is_file():
        yield stem / "__init__.py", name
        inside = {p.stem if p.suffix == ".py" else p.name for p in stem.iterdir()}
        for part in sorted(inside - LEFT_OUT):
            inner = f"{name}.{part}"
            if part.isidentifier() and part != "__init__" and not inner.startswith(_FAMILIES_LEFT_OUT):
                yield from _files_of(stem / part, inner)
    elif (path := stem.with_suffix(".py")).is_file():
        yield path, name


def _read_sources(folder: Path, names: Iterable[str]) -> tuple[Sources, int]:
    """The modules that can be read, and the number of files that are no Python."""
    sources: Sources = {}
    unreadable = 0
    for path, name in module_files(folder, names):
        try:
            sources[name] = (path.relative_to(folder).as_posix(), read_source(path, name))
        except (SyntaxError, ValueError, RecursionError, OSError):
            unreadable += 1
    return sources, unreadable


def _from_sources(sources: Sources) -> Iterator[Document]:
    """Documents of all modules with a source; outer modules first, so that they claim what they pass on."""
    claimed: set[tuple[str, str]] = set()
    for name in sorted(sources, key=lambda name: (name.count("."), name)):
        if not is_public(name) or (name in _BEHIND and name not in _SPOKEN_FOR):
            continue
        file, source = sources[name]
        module = _SPOKEN_FOR.get(name, name)
        yield document(module, "module", module, module, source.text, file, 1)
        for top in source.own_names:
            if (name, top) not in claimed:
                yield from _documents(sources, PassedOn(name, top, top), module)
        for passed in _offered(source, sources):
            if (name, passed.known_as) not in claimed:
                claimed.add((passed.source, passed.name))
                yield from _documents(sources, passed, module)


def _offered(source: Source, sources: Sources) -> Iterator[PassedOn]:
    """What a module passes on as its own: from private modules, from inside its package, from what it speaks for."""
    inside = f"{source.name}."
    offered: set[str] = set(source.own_names)
    for passed in _expanded(source, sources):
        own = passed.source.startswith(inside) or passed.source in _BEHIND or not is_public(passed.source)
        listed = source.exports is None or passed.known_as in source.exports
        if own and listed and not passed.known_as.startswith("_"):
            offered.add(passed.known_as)
            yield passed
    # A name in __all__ that nothing brings in is fetched from a part of the package when it is first asked for.
    for part in sorted(name for name in sources if name.startswith(inside)):
        for name in sorted((source.exports or frozenset()) - offered):
            if name in sources[part][1].definitions:
                offered.add(name)
                yield PassedOn(part, name, name)


def _expanded(source: Source, sources: Sources, farthest: int = _FARTHEST) -> Iterator[PassedOn]:
    """What a module imports from others, name by name, in the place of every `*`."""
    for passed in source.passed_on:
        if passed.name != "*":
            yield passed
        elif passed.source in sources and farthest > 0:
            _, origin = sources[passed.source]
            names = [*origin.own_names, *(p.known_as for p in _expanded(origin, sources, farthest - 1))]
            for name in names:
                if name in origin.exports if origin.exports is not None else not name.startswith("_"):
                    yield PassedOn(passed.source, name, name)
        elif (compiled := import_compiled(passed.source)) is not None:
            for name in sorted(vars(compiled)):
                if not name.startswith("_"):
                    yield PassedOn(passed.source, name, name)


def _documents(sources: Sources, passed: PassedOn, module: str, farthest: int = _FARTHEST) -> Iterator[Document]:
    """What one module calls a name, with everything inside it, as `module` offers it."""
    if passed.source not in sources:
        compiled = import_compiled(passed.source)
        if compiled is not None and hasattr(compiled, passed.name):
            yield from documents_of(getattr(compiled, passed.name), module, passed.known_as)
        return
    file, origin = sources[passed.source]
    if passed.name not in origin.definitions:
        onward = next((p for p in _expanded(origin, sources) if p.known_as == passed.name), None)
        if onward is not None and farthest > 0:
            yield from _documents(sources, onward._replace(known_as=passed.known_as), module, farthest - 1)
        return
    for definition in origin.definitions.values():
        if definition.name == passed.name or definition.name.startswith(f"{passed.name}."):
            id = f"{module}.{passed.known_as}{definition.name.removeprefix(passed.name)}"
            yield document(id, definition.kind, module, definition.signature, definition.text, file, definition.line)
