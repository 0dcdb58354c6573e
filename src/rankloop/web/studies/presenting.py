"""A report's blocks as a template wants them: in sections, tables row by row with what repeats the row above marked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rankloop.studies.blocks import Block, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.tables import Cell, Table
from rankloop.web.studies.pictures import Drawn


class Entry(NamedTuple):
    """A cell in its column; `same` if the row above has the same, and it need not be read twice."""

    cell: Cell
    kind: str
    same: bool


class Line(NamedTuple):
    """A row; `opens` if it is the first of its group."""

    entries: list[Entry]
    opens: bool


class Part(NamedTuple):
    """A block and what a template needs besides: `kind` is the block's, in lower case."""

    kind: str
    block: Any
    number: int = 0
    lines: list[Line] = []  # noqa: RUF012  (never changed)
    notes: str = ""
    picture: Drawn | None = None


class Section(NamedTuple):
    """A heading and what stands under it."""

    anchor: str
    title: str
    parts: list[Part]


def sections_of(blocks: Sequence[Block], pictures: Mapping[str, Drawn], settings: str = "") -> list[Section]:
    """What stands under the headings of a report; its title and question are not part of it.

    `settings` is the study's file, which takes the place of the same as JSON.
    """
    sections: list[Section] = []
    tables = 0
    for block in blocks:
        if isinstance(block, Heading):
            if block.level > 1:
                sections.append(Section(_anchor(block.text, len(sections) + 1), block.text, []))
            continue
        if isinstance(block, Paragraph) and block.kind == "question":
            continue
        if not sections:
            sections.append(Section("1-report", "Report", []))
        if isinstance(block, Folded) and settings:
            block = Folded("The study as TOML", settings)
        part = Part(type(block).__name__.lower(), block)
        if isinstance(block, Tabulated):
            tables += 1
            table = block.table
            part = part._replace(number=tables, lines=list(_lines(table)), notes=_notes(table))
        elif isinstance(block, Picture):
            part = part._replace(picture=pictures.get(block.name))
        sections[-1].parts.append(part)
    return sections


def tables_of(blocks: Sequence[Block]) -> list[Table]:
    """The tables of a report, in its order."""
    return [block.table for block in blocks if isinstance(block, Tabulated)]


def _lines(table: Table) -> Iterator[Line]:
    above: tuple[Cell, ...] = ()
    for row in table.rows:
        same = 0
        while above and same < table.groups and row[same].text == above[same].text:
            same += 1
        opens = bool(above) and same < table.groups
        entries = [
            Entry(cell, column.kind, index < same)
            for index, (cell, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        yield Line(entries, opens)
        above = row


def _notes(table: Table) -> str:
    best = table.best and any(cell.best for row in table.rows for cell in row)
    return " ".join([*table.notes, *([f"Bold: {table.best}."] if best else [])])


def _anchor(title: str, number: int) -> str:
    word = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return f"{number}-{word}".rstrip("-")
