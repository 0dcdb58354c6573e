"""A report read back from its Markdown, for folders that were kept without their runs (as in docs/results).

Only what `rankloop.studies.page` writes is understood; any other line is a paragraph, and is shown as it stands.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from rankloop.studies.blocks import Block, Code, Definitions, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.tables import Column, Entry, Table

_TONES = ("supported", "contradicted", "undecided")
_MARKS = "≈△▽▲▼"
_WORDY = 40  # characters: a longer text in a cell may wrap


def read_markdown(text: str) -> list[Block]:
    """The blocks of a report."""
    blocks: list[Block] = []
    pieces = list(_pieces(text))
    while pieces:
        blocks.append(_block(pieces, blocks))
    return blocks


def _next_is(pattern: str, pieces: Sequence[str]) -> re.Match[str] | None:
    return re.fullmatch(pattern, pieces[0], re.DOTALL) if pieces else None


def _pieces(text: str) -> Iterator[str]:
    """Parts between blank lines; a fenced part stays whole."""
    held: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence:
            held.append(line)
            if line == fence:
                fence = ""
        elif line.strip():
            held.append(line)
            fence = "".join(takewhile(lambda letter: letter == "`", line)) if line.startswith("```") else ""
        elif held:
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held)


def _block(pieces: list[str], before: Sequence[Block]) -> Block:
    piece = pieces.pop(0)
    if match := re.fullmatch(r"(#{1,2}) (.*)", piece):
        return Heading(len(match[1]), _plain(match[2]))
    if match := re.fullmatch(r"!\[(.*)\]\(figures/([a-z0-9-]+)\.png\)", piece):
        return _picture(_plain(match[1]), match[2], pieces)
    if match := re.fullmatch(r"<details><summary>(.*)</summary>", piece):
        return _folded(html.unescape(match[1]), pieces)
    if (match := re.fullmatch(r"\*\*(.*)\*\*", piece)) and _next_is(r"\|.*\|", pieces):
        return Tabulated(_table(_plain(match[1]), pieces))
    if piece.startswith("```"):
        return Code(_unfenced(piece))
    if piece.startswith("- **"):
        return Definitions(tuple(_fact(line) for line in piece.splitlines()))
    question = len(before) == 1 and isinstance(before[0], Heading)
    return Paragraph(_plain(piece), "question" if question else "")


def _picture(title: str, name: str, pieces: list[str]) -> Picture:
    caption = _next_is(r"\*\*.*?\.\*\* (.*)", pieces)
    if caption:
        pieces.pop(0)
    return Picture(name, title, _plain(caption[1]) if caption else "")


def _folded(title: str, pieces: list[str]) -> Block:
    end = pieces.index("</details>") if "</details>" in pieces else len(pieces)
    inside = pieces[:end]
    del pieces[: end + 1]
    if inside and inside[0].startswith("```"):
        return Folded(title, _unfenced(inside[0]))
    if len(inside) > 1 and inside[1].startswith("|"):
        heading = _plain(inside.pop(0).strip("*"))
        return Tabulated(_table(heading, inside), title)
    return Folded(title, "\n\n".join(_plain(piece) for piece in inside))


def _unfenced(piece: str) -> str:
    return "\n".join(piece.splitlines()[1:-1])


def _fact(line: str) -> tuple[str, str]:
    match = re.fullmatch(r"- \*\*(.*?)\*\*: (.*)", line)
    return (_plain(match[1]), _plain(match[2])) if match else ("", _plain(line.removeprefix("- ")))


def _table(title: str, pieces: list[str]) -> Table:
    lines = [_split(line) for line in pieces.pop(0).splitlines()]
    headings, kinds = lines[0], lines[1] if len(lines) > 1 else []
    width = len(headings)
    rows = [(line + [""] * width)[:width] for line in lines[2:]]
    groups = _fill(rows)
    right = [index < len(kinds) and kinds[index].endswith(":") for index in range(width)]
    columns = [
        Column(_plain(heading), "number" if right[i] else "words" if any(len(r[i]) > _WORDY for r in rows) else "name")
        for i, heading in enumerate(headings)
    ]
    notes = best = ""
    if pieces and not re.match(r"[#|!`<*-]", pieces[0]):
        notes, _, best = f" {_plain(pieces.pop(0))}".partition(" Bold: ")
    shown = tuple(tuple(map(_cell, row)) for row in rows)
    kept = (notes.strip(),) if notes.strip() else ()
    return Table("", title, tuple(columns), shown, groups, kept, best.removesuffix("."))


def _fill(rows: list[list[str]]) -> int:
    """Write the names of a group into each of its rows again; how many columns group the rows."""
    groups = 0
    for above, row in pairwise(rows):
        for index, value in enumerate(row):
            if value:
                break
            row[index] = above[index]
            groups = max(groups, index + 1)
    return groups


def _split(line: str) -> list[str]:
    """The cells of a row; an escaped bar is part of a cell."""
    return [cell.strip() for cell in re.findall(r"((?:\\.|[^\\|])*)\|", line.strip().removeprefix("|"))]


def _cell(text: str) -> Entry:
    marked = re.fullmatch(rf"(.*) ([{_MARKS}]+)", text)
    shown, mark = marked.groups() if marked else (text, "")
    best = len(shown) > 4 and shown.startswith("**") and shown.endswith("**")
    plain = _plain(shown[2:-2] if best else shown)
    return Entry(plain, best, mark, plain if plain in _TONES else "")


def _plain(text: str) -> str:
    """Without Markdown's escapes."""
    return re.sub(r"\\([\\`*_\[\]<>|&~$])", r"\1", text)
