"""The words of a text about programs: identifiers count whole and in their parts, plurals count as singulars.

`os.path.join` is found by itself and by `os`, `path` and `join`; `OrderedDict` by `ordereddict`, `ordered` and `dict`;
`read_csv` by `read_csv`, `read` and `csv`. Documents and queries go through the same door.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST_WORD = 64
MOST_TERMS = 8

_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_PART = re.compile(r"[^._]+")
# Camel case is a habit of ASCII identifiers; a word with other letters in it is one piece.
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WHOLE = re.compile(r".+")

# What nobody searches for, unless it is all that they type.
_COMMON_WORDS = """
    a an and are as at be but by can do for from how i if in into is it its me my not of on or so that the their then
    there these this to use using want was way what when where which who will with you your
"""
COMMON = frozenset(_COMMON_WORDS.split())
"""Words that do not count in a query, unless there are no others."""


class Word(NamedTuple):
    """One way to find a stretch of text: text[start:end] is known as `word`."""

    word: str
    start: int
    end: int


def words(text: str) -> Iterator[Word]:
    """Every word of a text, with where it stands; identifiers first whole, then in parts.

    >>> [w.word for w in words("os.path.isfile, OrderedDicts")]
    ['os.path.isfile', 'os', 'path', 'isfile', 'ordereddict', 'ordered', 'dict']
    """
    for dotted in _DOTTED.finditer(text):
        whole, begin = dotted[0], dotted.start()
        if len(whole) > LONGEST_WORD:
            continue
        if "." in whole:
            yield Word(whole.casefold(), begin, dotted.end())
        offset = 0
        for name in whole.split("."):
            for word, start, end in _identifier(name):
                yield Word(word, begin + offset + start, begin + offset + end)
            offset += len(name) + 1


@lru_cache(maxsize=65_536)
def word_set(text: str) -> frozenset[str]:
    """The different words of a text, remembered: the same names and sentences come up in search after search."""
    return frozenset(w.word for w in words(text))


@lru_cache(maxsize=65_536)
def _identifier(name: str) -> tuple[Word, ...]:
    """An identifier whole and in parts, remembered: a library has far fewer than its texts have words."""
    pieces = [
        Word(singular(piece[0].casefold()), part.start() + piece.start(), part.start() + piece.end())
        for part in _PART.finditer(name)
        for piece in (_CAMEL if part[0].isascii() else _WHOLE).finditer(part[0])
    ]
    whole = Word(singular(name.casefold()), 0, len(name))
    more = len(pieces) > 1 or (pieces and pieces[0].word != whole.word)
    return (whole, *pieces) if more else (whole,)


def singular(word: str) -> str:
    """A word without its English plural (the three rules of Harman's S stemmer, 1991).

    >>> [singular(w) for w in ("queries", "files", "class", "status", "is")]
    ['query', 'file', 'class', 'status', 'is']
    """
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


def terms(query: str) -> tuple[str, ...]:
    """What a query looks for: its different words in order, common English ones left out if others remain.

    >>> terms("how to read a CSV file"), terms("to be or not to be"), terms("🐍 'OR' --")
    (('read', 'csv', 'file'), ('to', 'be', 'or', 'not'), ('or',))
    """
    return _terms(query[:1000])


@lru_cache(maxsize=4096)
def _terms(query: str) -> tuple[str, ...]:
    every = dict.fromkeys(w.word for w in words(query))
    rare = [word for word in every if word not in COMMON]
    return tuple((rare or list(every))[:MOST_TERMS])
