"""A report's blocks as one self-contained HTML page, or as Markdown with pictures beside it."""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from rankloop import __version__
from rankloop.errors import DataError
from rankloop.studies import formats
from rankloop.studies.blocks import Block, Code, Facts, Folded, Heading, Paragraph, Picture, Tabulated
from rankloop.studies.formats import escape_html, escape_markdown


def html(title: str, blocks: Sequence[Block], folder: Path) -> str:
    """The page. Its policy lets it load nothing at all: the style is named by its hash, pictures are data."""
    style = (resources.files("rankloop.studies") / "assets" / "report.css").read_text(encoding="utf-8")
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    anchors = _anchors(blocks)
    body = [_html_block(block, anchors, folder) for block in blocks]
    body.insert(_lead(blocks), _contents(anchors))
    parts = [
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape_html(title)}</title>", f"<style>{style}</style>", "</head>", "<body>", "<main>", *body,
        "</main>", f"<footer>Made by rankloop {escape_html(__version__)}.</footer>", "</body>", "</html>", "",
    ]  # fmt: skip
    return "\n".join(parts)


def markdown(blocks: Sequence[Block]) -> str:
    """The same as Markdown; pictures are `figures/*.png`."""
    return "\n\n".join(_markdown_block(block).rstrip("\n") for block in blocks) + "\n"


def _anchors(blocks: Sequence[Block]) -> dict[Heading, str]:
    """A name for each section; two sections may have the same title, so they are numbered."""
    sections = dict.fromkeys(block for block in blocks if isinstance(block, Heading) and block.level == 2)
    return {
        section: f"{index}-{re.sub(r'[^a-z0-9]+', '-', section.text.lower()).strip('-')}"
        for index, section in enumerate(sections, start=1)
    }


def _lead(blocks: Sequence[Block]) -> int:
    """Where the title and the question end."""
    return next((i for i, one in enumerate(blocks) if isinstance(one, Heading) and one.level == 2), len(blocks))


def _contents(anchors: dict[Heading, str]) -> str:
    links = "".join(f'<li><a href="#{anchor}">{escape_html(one.text)}</a></li>' for one, anchor in anchors.items())
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def _html_block(block: Block, anchors: dict[Heading, str], folder: Path) -> str:
    match block:
        case Heading(level, text):
            name = f' id="{anchors[block]}"' if block in anchors else ""
            return f"<h{level}{name}>{escape_html(text)}</h{level}>"
        case Paragraph(text, kind):
            return f'<p class="{escape_html(kind)}">{escape_html(text)}</p>' if kind else f"<p>{escape_html(text)}</p>"
        case Facts(pairs):
            told = "\n".join(f"<dt>{escape_html(name)}</dt><dd>{escape_html(value)}</dd>" for name, value in pairs)
            return f"<dl>\n{told}\n</dl>"
        case Picture():
            return _html_picture(block, folder)
        case Tabulated(table, folded):
            return _html_folded(folded, formats.html(table)) if folded else formats.html(table)
        case Code(text):
            return f"<pre><code>{escape_html(text)}</code></pre>"
        case Folded(title, text):
            return _html_folded(title, f"<pre><code>{escape_html(text)}</code></pre>")


def _html_folded(title: str, shown: str) -> str:
    return f"<details><summary>{escape_html(title)}</summary>\n{shown}\n</details>"


def _html_picture(picture: Picture, folder: Path) -> str:
    path = folder / f"figures/{picture.name}.svg"
    try:
        data = base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise DataError(f"cannot read the figure {path}: {error.strerror}") from None
    title, caption = escape_html(picture.title), escape_html(picture.caption)
    return (
        f'<figure>\n<div class="scroll" role="region" aria-label="{title}" tabindex="0">'
        f'<img alt="{title}. {caption}" src="data:image/svg+xml;base64,{data}"></div>\n'
        f"<figcaption><strong>{title}.</strong> {caption}</figcaption>\n</figure>"
    )


def _markdown_block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escape_markdown(text)}"
        case Paragraph(text, _):
            return escape_markdown(text)
        case Facts(pairs):
            return "\n".join(f"- **{escape_markdown(name)}**: {escape_markdown(value)}" for name, value in pairs)
        case Picture(name, title, caption):
            told = f"**{escape_markdown(title)}.** {escape_markdown(caption)}"
            return f"![{escape_markdown(title)}](figures/{name}.png)\n\n{told}"
        case Tabulated(table, folded):
            return _markdown_folded(folded, formats.markdown(table)) if folded else formats.markdown(table)
        case Code(text):
            return f"```sh\n{text}\n```"
        case Folded(title, text):
            fence = "`" * (1 + max(2, *(len(run) for run in re.findall("`+", text) or [""])))
            return _markdown_folded(title, f"{fence}json\n{text}\n{fence}")


def _markdown_folded(title: str, shown: str) -> str:
    return f"<details><summary>{escape_html(title)}</summary>\n\n{shown}\n\n</details>"
