"""`@kernel`: compile with Numba, once, and keep the machine code on disk.

Numba notices when the file of a cached function changes, but not when a function that it calls
changes in another file; a stale kernel would then compute yesterday's mathematics. So the cache
lives in a folder named after the content of all kernel sources: edit one, and all are compiled
again; change nothing, and every process starts from the machine code on disk.

Code from outside the package (a user, a learner) becomes part of the package's own kernels when these are compiled for
its named tuples. What is compiled for them lies apart, in a folder named after the sources of that code: edit them,
and it is compiled again; run elsewhere, and nobody looks for modules that are not there.

A folder that cannot be written to is read all the same: an image may have come with its kernels compiled. What is not
in it is compiled in every process, and nothing is left behind.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event, sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, UserProvidedCacheLocator
from numba.extending import overload

from rankloop.home import home
from rankloop.sources import fingerprint, note_companion, sources_of

_KEPT_GENERATIONS = 6
"""Of the package: an older one is of no use to anybody."""
_KEPT_OUTSIDE = 64
"""Of code from outside: each is one person's method or user, and several take turns."""
_implementers: dict[type, set[str]] = {}
"""By kind of named tuple, the modules that say what is done with it."""
_implemented: set[tuple[Callable[..., Any], type]] = set()
"""Stubs, and kinds of named tuples that they are implemented for."""
_COMPILED = re.compile(rb"^@(?:kernel|inlined_kernel|intrinsic|implements)\b|\bkernel\(", re.MULTILINE)
_IMPORTED = re.compile(rb"^from rankloop\.([\w.]+) import", re.MULTILINE)


def kernel(function: Callable[..., Any], *, inline: str = "never") -> Any:
    """Compile a function with Numba on first use; later processes load it from disk.

    No `fastmath`: bits must not depend on where a kernel was inlined. Sums that matter for speed
    run in explicit lanes (`rankloop.kernels.arithmetic`). A kernel that Python calls runs without the interpreter's
    lock, so that threads run beside each other; nobody may change its arrays meanwhile.
    """
    compiled = numba.njit(error_model="numpy", inline=inline, nogil=True)(function)
    compiled._cache = _CacheBySignature(function)
    return compiled


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """A kernel that becomes part of its callers before they are compiled.

    LLVM optimises a kernel again in every kernel that calls it, so each level of calls above a large one costs its
    whole compile time once more. The loop's own steps are joined this way; leaves gain nothing from it.
    """
    return kernel(function, inline="always")


def implements(stub: Callable[..., Any], kind: type) -> Callable[[Any], Any]:
    """Register a function as what `stub` does in compiled code when its first argument is a `kind` tuple.

    Compiled code calls the stub by name; Numba picks the implementation by type when it compiles. So the
    simulation's loop is written once, a new learner or user costs it nothing, and no function is passed
    as an argument (which would defeat the cache on disk).
    """

    def register(implementation: Any) -> Any:
        _implementers.setdefault(kind, set()).add(implementation.__module__)
        _implemented.add((stub, kind))
        note_companion(kind.__module__, implementation.__module__)

        @overload(stub, strict=False)
        def choose(subject: Any, *rest: Any) -> Any:
            matches = isinstance(subject, numba.types.BaseNamedTuple) and subject.instance_class is kind
            return getattr(implementation, "py_func", implementation) if matches else None

        return implementation

    return register


def otherwise(stub: Callable[..., Any]) -> Callable[[Any], Any]:
    """Register a function as what `stub` does with every kind of tuple that nobody has implemented it for."""

    def register(implementation: Any) -> Any:
        @overload(stub, strict=False)
        def choose(subject: Any, *rest: Any) -> Any:
            others = (
                isinstance(subject, numba.types.BaseNamedTuple) and (stub, subject.instance_class) not in _implemented
            )
            return getattr(implementation, "py_func", implementation) if others else None

        return implementation

    return register


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where a function's machine code lies, whether or not more can be put there."""

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            super().ensure_cache_path()


class _Kept(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _FunctionCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Kept


class _CacheBySignature(NullCache):  # type: ignore[misc]
    """Numba's cache of a function on disk, in the folder that a signature belongs to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._caches: dict[Path, Any] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(OSError):  # what may not be read is compiled
            return self._at(sig).load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk costs the next process a compilation, not this one its result
            self._at(sig).save_overload(sig, data)

    def _at(self, sig: Any) -> Any:
        arguments, _ = sigutils.normalize_signature(sig)
        folder = _folder_for(self._function.__module__, {name for kind in arguments for name in _modules_of(kind)})
        if folder is None:
            return NullCache()
        if folder not in self._caches:
            previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)
            try:
                self._caches[folder] = _FunctionCache(self._function)
            finally:
                config.CACHE_DIR = previous
        return self._caches[folder]


def _modules_of(kind: Any) -> Iterator[str]:
    """The modules that define the named tuples of a type, or say what is done with them."""
    if isinstance(kind, numba.types.BaseNamedTuple):
        yield kind.instance_class.__module__
        yield from _implementers.get(kind.instance_class, ())
    if isinstance(kind, numba.types.BaseTuple):
        for part in kind:
            yield from _modules_of(part)


def _folder_for(function: str, types: set[str]) -> Path | None:
    """Where a function of one module goes that is compiled for types of others; None: it cannot be kept."""
    outside = {name for name in {function, *types} if name.partition(".")[0] != "rankloop"}
    if not outside:
        return cache_folder()
    # Another process has its own `__main__`, and what was typed at a prompt has no source to compare.
    if types & {"__main__", "__mp_main__"} or not all(sources_of(name) for name in outside):
        return None
    folder = cache_folder() / f"outside-{fingerprint(*sorted(outside))}"
    _make(folder, _KEPT_OUTSIDE)
    return folder


@contextmanager
def when_compiling(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` once if anything has to be compiled inside the `with` block."""

    class Listener(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, _event: object) -> None:
            if not self.said:
                self.said = True
                say()

        def on_end(self, _event: object) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


@cache
def cache_folder() -> Path:
    """Where the machine code of these very sources lies."""
    base = Path(os.environ.get("NUMBA_CACHE_DIR") or home() / "compiled")
    folder = base / f"rankloop-{sources_fingerprint(Path(__file__).parents[1])}"
    _make(folder, _KEPT_GENERATIONS)
    return folder


def _make(folder: Path, kept: int) -> None:
    """Make a generation's folder where that is possible, and forget the oldest of its kind beyond so many."""
    with suppress(OSError):
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old_generations(folder.parent, f"{folder.name.partition('-')[0]}-*", kept)


def sources_fingerprint(package: Path) -> str:
    """Of every file of the package that holds a kernel, and of those it imports: their constants are compiled in."""
    texts = {path: path.read_bytes() for path in package.rglob("*.py")}
    kernels = [text for text in texts.values() if _COMPILED.search(text)]
    imported = {name.decode().replace(".", "/") for text in kernels for name in _IMPORTED.findall(text)}
    digest = hashlib.sha256()
    for path, text in sorted(texts.items()):
        place = path.relative_to(package).as_posix()
        if text in kernels or place.removesuffix(".py").removesuffix("/__init__") in imported:
            digest.update(place.encode() + b"\0" + text)
    return digest.hexdigest()[:16]


def _forget_old_generations(base: Path, pattern: str, kept: int) -> None:
    try:
        generations = sorted(base.glob(pattern), key=lambda folder: folder.stat().st_mtime)
    except FileNotFoundError:
        return  # another process is tidying up
    for folder in generations[:-kept]:
        shutil.rmtree(folder, ignore_errors=True)
