"""What a report consists of, whatever it is written as."""

from typing import NamedTuple

from rankloop.studies.tables import Table


class Heading(NamedTuple):
    """1 is the title, 2 a section."""

    level: int
    text: str


class Paragraph(NamedTuple):
    """Running text; `kind` is a class of the style sheet."""

    text: str
    kind: str = ""


class Definitions(NamedTuple):
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


class Picture(NamedTuple):
    """A figure by its file name without suffix."""

    name: str
    title: str
    caption: str


class Tabulated(NamedTuple):
    """A table in its place, or folded away under a title."""

    table: Table
    folded: str = ""


class Code(NamedTuple):
    """What to type."""

    text: str


class Folded(NamedTuple):
    """Long text that is not shown until asked for."""

    title: str
    text: str


Block = Heading | Paragraph | Definitions | Picture | Tabulated | Code | Folded
