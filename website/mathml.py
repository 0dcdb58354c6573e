"""Formulas between dollar signs, as MathML: browsers draw it themselves, so no page has to load a typesetter.

An extension of Python-Markdown. `$…$` inside a line, `$$…$$` as a paragraph; the same text that code hosts show.
"""

import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

INLINE = r"(?<![\\$\w])\$(?=\S)([^$\n]+(?:\n[^$\n]+)?)(?<=\S)\$(?![\w$])"
BLOCK = re.compile(r"^\$\$(.+)\$\$$", re.DOTALL)


class _Inline(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802  (Python-Markdown's name)
        return self.md.htmlStash.store(convert(" ".join(m.group(1).split()))), m.start(0), m.end(0)


class _Block(BlockProcessor):
    def test(self, parent: Element, block: str) -> bool:
        return BLOCK.match(block.strip()) is not None

    def run(self, parent: Element, blocks: list[str]) -> None:
        found = BLOCK.match(blocks.pop(0).strip())
        assert found is not None
        holder = SubElement(parent, "div", {"class": "formula"})
        formula = convert(" ".join(found.group(1).split()), display="block")
        holder.text = self.parser.md.htmlStash.store(formula)


class MathML(Extension):
    """Registers both forms; inside code they are left alone, because code comes first."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Python-Markdown's name)
        """Called once, before the first page."""
        md.inlinePatterns.register(_Inline(INLINE, md), "mathml", 185)
        md.parser.blockprocessors.register(_Block(md.parser), "mathml-block", 95)


def makeExtension(**settings: Any) -> MathML:  # noqa: N802  (Python-Markdown's name)
    """What Python-Markdown calls."""
    return MathML(**settings)
