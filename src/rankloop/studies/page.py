"""A report's blocks as one self-contained HTML page, or as Markdown with pictures beside it.

The HTML of a block is in `templates/blocks.html`, which the study viewer shows, too.
"""

import base64
import hashlib
import re
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from rankloop import __version__
from rankloop.errors import DataError
from rankloop.studies import formats
from rankloop.studies.blocks import Block, Code, Definitions, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.formats import escape_markdown

_UNKNOWN_SIZE = (1000, 500)


class PagePart(NamedTuple):
    """A block; `kind` is its class in lower case, `number` that of a table among the report's tables, from 1."""

    kind: str
    block: Block
    number: int = 0


class Section(NamedTuple):
    """A heading and what stands under it."""

    anchor: str
    title: str
    parts: list[PagePart]


class Image(NamedTuple):
    """A picture for a page: its address or data, and its size in pixels, which keeps its place before it is loaded."""

    src: str
    width: int
    height: int
    format: str = "SVG"


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("rankloop.studies"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def html(title: str, blocks: Sequence[Block], folder: Path) -> str:
    """The page. Its policy lets it load nothing at all: the style is named by its hash, pictures are data."""
    assets = resources.files("rankloop.studies") / "assets"
    style = "".join((assets / name).read_text(encoding="utf-8") for name in ("report.css", "blocks.css"))
    images = {
        block.name: _image(folder / f"figures/{block.name}.svg") for block in blocks if isinstance(block, Picture)
    }
    question = next((one.text for one in blocks if isinstance(one, Paragraph) and one.kind == "question"), "")
    return _templates().get_template("report.html").render(
        title=title, question=question, sections=sections_of(blocks), images=images, style=style,
        policy=policy_for([style]), version=__version__,
    )  # fmt: skip


def policy_for(styles: Iterable[str]) -> str:
    """A Content-Security-Policy that allows a page these styles, by their hashes, pictures it carries, and no more."""
    hashes = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
    return f"default-src 'none'; img-src data:; style-src {allowed}; base-uri 'none'; form-action 'none'"


def sections_of(blocks: Iterable[Block]) -> list[Section]:
    """What stands under the headings of a report, without its title and question.

    Two sections may have the same title, so their anchors are numbered.
    """
    sections: list[Section] = []
    tables = 0
    for block in blocks:
        if isinstance(block, Heading):
            if block.level > 1:
                slug = re.sub(r"[^a-z0-9]+", "-", block.text.lower()).strip("-")
                sections.append(Section(f"{len(sections) + 1}-{slug}".rstrip("-"), block.text, []))
        elif not (isinstance(block, Paragraph) and block.kind == "question"):
            tables += isinstance(block, Tabulated)
            if not sections:
                sections.append(Section("1-report", "Report", []))
            sections[-1].parts.append(PagePart(type(block).__name__.lower(), block, tables))
    return sections


def size_of(picture: bytes) -> tuple[int, int]:
    """The width and height of an SVG or PNG picture, in pixels."""
    if picture[12:16] == b"IHDR" and len(picture) >= 24:
        width, height = struct.unpack(">II", picture[16:24])
        return width, height
    box = re.search(rb'<svg[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"', picture[:4_000])
    # A point is 4/3 pixels.
    return (round(float(box[1]) * 4 / 3), round(float(box[2]) * 4 / 3)) if box else _UNKNOWN_SIZE


def _image(path: Path) -> Image:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the figure {path}: {error.strerror}") from None
    return Image(f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}", *size_of(content))


def markdown(blocks: Sequence[Block]) -> str:
    """The same as Markdown; pictures are `figures/*.png`."""
    return "\n\n".join(_markdown_block(block).rstrip("\n") for block in blocks) + "\n"


def _markdown_block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escape_markdown(text)}"
        case Paragraph(text, _):
            return escape_markdown(text)
        case Definitions(pairs):
            return "\n".join(f"- **{escape_markdown(name)}**: {escape_markdown(value)}" for name, value in pairs)
        case Picture(name, title, caption):
            title = escape_markdown(title)
            return f"![{title}](figures/{name}.png)\n\n**{title}.** {escape_markdown(caption)}"
        case Tabulated(table, folded):
            return _markdown_folded(folded, formats.markdown(table)) if folded else formats.markdown(table)
        case Code(text):
            return f"```sh\n{text}\n```"
        case Folded(title, text):
            fence = "`" * (1 + max(2, *(len(run) for run in re.findall("`+", text) or [""])))
            return _markdown_folded(title, f"{fence}json\n{text}\n{fence}")


def _markdown_folded(title: str, shown: str) -> str:
    return f"<details><summary>{escape(title)}</summary>\n\n{shown}\n\n</details>"
