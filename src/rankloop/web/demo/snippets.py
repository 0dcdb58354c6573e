"""The passage of a documentation that shows why it was found: plain text, and which stretches of it to mark."""

import re
from collections.abc import Collection
from typing import NamedTuple

from rankloop.web.demo.documents import Document
from rankloop.web.demo.words import words

LENGTH = 200
_LOOKED_AT = 4000  # letters of a documentation; a whole module's would take milliseconds


_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:`~?([^`]+)`")
_QUOTED = re.compile(r"(`{1,2})([^`]+)\1")


class Snippet(NamedTuple):
    """`text` and the (start, end) of what to mark in it: in order, apart from each other, never empty."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(document: Document, terms: Collection[str], length: int = LENGTH) -> Snippet:
    """The first sentence if it has a term or nothing else does; otherwise the surroundings of the first term.

    >>> from rankloop.web.demo.documents import document
    >>> snippet(document("m.f", "function", "m", "f()", "Open it. The file must be there."), {"file"})
    Snippet(text='Open it. The file must be there.', marks=((13, 17),))
    """
    summary = unquoted(document.summary)
    if marked(summary, terms):
        return Snippet(summary, marked(summary, terms))
    text = unquoted(" ".join(document.text[:_LOOKED_AT].split()))
    marks = marked(text, terms)
    if not marks:
        return Snippet(summary, ())
    begin = max(0, min(marks[0][0] - length // 4, len(text) - length))
    begin = text.find(" ", begin) + 1 if begin else 0
    end = min(len(text), begin + length)
    if end < len(text) and (stop := text.rfind(" ", begin, end)) > marks[0][1]:
        end = stop
    before, after = "… " if begin else "", " …" if end < len(text) else ""
    passage = f"{before}{text[begin:end]}{after}"
    return Snippet(passage, marked(passage, terms))


def unquoted(text: str) -> str:
    """A text without the marks that its writers set around code.

    >>> unquoted("Deserialize ``s`` (a `str`), see :func:`json.load`; a lone ` stays")
    'Deserialize s (a str), see json.load; a lone ` stays'
    """
    return _QUOTED.sub(r"\2", _ROLE.sub(r"\1", text))


def marked(text: str, terms: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Where the terms stand in a text; stretches that overlap are one.

    >>> marked("os.path and paths", {"path", "os.path"})
    ((0, 7), (12, 17))
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted((w.start, w.end) for w in words(text) if w.word in terms):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
