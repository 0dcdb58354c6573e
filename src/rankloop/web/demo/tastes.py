"""What a simulated visitor secretly likes: the true grade, 0 to 4, of a document for a query.

    grade = round(4 · match · appeal)

`match` says how well the document answers the query and is the same for everybody: what does not match is worth
nothing to any taste. `appeal` is the taste: what somebody likes about a document.
"""

from collections.abc import Callable
from typing import NamedTuple

from rankloop.settings import require_choice
from rankloop.web.demo.documents import Document, Kind
from rankloop.web.demo.features import coverage
from rankloop.web.demo.words import terms, word_set

HIGHEST_GRADE = 4

_IN_NAME, _IN_SUMMARY, _ELSEWHERE = 1.0, 0.9, 0.6  # how much of a term is answered, by where it stands
_BARELY = 0.5  # a match below this is none
_SHORT, _LONG = 4, 10  # letters of a name
_DEEP = 2  # dots
_HALF, _MUCH = 400, 1600  # letters of documentation; n / (n + half) grows ever more slowly

Appeal = Callable[[Document, tuple[str, ...]], float]
"""How much somebody likes a document that answers these terms, in [0, 1]."""


class Taste(NamedTuple):
    """What somebody prefers, and what a page says about it, in a few words and in a sentence."""

    name: str
    wants: str
    sentence: str
    appeal: Appeal

    def grade(self, query: str, document: Document) -> int:
        """The true grade of a document for a query, 0 (of no use) to 4 (just right)."""
        wanted = terms(query)
        return round(HIGHEST_GRADE * match(wanted, document) * self.appeal(document, wanted))


def match(wanted: tuple[str, ...], document: Document) -> float:
    """How well a document answers a query, whatever one likes: 0, or from one half to 1.

    The mean over the query's terms: in the name it counts 1, in the first sentence 0.9, elsewhere 0.6.
    """
    name, summary = word_set(document.name), word_set(document.summary)
    elsewhere = [word_set(text) for text in (document.text, document.signature, document.id)]
    answered = [
        _IN_NAME if term in name
        else _IN_SUMMARY if term in summary
        else _ELSEWHERE if any(term in place for place in elsewhere)
        else 0.0
        for term in wanted
    ]  # fmt: skip
    share = sum(answered) / max(len(answered), 1)
    return share if share >= _BARELY else 0.0


def _by_kind(kinds: dict[Kind, float]) -> Appeal:
    return lambda document, _: kinds.get(document.kind, 0.0)


def _between(worst: float, best: float, value: float) -> float:
    """Where a value lies on the way from worst (0) to best (1)."""
    return min(max((value - worst) / (best - worst), 0.0), 1.0)


TASTES: dict[str, Taste] = {
    taste.name: taste
    for taste in (
        Taste(
            "callers",
            "functions to call",
            "Functions first, then methods; modules and classes do not help them.",
            _by_kind({"function": 1.0, "method": 0.5, "property": 0.2}),
        ),
        Taste(
            "explorers",
            "modules and classes",
            "Modules and classes first, single functions last.",
            _by_kind({"module": 1.0, "class": 0.7, "function": 0.1}),
        ),
        Taste(
            "typists",
            "short names",
            "They hate typing: four letters are fine, ten are too many.",
            lambda document, _: _between(_LONG, _SHORT, len(document.name)),
        ),
        Taste(
            "skimmers",
            "names with few dots",
            "One dot in a name at most, nothing nested deeper.",
            lambda document, _: _between(_DEEP, 0, document.depth),
        ),
        Taste(
            "readers",
            "long explanations",
            "The more documentation the better; none is worthless.",
            lambda document, _: _between(0, _MUCH / (_MUCH + _HALF), len(document.text) / (len(document.text) + _HALF)),
        ),
        Taste(
            "literalists",
            "exactly what they typed",
            "It must be in the name; the text does not matter.",
            lambda document, wanted: coverage(document.name, wanted),
        ),
    )
}
"""The tastes to choose from, by name."""


def taste_of(name: str) -> Taste:
    """The taste of this name."""
    return TASTES[require_choice("demo", "taste", name, TASTES)]
