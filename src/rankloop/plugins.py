"""Work from outside the package: modules that bring people, learners, rankers and attributes of documents, and the
registries they enter.

A study file names them (`plugins = ["my_methods"]`), a command takes them (`--plugin my_methods`), and an installed
package announces them as entry points of the group `rankloop.plugins`. Those are loaded only when somebody asks for a
name that is not known, so that nobody waits for, or breaks on, what they do not use.
"""

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from rankloop.errors import RankloopError, SettingsError
from rankloop.sources import companions_of, modules_of

GROUP = "rankloop.plugins"
HINT = (
    ". One of your own comes with a plugin, a module in which its class stands below @rl.register: "
    "plugins = [...] in a study file, --plugin on the command line"
)
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

_loaded: set[str] = set()

Kind = TypeVar("Kind", bound=type[Any])
Told = TypeVar("Told", bound=Callable[..., Any])


class Registry(dict[str, Any]):
    """Settings classes by the name that files and commands know them by, which is their tag.

    >>> import msgspec
    >>> class Calm(msgspec.Struct, tag="calm"): pass
    >>> people = Registry("user", [Calm])
    >>> "calm" in people, "hectic" in people
    (True, False)
    """

    def __init__(self, what: str, kinds: Iterable[type[Any]] = ()) -> None:
        super().__init__()
        self.what = what
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Any) -> None:
        """Make a settings class known. A name belongs to one class; a module that is loaded again replaces its own."""
        name = kind.__struct_config__.tag if hasattr(kind, "__struct_config__") else kind.__name__
        if not isinstance(name, str):
            raise SettingsError(f"{_place(kind)}: a {self.what} needs a name, given as tag=…")
        there = self.get(name)
        if there is not None and _place(there) != _place(kind):
            raise SettingsError(
                f"{_place(kind)} would be the {self.what} {name!r}, but {_place(there)} has that name already; "
                f"choose another"
            )
        self[name] = kind

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name):
            load_installed()
        return super().__contains__(name)

    def __missing__(self, name: str) -> Any:
        load_installed()
        if not super().__contains__(name):
            raise KeyError(name)
        return self[name]


def name_in_files(name: str) -> str:
    """What study files call a kind of people or of rankers, by its class's name.

    >>> name_in_files("PositionBased"), name_in_files("MLP")
    ('position_based', 'mlp')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


ATTRIBUTES = Registry("attribute")
"""Functions that tell something of each document of a split, by name."""


def attribute(function: Told) -> Told:
    """Make an attribute of documents known by the name of the function that tells it; for use as a decorator.

    Given a split, the function gives one number for each document. People who look at an attribute that their
    collection lacks are shown this one.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise SettingsError(f"attribute takes a function of a split, with a name; got {function!r}")
    ATTRIBUTES.add(function)
    return function


def telling(name: str) -> Callable[[Any], Any]:
    """The function that tells a plugin's attribute; what it raises becomes a sentence that names the attribute."""
    function = ATTRIBUTES[name]

    def guarded(split: Any) -> Any:
        try:
            return function(split)
        except RankloopError:
            raise
        except (Exception, SystemExit) as error:
            code = getattr(function, "__code__", None)
            cause = _cause(error, Path(code.co_filename) if code else None)
            raise SettingsError(f"the attribute {name} failed: {cause}") from error

    return guarded


def is_outside(kind: type) -> bool:
    """Whether a class is somebody's own, and not of this package."""
    return kind.__module__.partition(".")[0] != "rankloop"


def left_out(kind: type, method: str) -> SettingsError:
    """What is said of a class that lacks a method which nobody else can write for it."""
    return SettingsError(f"{_place(kind)} needs a method {method}; docs/extending.md says what each part must do")


def register(kind: Kind) -> Kind:
    """Make a user, learner or ranker of your own known by name, to study files and commands; for use as a decorator.

    The class is on `rankloop.learners.Learner`, `rankloop.users.User` or `rankloop.rankers.Ranker`, or on one that is.
    """
    registry = getattr(kind, "registry", None)
    if not isinstance(registry, Registry):
        raise SettingsError(
            f"register takes a class on rankloop.learners.Learner, rankloop.users.User or rankloop.rankers.Ranker; "
            f"got {kind!r}"
        )
    registry.add(kind)
    return kind


def load(names: Iterable[str], beside: Path | None = None) -> tuple[str, ...]:
    """Import plugins, each a module's name or the path of a `.py` file, and say how to find them from anywhere.

    A name is looked for in the folder `beside` (the working directory unless told otherwise), then among all that can
    be imported. The folder is added to the end of the module path, which worker processes inherit.
    """
    return tuple(_load(name, (beside or Path()).absolute()) for name in names)


def _load(name: str, folder: Path) -> str:
    if name in _loaded:
        return name  # by its file, which may be gone by now
    path = _file(name, folder)
    module, root = (name, None) if path is None else _module_at(path)
    if not _NAME.fullmatch(module):
        raise SettingsError(f"a plugin is the name of a module, or a .py file; got {name!r}")
    if root is not None and str(root) not in sys.path:
        sys.path.append(str(root))
        importlib.invalidate_caches()
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if path is None and error.name and f"{module}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"no plugin {name!r}: there is no {name.replace('.', '/')}.py in {folder}, and no module of that name "
                f"can be imported"
            ) from None
        raise SettingsError(f"plugin {name!r} cannot be imported: {_cause(error, path)}") from None
    except RankloopError as error:
        raise SettingsError(f"plugin {name!r}: {error}") from None
    except (Exception, SystemExit) as error:
        raise SettingsError(f"plugin {name!r} cannot be imported: {_cause(error, path)}") from None
    found = getattr(imported, "__file__", None)
    if path is not None and (found is None or not path.samefile(found)):
        raise SettingsError(f"plugin {name!r} is {path}, but Python takes {module!r} from {found}; rename your file")
    if path is None:
        return module
    _loaded.add(str(path))
    return str(path)


def _file(name: str, folder: Path) -> Path | None:
    """The file that a plugin's name means in a folder; None if it must be found on the module path."""
    if name.endswith(".py") or "/" in name:
        path = (folder / Path(name).expanduser()).resolve()
        if not path.is_file():
            raise SettingsError(f"no plugin {name!r}: there is no file {path}")
        return path
    stem = folder.joinpath(*name.split("."))
    found = next((path for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if path.is_file()), None)
    return None if found is None else found.resolve()


def _module_at(path: Path) -> tuple[str, Path]:
    """The name of the module in a file, and the folder from which it is imported by it: folders with an `__init__.py`
    are packages."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _cause(error: BaseException, path: Path | None) -> str:
    """What was raised and, if it was in the plugin's own file, where."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if (path is None and is_installed(frame.filename)) or frame.filename == str(path)]
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    where = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"


def is_installed(file: str) -> bool:
    """Whether a file is part of an installed package that announces a plugin."""
    return Path(file).resolve() in _installed()


@cache
def _installed() -> frozenset[Path]:
    announced = {entry.dist.name: entry.dist for entry in metadata.entry_points(group=GROUP) if entry.dist}
    return frozenset(
        Path(str(one.locate_file(file))).resolve() for one in announced.values() for file in one.files or ()
    )


def load_installed() -> None:
    """Import what installed packages announce, once."""
    while _announced():
        entry = _announced().pop()
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            _announced().append(entry)
            raise SettingsError(
                f"the installed plugin {entry.name!r} ({entry.value}) cannot be imported: {_cause(error, None)}"
            ) from None


@cache
def _announced() -> list[metadata.EntryPoint]:
    """Entry points that are still to be loaded."""
    return sorted(metadata.entry_points(group=GROUP), reverse=True)


def pickled(settings: object, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """How settings travel to another process: with the names of modules that their kernels are in, if these are apart.

    Unpickling imports the module of a class, and nothing would import what stands beside it.
    """
    modules = companions_of(type(settings).__module__)
    return (_unpickled, (modules, *reduced[:2])) if modules else reduced


def _unpickled(modules: list[str], make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    for name in modules:
        importlib.import_module(name)
    return make(*arguments)


def needed_by(*settings: object) -> list[str]:
    """The plugins that bring these settings' classes, as a study file written anywhere must name them.

    >>> import rankloop as rl
    >>> needed_by(rl.ROLTR(), rl.users.noisy())
    []
    """
    found = []
    for name in sorted({name for one in settings for name in modules_of(one)}):
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is None or name.partition(".")[0] in {"rankloop", "msgspec", "__main__", "__mp_main__"}:
            continue
        path = Path(origin).resolve()
        found.append(name if {"site-packages", "dist-packages"} & set(path.parts) else str(path))
    return found


def files(references: Iterable[str]) -> list[Path]:
    """What another machine needs of plugins that were found as files: each top-level module or package of theirs, and
    of what they import."""
    from rankloop.sources import sources_of

    modules = [_module_at(Path(one))[0] for one in references if one.endswith(".py")]
    tops = {_top(path) for path in sources_of(*modules)} if modules else set()
    return sorted(tops - {_top(Path(__file__))})


def _top(path: Path) -> Path:
    """The file itself, or the outermost package that it lies in."""
    top = path
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return top


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
