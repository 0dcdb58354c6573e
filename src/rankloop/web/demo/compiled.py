"""What the library has without a source to read: builtins and modules written in C, asked directly.

Importing these is harmless, with a few exceptions that are left out by name; what they say of themselves is the only
documentation there is.
"""

import importlib
import inspect
import re
import types
import warnings
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec
from typing import Any

from rankloop.web.demo.documents import Document, document

# readline talks to the terminal when it is imported, _tkinter to a display; nis and ossaudiodev to what is long gone.
NEVER_IMPORTED = frozenset({"readline", "_tkinter", "nis", "ossaudiodev", "_curses", "_curses_panel"})

# No Python function: in a C module that is something which a program has put there.
_ROUTINES = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.ClassMethodDescriptorType, classmethod, staticmethod)  # fmt: skip
_PROPERTIES = (types.GetSetDescriptorType, types.MemberDescriptorType, property)
_SIGNATURE_LINE = re.compile(r"^(\w+\(.*?\))(?:\s*(?:->|--).*)?$")


def import_compiled(name: str) -> types.ModuleType | None:
    """A module written in C; None where there is none of that name, or it must not be imported here."""
    if name in NEVER_IMPORTED:
        return None
    try:
        spec = find_spec(name)
        if spec is None or not (spec.origin == "built-in" or isinstance(spec.loader, ExtensionFileLoader)):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some are deprecated; they are there all the same
            return importlib.import_module(name)
    except (ImportError, ValueError):
        return None


def documents_of_module(module: types.ModuleType) -> Iterator[Document]:
    """A module written in C, and everything public in it."""
    name = module.__name__
    yield document(name, "module", name, name, _text(module))
    for member, value in sorted(vars(module).items()):
        if not member.startswith("_"):
            # A program may replace `sys.excepthook`; `sys.__excepthook__` is still the library's own.
            original = vars(module).get(f"__{member}__")
            yield from documents_of(original if isinstance(original, _ROUTINES) else value, name, member)


def documents_of(value: Any, module: str, name: str) -> Iterator[Document]:
    """An object that `module` offers as `name`, with its methods if it is a class. Data gives nothing."""
    id = name if module == "builtins" else f"{module}.{name}"
    if isinstance(value, type):
        yield document(id, "class", module, _signature(value, name), _text(value))
        for member, inner in sorted(vars(value).items()):
            if not member.startswith("_"):
                yield from _member(inner, f"{id}.{member}", module)
    elif isinstance(value, _ROUTINES):
        yield document(id, "function", module, _signature(value, name), _text(value))


def _member(value: Any, id: str, module: str) -> Iterator[Document]:
    name = id.rpartition(".")[2]
    if isinstance(value, _ROUTINES):
        yield document(id, "method", module, _signature(value, name), _text(value))
    elif isinstance(value, _PROPERTIES):
        yield document(id, "property", module, name, _text(value))


def _text(value: Any) -> str:
    text = getattr(value, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def _signature(value: Any, name: str) -> str:
    inner = getattr(value, "__func__", value)
    try:
        signature = inspect.signature(inner)
    except (TypeError, ValueError):
        said = _SIGNATURE_LINE.match(_text(inner).partition("\n")[0])
        return said[1] if said else name
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls", "type")]
    return f"{name}{signature.replace(parameters=parameters)}"
