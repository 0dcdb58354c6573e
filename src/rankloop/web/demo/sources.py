"""A module of the library as its source tells it: read, never imported.

Importing all of a standard library would open browsers (`antigravity`), print poems (`this`) and start event loops. A
syntax tree says as much: what is defined, how it is called, what is documented, and what is passed on from elsewhere.
"""

import ast
import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rankloop.web.demo.documents import Kind

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PROPERTIES = {"property", "cached_property", "abstractproperty", "DynamicClassAttribute"}


class Definition(NamedTuple):
    """One class, function, method or property: its name within the module, and what is known of it."""

    name: str
    kind: Kind
    signature: str
    text: str
    line: int


class PassedOn(NamedTuple):
    """`from source import name as known_as`; a name of `*` stands for everything public."""

    source: str
    name: str
    known_as: str


class Source(NamedTuple):
    """What one file holds. `exports` is `__all__`, where that can be read without running the module."""

    name: str
    text: str
    definitions: dict[str, Definition]
    passed_on: list[PassedOn]
    exports: frozenset[str] | None

    @property
    def own_names(self) -> list[str]:
        """What is defined at the top of the module, in order."""
        return [name for name in self.definitions if "." not in name]


def read_source(path: Path, name: str) -> Source:
    """The module in a file. Raises SyntaxError, UnicodeDecodeError or OSError where it cannot be read.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "m.py"
    >>> _ = path.write_text('def f(a, *, b=1) -> int:\\n    "Add."\\n')
    >>> read_source(path, "m").definitions["f"]
    Definition(name='f', kind='function', signature='f(a, *, b=1) -> int', text='Add.', line=1)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sources of the library warn of their own odd escapes
        tree = ast.parse(path.read_bytes(), str(path))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    definitions: dict[str, Definition] = {}
    passed_on: list[PassedOn] = []
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom):
            passed_on.extend(_imports(node, package))
        else:
            for definition in _definitions(node, ""):
                known = definitions.get(definition.name)
                if known is None or (definition.text and not known.text):
                    definitions[definition.name] = definition
    for definition in _bound_methods(tree, definitions):
        definitions.setdefault(definition.name, definition)
    return Source(name, ast.get_docstring(tree) or "", definitions, passed_on, _exports(tree))


def is_public(name: str) -> bool:
    """Whether no part of a dotted name is private; `__init__` and its kin count as public.

    >>> is_public("json.decoder"), is_public("_json"), is_public("Path.__truediv__")
    (True, False, True)
    """
    return not any(part.startswith("_") and not is_special(part) for part in name.split("."))


def is_special(name: str) -> bool:
    """Whether a name has two underscores on both sides."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Everything that runs at module level, in order, whatever `if` or `try` it stands under."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements(node.body + node.orelse)
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from _statements(node.body + handlers + node.orelse + node.finalbody)
        elif isinstance(node, ast.With):
            yield from _statements(node.body)
        else:
            yield node


def _definitions(node: ast.stmt, within: str) -> Iterator[Definition]:
    if not isinstance(node, (ast.ClassDef, *_FUNCTIONS)) or not is_public(node.name):
        return
    name = f"{within}{node.name}"
    text = ast.get_docstring(node) or ""
    if is_special(node.name) and not text:
        return  # thousands, of which nothing can be said
    if not isinstance(node, ast.ClassDef):
        yield Definition(name, _kind(node, within), _signature(node, bool(within)), text, node.lineno)
        return
    init = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    signature = _signature(init, True, node.name) if init else node.name
    yield Definition(name, "class", signature, text, node.lineno)
    seen: set[str] = set()
    for member in _statements(node.body):
        for definition in _definitions(member, f"{name}."):
            if definition.name not in seen:
                seen.add(definition.name)
                yield definition


def _bound_methods(tree: ast.Module, definitions: dict[str, Definition]) -> list[Definition]:
    """Functions such as `random.choice`: methods of an instance that the module makes for everybody."""
    classes: dict[str, str] = {}
    methods: list[Definition] = []
    for node in _statements(tree.body):
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        name, value = node.targets[0].id, node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            classes[name] = value.func.id
        elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and is_public(name):
            method = definitions.get(f"{classes.get(value.value.id)}.{value.attr}")
            if method is not None and method.kind == "method":
                methods.append(method._replace(name=name, kind="function"))
    return methods


def _kind(node: _Function, within: str) -> Kind:
    if not within:
        return "function"
    return "property" if _decorators(node) & _PROPERTIES else "method"


def _decorators(node: _Function) -> set[str]:
    return {ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in node.decorator_list}


def _signature(node: _Function, is_member: bool, name: str | None = None) -> str:
    arguments = copy.copy(node.args)
    if is_member and "staticmethod" not in _decorators(node):
        first = "posonlyargs" if arguments.posonlyargs else "args"
        setattr(arguments, first, getattr(arguments, first)[1:])
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and name is None else ""
    return f"{name or node.name}({ast.unparse(arguments)}){returns}"


def _imports(node: ast.ImportFrom, package: str) -> Iterator[PassedOn]:
    source = node.module or ""
    if node.level:
        parents = package.split(".")
        above = ".".join(parents[: len(parents) - node.level + 1])
        source = f"{above}.{source}" if source else above
    for alias in node.names:
        yield PassedOn(source, alias.name, alias.asname or alias.name)


def _exports(tree: ast.Module) -> frozenset[str] | None:
    """`__all__`, if it is assembled from plain lists; None where there is none or it takes running to know."""
    names: set[str] | None = None
    for value in filter(None, map(_added_to_exports, _statements(tree.body))):
        try:
            added = ast.literal_eval(value)
        except ValueError:
            return None
        names = (names or set()) | ({added} if isinstance(added, str) else set(added))
    return None if names is None else frozenset(names)


def _added_to_exports(node: ast.stmt) -> ast.expr | None:
    """The expression that a statement assigns or adds to `__all__`."""
    if isinstance(node, ast.Assign) and any(map(_is_exports, node.targets)):
        return node.value
    if isinstance(node, ast.AugAssign) and _is_exports(node.target):
        return node.value
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_exports(call.func.value):
        return call.args[0] if call.func.attr in ("append", "extend") and call.args else None
    return None


def _is_exports(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"
