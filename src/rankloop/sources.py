"""Which source files a computation comes from, and a fingerprint of them: results and machine code are keyed by it.

A module's sources are its own file and those of all that it imports, directly or not, as far as somebody may edit them:
this package, the module's own, and what is installed neither with Python nor as a package. So are those of modules that
implement what is done with its named tuples.
"""

import ast
import hashlib
import importlib
import importlib.util
import secrets
import sys
import threading
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

# They name every method, ranker and user and compute nothing: editing one leaves the results of the others alone.
_REGISTRIES = {"rankloop", "rankloop.learners", "rankloop.rankers", "rankloop.users"}
# What is done with a finished run computes nothing of it.
_LOOKS = {"rankloop.runs.runs", "rankloop.runs.notebook", "rankloop.display.pictures", "rankloop.display.sheets"}
_NOWHERE = secrets.token_bytes(8)
# To find a module is to import the packages around it, and threads that import the same packages at once can stop one
# another (`_DeadlockError`).
_one_at_a_time = threading.RLock()
_companions: dict[str, set[str]] = {}
"""By module from outside, others that say what compiled code does with its named tuples: it need not know them."""


def fingerprint_of(*settings: object) -> str:
    """What computes a run with these settings (a learner's, a user's), wherever they are defined.

    The simulation and the modules that define the settings, with all that they import. What was typed at a prompt has
    no file, and a fingerprint that no other process shares.
    """
    return fingerprint("rankloop.simulation", *sorted({name for one in settings for name in modules_of(one)}))


def note_companion(module: str, implementer: str) -> None:
    """A module implements what is done with named tuples of another: from now on its sources are the other's, too."""
    if "rankloop" not in (module.partition(".")[0], implementer.partition(".")[0]) and module != implementer:
        _companions.setdefault(module, set()).add(implementer)
        fingerprint.cache_clear()


def companions_of(*modules: str) -> list[str]:
    """The modules that must be imported, beside these, before compiled code knows their named tuples."""
    return sorted({one for name in _walked(modules) for one in _companions.get(name, ())}) if _companions else []


def modules_of(value: Any) -> Iterator[str]:
    """The modules that define a settings object and those within it, or a function, or what is given in their place."""
    value = getattr(value, "given", value)
    if isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, FunctionType):
        yield value.__module__
        return
    else:
        first, *bases = (kind.__module__ for kind in type(value).__mro__)
        yield first
        yield from (base for base in bases if _is_editable(base, {first.partition(".")[0], "rankloop"}))
        parts = [getattr(value, name) for name in getattr(value, "__struct_fields__", ())]
    for part in parts:
        yield from modules_of(part)


def outside_files(*settings: object) -> set[Path]:
    """The files that define settings and belong neither to this package nor to an installed one."""
    names = {name for one in settings for name in modules_of(one) if name.partition(".")[0] != "rankloop"}
    return {path for name in names if _is_editable(name, set()) and (path := _file(name))}


@cache
def fingerprint(*modules: str) -> str:
    """A short digest of the sources of these modules, as they are when a process first asks for it."""
    digest = hashlib.sha256()
    for name, path in sorted(_walked(modules).items()):
        digest.update(name.encode() + b"\0" + (path.read_bytes() if path else _NOWHERE) + b"\0")
    return digest.hexdigest()[:16]


def sources_of(*modules: str) -> set[Path]:
    """The files behind a fingerprint."""
    return {path for path in _walked(modules).values() if path}


def _walked(modules: tuple[str, ...]) -> dict[str, Path | None]:
    with _one_at_a_time:
        return _walk(modules)


def _walk(modules: tuple[str, ...]) -> dict[str, Path | None]:
    own = {name.partition(".")[0] for name in modules} | {"rankloop"}
    seen: dict[str, Path | None] = {}
    waiting = [name for name in modules if name != "builtins"]
    while waiting:
        name = "__main__" if (name := waiting.pop()) == "__mp_main__" else name
        if name in seen or name in _REGISTRIES | _LOOKS:
            continue
        path = seen[name] = _file(name)
        if path is not None:
            waiting += _imports(name, path, own)
        waiting += sorted(_companions.get(name, ()))
    return seen


def _imports(name: str, path: Path, own: set[str]) -> Iterator[str]:
    """The editable modules that a file imports; of `from a import b`, `a.b` if that is a module, else `a`."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    source = path.read_bytes()
    if name.partition(".")[0] != "rankloop":
        yield from _through_the_front(source)
    for node in _import_statements(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_editable(alias.name, own))
        else:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            # A folder without `__init__.py` has no file of its own; the modules in it have.
            if _is_editable(base, own) or (
                _file(base) is None and base.partition(".")[0] not in sys.stdlib_module_names
            ):
                inner = [f"{base}.{alias.name}" for alias in node.names]
                taken = (one if _is_package(base) and _file(one) else base for one in inner)
                yield from (name for name in taken if _is_editable(name, own))


@cache
def _import_statements(source: bytes) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Wherever they stand. Known by a file's content: every method's sources are mostly the same files."""
    found = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):  # where statements hold statements
            waiting += getattr(node, block, ())
    return tuple(found)


@cache
def _through_the_front(source: bytes) -> tuple[str, ...]:
    """The modules behind what outside code takes from a registry: `rl.PDGD`, `from rankloop.users import noisy`."""
    nodes = list(ast.walk(ast.parse(source)))
    homes = []
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    for registry in sorted(_REGISTRIES):
        front = importlib.import_module(registry)
        for one in sorted(named & set(front.__all__)):
            found = getattr(front, one)
            kind = found if hasattr(found, "__module__") else type(found)
            home = found.__name__ if isinstance(found, ModuleType) else kind.__module__
            if home.startswith("rankloop."):
                homes.append(home)
    return tuple(homes)


def _is_editable(name: str, own: set[str]) -> bool:
    top = name.partition(".")[0]
    if top in own or top in sys.stdlib_module_names:
        return top in own
    path = _file(name)
    return path is not None and not _is_installed(path)


def _is_installed(path: Path) -> bool:
    """Whether a file came with a package, into Python's own folder or another one (`pip install --target`)."""
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or any(
        path.relative_to(folder).parts[0] in _brought_to(folder) for folder in path.parents
    )


@cache
def _brought_to(folder: Path) -> set[str]:
    """The packages and modules that distributions in a folder have brought, by their own records."""
    found = distributions(path=[str(folder)]) if any(folder.glob("*.dist-info")) else ()
    return {file.parts[0] for one in found for file in one.files or ()}


@cache
def _file(name: str) -> Path | None:
    """The Python source of a module, whether it was imported already or not; None if it has none."""
    origin = getattr(sys.modules.get(name), "__file__", None)
    if origin is None and name not in ("__main__", ""):
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        origin = spec.origin if spec else None
    path = Path(origin) if origin and Path(origin).suffix == ".py" and Path(origin).is_file() else None
    # The main module of a worker is that of the library which started it, not the script that a function came from.
    return None if path and name == "__main__" and _is_installed(path) else path


def _is_package(name: str) -> bool:
    path = _file(name)
    return path is None or path.name == "__init__.py"
