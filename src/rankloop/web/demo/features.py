"""What a ranker may know of a candidate: one float32 row per document, every value in [0, 1] by a fixed rule.

Nothing is scaled by the data at hand, so a weight means the same for every query and from one day to the next, and a
model needs no scaling of its own. A length or a score that has no upper bound is bent into [0, 1):
x / (x + half), where `half` is the value that becomes one half.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from rankloop.web.demo.documents import Document
from rankloop.web.demo.sources import is_special
from rankloop.web.demo.words import word_set

FEATURES: dict[str, str] = {
    "engine_rank": "1 / rank in the engine's order",
    "engine_score": "BM25 over all fields, s / (s + 10)",
    "bm25_name": "BM25 of the name, s / (s + 5)",
    "bm25_module": "BM25 of the module, s / (s + 5)",
    "bm25_signature": "BM25 of the signature, s / (s + 5)",
    "bm25_doc": "BM25 of the documentation, s / (s + 5)",
    "name_exact": "1 if the query is its name, short or in full",
    "name_prefix": "1 if its name begins with the query",
    "name_coverage": "share of the query's terms in its name",
    "module_match": "share of the query's terms in what precedes its name",
    "summary_coverage": "share of the query's terms in its first sentence",
    "is_module": "1 for a module",
    "is_class": "1 for a class",
    "is_function": "1 for a function",
    "is_method": "1 for a method",
    "is_property": "1 for a property",
    "depth": "dots in its full name, at most 3, / 3",
    "name_length": "characters in its name, at most 20, / 20",
    "doc_length": "characters of documentation, n / (n + 400)",
    "documented": "1 if it has any documentation",
    "example": "1 if its documentation shows an example",
    "special": "1 for names such as __init__",
    "builtin": "1 if it can be used without an import",
}
"""The features in order, each with its rule, which the functions below follow."""

LABELS: dict[str, str] = {
    "engine_rank": "the engine’s favourite",
    "engine_score": "matches well overall",
    "bm25_name": "rare words in its name",
    "bm25_module": "rare words in its module",
    "bm25_signature": "rare words in its signature",
    "bm25_doc": "rare words in its text",
    "name_exact": "named exactly as typed",
    "name_prefix": "name starts with the query",
    "name_coverage": "all words in its name",
    "module_match": "all words in its module",
    "summary_coverage": "all words in its first sentence",
    "is_module": "a module",
    "is_class": "a class",
    "is_function": "a function",
    "is_method": "a method",
    "is_property": "a property",
    "depth": "deeply nested",
    "name_length": "a long name",
    "doc_length": "a long explanation",
    "documented": "any explanation",
    "example": "an example",
    "special": "a name like __init__",
    "builtin": "needs no import",
}
"""What a page calls them."""

RESULTS: dict[str, str] = {
    "engine_rank": "that the engine favours",
    "engine_score": "that match well overall",
    "name_exact": "named exactly as typed",
    "name_prefix": "whose name starts with the query",
    "is_module": "that are modules",
    "is_class": "that are classes",
    "is_function": "that are functions",
    "is_method": "that are methods",
    "is_property": "that are properties",
    "depth": "that are deeply nested",
    "builtin": "that need no import",
}
"""The results that have much of a feature, where it is not what they come with."""


def results_with(label: str) -> str:
    """The results that have what a page calls so.

    >>> results_with("a long explanation"), results_with("needs no import"), results_with("all words in its name")
    ('with a long explanation', 'that need no import', 'with all words in their name')
    """
    name = next(name for name, known in LABELS.items() if known == label)
    words = label.replace(" its ", " their ")
    return RESULTS.get(name, f"with {words}")


def feature_matrix(
    query: str, terms: Collection[str], found: Sequence[tuple[Document, Sequence[float]]]
) -> NDArray[np.float32]:
    """(candidates, features) for documents in the engine's order, each with its total and per-field scores."""
    typed = "".join(query.split()).casefold()
    rows = [
        [1.0 / rank, *_scores(scores), *_matches(document, typed, terms), *_traits(document)]
        for rank, (document, scores) in enumerate(found, 1)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(FEATURES))


def coverage(text: str, terms: Collection[str]) -> float:
    """The share of a query's terms among the words of a text; 0 where there are no terms.

    >>> coverage("Read all lines of a file.", ("read", "csv", "file", "line"))
    0.75
    """
    found = word_set(text)
    return sum(term in found for term in terms) / max(len(terms), 1)


def _scores(scores: Sequence[float]) -> list[float]:
    total, *fields = (max(score, 0.0) for score in scores)
    return [total / (total + 10.0), *(field / (field + 5.0) for field in fields)]


def _matches(document: Document, typed: str, terms: Collection[str]) -> list[float]:
    name, id = document.name.casefold(), document.id.casefold()
    return [
        float(typed in (name, id)),
        float(bool(typed) and (name.startswith(typed) or id.startswith(typed))),
        coverage(document.name, terms),
        coverage(document.id.removesuffix(document.name) or document.module, terms),
        coverage(document.summary, terms),
    ]


def _traits(document: Document) -> list[float]:
    return [
        *(float(document.kind == kind) for kind in ("module", "class", "function", "method", "property")),
        min(document.depth, 3) / 3,
        min(len(document.name), 20) / 20,
        len(document.text) / (len(document.text) + 400.0),
        float(bool(document.text)),
        float(">>>" in document.text),
        float(is_special(document.name)),
        float(document.module == "builtins" and document.kind != "module"),
    ]
