"""The search engine: words in, candidates with features out, in the order of plain BM25.

It stands for whatever engine a team has: decent, and ignorant of what its own visitors like.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.settings import require_whole_number
from rankloop.web.demo.documents import Document
from rankloop.web.demo.features import FEATURES, feature_matrix
from rankloop.web.demo.index import COLUMNS, open_index
from rankloop.web.demo.words import terms

LIMIT = 50
FIELD_WEIGHTS = (3.0, 1.0, 1.0, 1.0)
"""What a word in each of the fields counts in the engine's own score: a name says more than prose."""

_DECODER = msgspec.msgpack.Decoder(Document)
_REMEMBERED = 2048  # searches; people ask the same things
_READ = 16_384  # documents; more than this Python's library has


def _bm25(weights: Sequence[float]) -> str:
    """FTS5 gives better matches lower numbers; here more is better."""
    return f"-bm25(words, {', '.join(map(str, weights))})"


_BY_FIELD = ", ".join(_bm25([float(column == field) for column in COLUMNS]) for field in COLUMNS)
_SEARCH = f"SELECT rowid, {_bm25(FIELD_WEIGHTS)} AS total, {_BY_FIELD} FROM words WHERE words MATCH ? " + (
    "ORDER BY total DESC, rowid LIMIT ?"
)


@dataclass(frozen=True)
class Candidates:
    """What the engine found for a query, in its own order.

    Attributes:
        query: what was asked.
        terms: what was looked for.
        documents: best first.
        features: (candidates, features), float32 in [0, 1], read-only; columns as in `FEATURES`.
    """

    query: str
    terms: tuple[str, ...]
    documents: tuple[Document, ...]
    features: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The documents' dotted names."""
        return tuple(document.id for document in self.documents)


class Engine:
    """A search over this Python's standard library. One engine serves any number of threads.

    Args:
        path: an index that `rankloop.web.demo.index.write_index` made; that of this Python's library, which the first
            use makes and keeps, by default.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._index = open_index(path)
        self._lock = threading.Lock()
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._search)
        self._read = lru_cache(maxsize=_READ)(self._document)
        self.size: int = self._index.execute("SELECT count(*) FROM documents").fetchone()[0]

    def search(self, query: str, limit: int = LIMIT) -> Candidates:
        """The best candidates for a query, at most `limit`; none where no word of it is known.

        Any text is a query: it is taken apart into words, and only words reach the index. Where no document has any
        of them, they count as beginnings of words.
        """
        if not isinstance(query, str):
            raise SettingsError(f"search: query must be text; got {type(query).__name__}")
        limit = require_whole_number("search", "limit", limit, at_least=1)
        with self._lock:
            return self._remembered(query, limit)

    def document(self, id: str) -> Document | None:
        """The document of this dotted name, if there is one."""
        with self._lock:
            return self._read(id)

    def documents(self) -> Iterator[Document]:
        """Everything that can be found, by id."""
        with self._lock:
            contents = self._index.execute("SELECT content FROM documents ORDER BY row").fetchall()
        return (_DECODER.decode(content) for (content,) in contents)

    def close(self) -> None:
        """Let go of the index."""
        with self._lock:
            self._index.close()

    def _document(self, id: str) -> Document | None:
        row = self._index.execute("SELECT content FROM documents WHERE id = ?", (id,)).fetchone()
        return None if row is None else _DECODER.decode(row[0])

    def _search(self, query: str, limit: int) -> Candidates:
        wanted = terms(query)
        quoted = [f'"{term}"' for term in wanted]
        rows = self._matches(quoted, limit) or self._matches([f"{term} *" for term in quoted], limit)
        contents = dict(
            self._index.execute(
                f"SELECT row, content FROM documents WHERE row IN ({', '.join('?' * len(rows))})",
                [row[0] for row in rows],
            )
        )
        scored = [(_DECODER.decode(contents[row]), scores) for row, *scores in rows]
        features = feature_matrix(query, wanted, scored)
        features.setflags(write=False)
        return Candidates(query, wanted, tuple(document for document, _ in scored), features)

    def _matches(self, expressions: list[str], limit: int) -> list[tuple[float, ...]]:
        if not expressions:
            return []
        # SQLite takes at most 32,766 values in a statement; nobody looks at that many results.
        return self._index.execute(_SEARCH, (" OR ".join(expressions), min(limit, 1000))).fetchall()


def engine_order(candidates: int = LIMIT, first: float = 0.9) -> NDArray[np.float64]:
    """(features,) weights with which a model starts from the engine's order: all on `engine_rank`, none elsewhere.

    The weight w is such that the engine's first stays first on a page with probability `first`, among so many
    candidates: 1 / Σ_k exp(w (1/k − 1)) = first.

    >>> engine_order()[:3].round(2)
    array([6.97, 0.  , 0.  ])
    """
    gaps = 1.0 / np.arange(1, candidates + 1) - 1.0
    low, high = 0.0, 1000.0
    for _ in range(60):
        w = (low + high) / 2
        low, high = (w, high) if 1.0 / np.exp(w * gaps).sum() < first else (low, w)
    weights = np.zeros(len(FEATURES))
    weights[list(FEATURES).index("engine_rank")] = high
    return weights
