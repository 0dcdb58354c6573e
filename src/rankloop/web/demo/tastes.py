"""What a simulated visitor secretly likes: the true grade, 0 to 4, of a document for a query.

    grade = round(4 · match · appeal)

`match` says how well the document answers the query and is the same for everybody: what does not match is worth
nothing to any taste. `appeal` is the taste: a weighted mean of what can be liked about a document.
"""

import msgspec

from rankloop.errors import SettingsError
from rankloop.settings import require_choice
from rankloop.web.demo.documents import Document, Kind
from rankloop.web.demo.words import terms, word_set

HIGHEST_GRADE = 4

_IN_NAME, _IN_SUMMARY, _ELSEWHERE = 1.0, 0.9, 0.6  # how much of a term is answered, by where it stands
_BARELY = 0.5  # a match below this is none
_SHORT, _LONG = 4, 10  # letters of a name
_DEEP = 2  # dots
_HALF, _MUCH = 400, 1600  # letters of documentation; n / (n + half) grows ever more slowly


class Taste(msgspec.Struct, frozen=True):
    """A small description of what somebody prefers.

    Attributes:
        name: how it is called.
        sentence: what a page says about it.
        kinds: appeal in [0, 1] of each kind of document; one that is not named has none.
        by_kind, by_brevity, by_shallowness, by_documentation, by_name: weights of what can be liked: the kind, a short
            name, few dots, a long documentation, a name that says what was asked for.
    """

    name: str
    sentence: str
    kinds: dict[Kind, float] = {}
    by_kind: float = 0.0
    by_brevity: float = 0.0
    by_shallowness: float = 0.0
    by_documentation: float = 0.0
    by_name: float = 0.0

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise SettingsError(f"taste {self.name!r}: weights must be at least 0, and one above; got {self.weights}")

    @property
    def weights(self) -> tuple[float, float, float, float, float]:
        """What the kind, brevity, shallowness, documentation and the name count."""
        return self.by_kind, self.by_brevity, self.by_shallowness, self.by_documentation, self.by_name

    def grade(self, query: str, document: Document) -> int:
        """The true grade of a document for a query, 0 (of no use) to 4 (just right)."""
        wanted = terms(query)
        return round(HIGHEST_GRADE * match(wanted, document) * self.appeal(wanted, document))

    def appeal(self, wanted: tuple[str, ...], document: Document) -> float:
        """How much this taste likes a document that answers these terms, in [0, 1]."""
        letters = len(document.text)
        liked = (
            self.kinds.get(document.kind, 0.0),
            _between(_LONG, _SHORT, len(document.name)),
            _between(_DEEP, 0, document.depth),
            _between(0, _MUCH / (_MUCH + _HALF), letters / (letters + _HALF)),
            len(word_set(document.name) & set(wanted)) / max(len(wanted), 1),
        )
        return sum(w * value for w, value in zip(self.weights, liked, strict=True)) / sum(self.weights)


def match(wanted: tuple[str, ...], document: Document) -> float:
    """How well a document answers a query, whatever one likes: 0, or from one half to 1.

    The mean over the query's terms: in the name it counts 1, in the first sentence 0.9, elsewhere 0.6.
    """
    name, summary = word_set(document.name), word_set(document.summary)
    elsewhere = word_set(document.text) | word_set(document.signature) | word_set(document.id)
    answered = [
        _IN_NAME if term in name else _IN_SUMMARY if term in summary else _ELSEWHERE if term in elsewhere else 0.0
        for term in wanted
    ]
    share = sum(answered) / max(len(answered), 1)
    return share if share >= _BARELY else 0.0


def _between(worst: float, best: float, value: float) -> float:
    """Where a value lies on the way from worst (0) to best (1)."""
    return min(max((value - worst) / (best - worst), 0.0), 1.0)


TASTES: dict[str, Taste] = {
    taste.name: taste
    for taste in (
        Taste(
            "callers",
            "They want something to call: functions first, then methods; modules and classes do not help.",
            kinds={"function": 1.0, "method": 0.5, "property": 0.2},
            by_kind=1.0,
        ),
        Taste(
            "explorers",
            "They want the big picture: modules and classes first, single functions last.",
            kinds={"module": 1.0, "class": 0.7, "function": 0.1},
            by_kind=1.0,
        ),
        Taste(
            "typists",
            "They hate typing: four letters are fine, ten are too many.",
            by_brevity=1.0,
        ),
        Taste(
            "skimmers",
            "They stay near the surface: one dot at most, nothing nested deeper.",
            by_shallowness=1.0,
        ),
        Taste(
            "readers",
            "They like explanations: the more documentation the better; none is worthless.",
            by_documentation=1.0,
        ),
        Taste(
            "literalists",
            "They mean what they type: it must be in the name; the text does not matter.",
            by_name=1.0,
        ),
    )
}
"""The tastes to choose from, by name."""


def taste_of(name: str) -> Taste:
    """The taste of this name.

    >>> taste_of("readers").by_documentation
    1.0
    """
    return TASTES[require_choice("demo", "taste", name, TASTES)]
