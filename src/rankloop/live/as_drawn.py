"""A page of the log as a learner drew it, to be learned from."""

import numpy as np
from numpy.typing import NDArray

from rankloop.data.naming import document_numbers
from rankloop.learners import Learner
from rankloop.live.events import Impression
from rankloop.online import Page


def page_as_drawn(
    impression: Impression,
    number: int,
    X: NDArray[np.float32],
    clicks: list[float],
    learner: Learner,
    drawer: Learner,
) -> tuple[Page, list[float]]:
    """The page and its clicks without what was pinned, which nobody drew.

    Args:
        impression: what was shown.
        number: its number, which names its random draws.
        X: (candidates, features), scaled.
        clicks: one value for each rank of the page.
        learner: the method that is to learn from it.
        drawer: the method that drew it.
    """
    documents = np.array(impression.page, np.int64)
    scores = impression.score_values()
    ranks = None
    if impression.pinned:
        ranks, free, documents = impression.drawn()
        X, scores = np.ascontiguousarray(X[free]), scores[free]
        clicks = [clicks[rank] for rank in ranks]
    if learner.note_width() == drawer.note_width():
        # A copy: compiled code takes writable arrays only, and bytes from the log are not.
        notes = np.frombuffer(impression.notes, np.float32).reshape(len(documents), -1).copy()
    else:
        notes = learner.notes_of(scores, documents)
    numbers = None
    if learner.remembers:
        # Only what was shown is learned from.
        numbers = np.zeros(len(X), np.int64)
        shown = [name for rank, name in enumerate(impression.shown()) if rank not in impression.pinned]
        numbers[documents] = document_numbers(impression.query, shown)
    return Page(documents, number, X, scores.copy(), notes, ranks, numbers), clicks
