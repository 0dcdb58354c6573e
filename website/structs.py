"""In the reference, a settings class is called with its fields: their names, types and defaults.

msgspec makes the `__init__` of a struct when it runs; Griffe, which reads the sources for mkdocstrings, sees none.
"""

from collections.abc import Iterator
from typing import Any

import griffe

BY_NAME_OR_PLACE, BY_NAME = griffe.ParameterKind.positional_or_keyword, griffe.ParameterKind.keyword_only


class Structs(griffe.Extension):
    """Every struct gets the `__init__` that msgspec would make."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when all of the package is read, so that base classes are known."""
        for found in classes(pkg):
            if "__init__" not in found.members and (lineage := structs_of(found)):
                found.set_member("__init__", made(found, lineage))


def classes(place: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    """All classes that are defined in a module, its modules and its classes."""
    for member in list(place.members.values()):
        if not member.is_alias and isinstance(member, griffe.Module | griffe.Class):
            if isinstance(member, griffe.Class):
                yield member
            yield from classes(member)


def structs_of(found: griffe.Class) -> list[griffe.Class]:
    """Where its fields come from, base classes first; nothing if it is no struct."""
    try:
        lineage = [*reversed(found.mro()), found]
    except ValueError:
        return []
    bases = {str(getattr(base, "canonical_path", base)) for one in lineage for base in one.bases}
    return lineage if "msgspec.Struct" in bases else []


def made(found: griffe.Class, lineage: list[griffe.Class]) -> griffe.Function:
    """Its `__init__`; what can only be given by name comes last."""
    fields = {field.name: field for one in lineage for field in fields_of(one)}
    ordered = sorted(fields.values(), key=lambda field: field.kind is BY_NAME)
    return griffe.Function(
        "__init__",
        parent=found,
        parameters=griffe.Parameters(griffe.Parameter("self", kind=BY_NAME_OR_PLACE), *ordered),
    )


def fields_of(one: griffe.Class) -> Iterator[griffe.Parameter]:
    """What a class adds to those above it."""
    kind = BY_NAME if str(one.keywords.get("kw_only")) == "True" else BY_NAME_OR_PLACE
    for member in one.members.values():
        if isinstance(member, griffe.Attribute) and member.annotation and "property" not in member.labels:
            if "class-attribute" in member.labels and "instance-attribute" not in member.labels:
                continue
            member.annotation = plain(member.annotation)
            yield griffe.Parameter(member.name, annotation=member.annotation, kind=kind, default=member.value)


def plain(annotation: str | griffe.Expr) -> str | griffe.Expr:
    """`Annotated[float, number(at_least=0)]` is shown as `float`."""
    if isinstance(annotation, griffe.ExprSubscript) and str(annotation.left) == "Annotated":
        return annotation.slice.elements[0]
    return annotation
