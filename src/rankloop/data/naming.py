"""What names a query's document: the same number whenever it comes back, in simulations and on any machine."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def plain(query: str) -> str:
    """The same query, however it was typed.

    >>> plain("  Oak  DESK ")
    'oak desk'
    """
    return " ".join(query.casefold().split())


def document_numbers(query: str, documents: Sequence[str]) -> NDArray[np.int64]:
    """A number for each document of a query; 0, which names none, where nobody said what was searched for. What people
    made of a document in all kinds of searches says nothing about it in one of them.

    >>> document_numbers("Oak desk", ["a", "b"]).tolist() == document_numbers("oak  desk", ["a", "b"]).tolist()
    True
    """
    numbers = np.zeros(len(documents), np.int64)
    words = plain(query)
    if not words:
        return numbers
    whole = blake2b(words.encode("utf-8", "surrogatepass") + b"\0", digest_size=8)
    for place, document in enumerate(documents):
        one = whole.copy()
        one.update(document.encode("utf-8", "surrogatepass"))
        numbers[place] = int.from_bytes(one.digest(), "little", signed=True) or 1
    return numbers
