"""What the demo searches: one document per public thing of the standard library."""

import re
from typing import Literal

import msgspec

Kind = Literal["module", "class", "function", "method", "property"]

_LONGEST_SUMMARY = 240
_LONGEST_SIGNATURE = 240
# A sentence ends at a stop that is followed by a capital, so that "e.g. this" and "os.path" do not end one.
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^a-z\s])|[.!?:]$")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_CALL = re.compile(r"[\w.]+\(.*")


class Document(msgspec.Struct, frozen=True):
    """One module, class, function, method or property.

    Attributes:
        id: the dotted name under which it is imported; builtins go by their own name (`str.split`).
        kind: what it is.
        name: the last part of the dotted name, in full for a module.
        module: the module that offers it.
        signature: how it is called, or the name where that is not known.
        summary: the first sentence of its documentation; empty where there is none.
        text: the documentation.
        depth: how many dots the id has.
        file: the source file, relative to the library; empty for what is compiled.
        line: where it begins in that file, counted from 1; 0 for what is compiled.
    """

    id: str
    kind: Kind
    name: str
    module: str
    signature: str
    summary: str
    text: str
    depth: int
    file: str = ""
    line: int = 0


def document(id: str, kind: Kind, module: str, signature: str, text: str, file: str = "", line: int = 0) -> Document:
    """A document, with what follows from the rest filled in.

    >>> document("os.path.join", "function", "os.path", "join(a, *p)", "Join paths. More on that.").summary
    'Join paths.'
    """
    text = text.strip()
    return Document(
        id=id,
        kind=kind,
        name=id if kind == "module" else id.rpartition(".")[2],
        module=module,
        # An address differs from one start to the next; what is indexed must not.
        signature=_cut(_ADDRESS.sub("", signature), _LONGEST_SIGNATURE),
        summary=first_sentence(text),
        text=_ADDRESS.sub("", text),
        depth=id.count("."),
        file=file,
        line=line,
    )


def first_sentence(text: str) -> str:
    """The first sentence of a documentation, on one line; a leading signature is left out.

    >>> first_sentence("max(iterable) -> value\\n\\nThe largest item, e.g. the\\nlast letter.  Ties: the first.")
    'The largest item, e.g. the last letter.'
    >>> first_sentence("")
    ''
    """
    paragraphs = [" ".join(p.split()) for p in text.strip().split("\n\n")]
    prose = [p for p in paragraphs if p and not _CALL.fullmatch(p)] or paragraphs
    end = _SENTENCE_END.search(prose[0])
    return _cut(prose[0][: end.end()] if end else prose[0], _LONGEST_SUMMARY)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
