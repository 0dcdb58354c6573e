"""Examples in docstrings (`>>> …` up to the next empty line) become code blocks without being fenced in the source.

An extension of Python-Markdown. Lines that are fenced or indented already are left alone.
"""

from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor


class _Examples(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        made: list[str] = []
        fenced = example = False
        for line in lines:
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if not fenced and not example and line.startswith(">>> "):
                made += ["", "```pycon"]
                example = True
            elif example and not line.strip():
                made.append("```")
                example = False
            made.append(line)
        return [*made, "```"] if example else made


class Doctests(Extension):
    """Runs before everything that looks for fences."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Python-Markdown's name)
        """Called once, before the first page."""
        md.preprocessors.register(_Examples(md), "doctests", 100)


def makeExtension(**settings: Any) -> Doctests:  # noqa: N802  (Python-Markdown's name)
    """What Python-Markdown calls."""
    return Doctests(**settings)
