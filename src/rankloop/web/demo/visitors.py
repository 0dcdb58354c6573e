"""Simulated visitors: they draw a query, look at a page from the top, and click what their taste likes.

They are people of `rankloop.users`, so they see the top of a page more than its bottom. Every draw is a function of
(seed, number of the visit): visit 7 asks and clicks the same whoever ranked the pages before it. To compare two models
give each its own visitors and its own pages: a model that learns from pages which another drew is pushed away from
whatever that one shows, whichever its reward, and ends far below it (tests/web/demo/test_learning.py).
"""

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.collection import Collection, Split
from rankloop.errors import DataError
from rankloop.evaluation import evaluate
from rankloop.kernels.draws import below, stream_key
from rankloop.loop import draw_query
from rankloop.settings import require_seed, require_whole_number
from rankloop.users import navigational
from rankloop.web.demo.documents import Document
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.sources import is_special
from rankloop.web.demo.tastes import Taste
from rankloop.web.demo.words import COMMON, terms

VISITED, HELD_OUT = 300, 100
_FEWEST_CANDIDATES = 20  # a query with fewer says little about a ranking
_LETTERS = range(3, 25)
_DULL_WORDS = """
    according additional all also any been called class containing current each else first following function given has
    have like method module new object one only other otherwise python return returned returns same self should some
    specified string such than through true false two used value values whether without
"""
_DULL = frozenset(_DULL_WORDS.split())  # in every other first sentence
_QUERY_STREAM = 101  # a stream of its own: these draws make the list of queries, not one visit's
_QUERIES_SEED = 1


@lru_cache(maxsize=4)
def plausible_queries(engine: Engine, count: int, seed: int = _QUERIES_SEED) -> tuple[str, ...]:
    """Different queries that people might type, drawn from the library itself.

    A third are names as they are written (`OrderedDict`), a third the words of a name (`read csv`), a third two or
    three words of a first sentence. Each finds at least 20 documents. The same library and seed give the same list,
    and a longer list begins with the shorter one.
    """
    documents = [d for d in engine.documents() if d.summary and not is_special(d.name) and len(d.name) in _LETTERS]
    queries: dict[str, None] = {}
    for attempt in range(50 * count):
        if len(queries) == count:
            return tuple(queries)
        query = _query(documents, np.uint64(stream_key(np.uint64(seed), _QUERY_STREAM, attempt)))
        if query and len(engine.search(query)) >= _FEWEST_CANDIDATES:
            queries.setdefault(query)
    raise DataError(f"this library of {engine.size:,} documents does not give {count} queries; ask for fewer")


def _query(documents: Sequence[Document], key: np.uint64) -> str:
    document: Document = documents[below(key, 0, len(documents))]
    way = below(key, 1, 3)
    if way == 0:
        return document.name
    if way == 1:
        return " ".join(_in_parts(document.name))
    prose = _telling_words(document.summary)
    size = min(2 + below(key, 2, 2), len(prose))
    first = below(key, 3, len(prose) - size + 1)
    return " ".join(prose[first : first + size])


def _telling_words(sentence: str) -> list[str]:
    """The words of a sentence that somebody might type into a search box, as they are written there."""
    written = (word.strip("().,:;'\"`").lower() for word in sentence.split())
    return [w for w in written if w.isalpha() and len(w) in _LETTERS and w not in COMMON | _DULL]


def _in_parts(name: str) -> list[str]:
    """The words inside a name, without the name itself."""
    inside = [w for w in terms(name) if w != name.casefold() and "." not in w and "_" not in w]
    return inside or [name.casefold()]


class Visitors:
    """People of one taste who search with `engine`.

    Args:
        engine: what they search with.
        taste: what they secretly like.
        seed: every visit is a function of it and the visit's number.

    They look for one thing. What they ask (`queries`) and what a ranking is measured on (`held_out`) differ, and are
    drawn from the library.
    """

    def __init__(self, engine: Engine, taste: Taste, seed: int) -> None:
        self.engine = engine
        self.taste = taste
        self.seed = require_seed("visitors", seed)
        self.user = navigational()
        drawn = plausible_queries(engine, VISITED + HELD_OUT)
        self.queries, self.held_out = drawn[:VISITED], drawn[VISITED:]
        self._grade = cache(self._look_up_grade)

    def query(self, visit: int) -> str:
        """What the person of this visit asks."""
        visit = require_whole_number("visitors", "visit", visit)
        return self.queries[int(draw_query(np.uint64(self.seed), visit, len(self.queries)))]

    def clicks(self, visit: int, query: str, page: Sequence[str]) -> list[int]:
        """What the person of this visit clicks on a page of document ids: 1 or 0 for each, from the top."""
        visit = require_whole_number("visitors", "visit", visit)
        return [int(click) for click in self.user.clicks(self.grades(query, page), self.seed, visit)]

    def grades(self, query: str, page: Sequence[str]) -> list[int]:
        """The true grades of the documents on a page, from the top."""
        return [self._grade(query, id) for id in page]

    def ndcg(self, weights: ArrayLike) -> NDArray[np.float64] | float:
        """Mean nDCG@10 of linear rankers on the held-out queries: (features,) or (rankers, features) weights.

        Queries for which nothing is liked are left out. `engine_order()` gives the engine's own order.
        """
        return evaluate(weights, self.evaluation)

    @cached_property
    def collection(self) -> Collection:
        """What they ask and what a ranking is measured on, as a collection: `train` and `test`."""
        return Collection(name=f"demo-{self.taste.name}", train=self._split(self.queries), test=self.evaluation)

    @cached_property
    def evaluation(self) -> Split:
        """The held-out queries with their candidates and true grades."""
        return self._split(self.held_out)

    def _split(self, queries: Sequence[str]) -> Split:
        found = list(map(self.engine.search, queries))
        return Split.of(
            features=np.concatenate([candidates.features for candidates in found]),
            grades=[g for candidates in found for g in self.grades(candidates.query, candidates.ids)],
            queries=np.repeat(np.arange(len(found)), [len(candidates) for candidates in found]),
        )

    def _look_up_grade(self, query: str, id: str) -> int:
        document = self.engine.document(id)
        if document is None:
            raise DataError(f"the page shows {id!r}, which this library does not have")
        return self.taste.grade(query, document)
