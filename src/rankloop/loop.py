"""One impression, compiled: score, show, click, learn. Simulation and live ranker share these steps.

    data ─▶ ranker ─▶ policy ─▶ page ─▶ user ─▶ clicks ─▶ reward ─▶ learner ─▶ ranker

What differs between learners and between users is chosen by type when the loop is compiled
(`rankloop.kernels.implements`); the loop itself is written once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop import learners  # noqa: F401  (registers every learner's compiled functions)
from rankloop.kernels import inlined_kernel, kernel
from rankloop.kernels.borrowing import borrowed
from rankloop.kernels.draws import QUERIES, below, stream_key
from rankloop.learners.contract import believe, learn, show
from rankloop.metrics.formulas import measure
from rankloop.rankers.contract import score
from rankloop.users.contract import Shown, click


class Pending(NamedTuple):
    """Pages that were shown and are still to be learned from: a ring of delay + 1 impressions."""

    query: NDArray[np.int64]
    page: NDArray[np.int64]
    grades: NDArray[np.int64]
    feedback: NDArray[np.float64]
    notes: NDArray[np.float32]
    scores: NDArray[np.float32]

    @classmethod
    def of(cls, delay: int, page_size: int, note_width: int, kept_scores: int) -> "Pending":
        """Room for `delay` impressions under way and the one being shown."""
        ring = delay + 1
        return cls(
            query=np.zeros(ring, np.int64),
            page=np.zeros((ring, page_size), np.int64),
            grades=np.zeros((ring, page_size), np.int64),
            feedback=np.zeros((ring, page_size)),
            notes=np.zeros((ring, page_size, note_width), np.float32),
            scores=np.zeros((ring, kept_scores), np.float32),
        )


class Record(NamedTuple):
    """What is written down per impression: the page by each metric, its clicks; an empty `variance` is not filled."""

    values: NDArray[np.float64]
    clicks: NDArray[np.int64]
    variance: NDArray[np.float64]


@inlined_kernel
def rank_page(model, work, X, seed, impression, page, notes):
    """Score the candidates, whom `work.base.documents` names, and fill the page."""
    score(model.ranker, X, work.base.scores)
    believe(model, work.base.documents, work.base.scores[: X.shape[0]])
    show(model, work, X, seed, impression, page, notes)


@kernel
def score_candidates(model, X, documents, scores):
    """Fill `scores` with what the model gives each candidate, and show nothing."""
    score(model.ranker, X, scores)
    believe(model, documents, scores)


@inlined_kernel
def name_documents(work, begin, end):
    """Rows of a collection are the documents of its queries."""
    for d in range(end - begin):
        work.base.documents[d] = begin + d + 1


@kernel
def learn_page(model, work, X, seed, impression, page, notes, feedback):
    """Learn from a page against the scores that the ranker gives its candidates now."""
    score(model.ranker, X, work.base.scores)
    learn(model, work, X, seed, impression, page, notes, feedback, False)


@kernel
def learn_page_as_drawn(model, work, X, scores, seed, impression, page, notes, feedback):
    """Learn from a page against the scores that drew it."""
    work.base.scores[: scores.size] = scores
    learn(model, work, X, seed, impression, page, notes, feedback, False)


@inlined_kernel
def draw_query(seed, impression, queries):
    """The query of an impression: uniform, with replacement."""
    return below(stream_key(seed, QUERIES, impression), 0, queries)


@kernel
def run_impressions(model, work, user, queries, pending, seed, first, last, told_grades, oracle, measures, record):
    """Impressions `first` … `last` − 1: rank, click, write down, and learn what is due.

    `queries` are the training split's arrays. `told_grades`: feedback is the page's true grades instead of clicks;
    `oracle`: the grades take the place of the scores. `measures` are the metrics that pages are measured by.
    """
    model, work, user, queries = borrowed(model), borrowed(work), borrowed(user), borrowed(queries)
    pending, measures, record = borrowed(pending), borrowed(measures), borrowed(record)
    ring, page_size = pending.page.shape
    delay = ring - 1
    for i in range(first, last):
        q = draw_query(seed, i, queries.ideal_dcg.size)
        begin, end = queries.offsets[q], queries.offsets[q + 1]
        X = queries.features[begin:end]
        k = min(page_size, end - begin)
        slot = i % ring
        pending.query[slot] = q
        page, notes = pending.page[slot, :k], pending.notes[slot, :k]
        grades, feedback = pending.grades[slot, :k], pending.feedback[slot, :k]
        if oracle:
            for d in range(end - begin):
                work.base.scores[d] = queries.grades[begin + d]
            show(model, work, X, seed, i, page, notes)
        else:
            name_documents(work, begin, end)
            rank_page(model, work, X, seed, i, page, notes)
        if pending.scores.shape[1] > 0:
            pending.scores[slot, : end - begin] = work.base.scores[: end - begin]
        for t in range(k):
            grades[t] = queries.grades[begin + page[t]]
        click(user, Shown(grades, page, begin, q), seed, i, feedback)
        note_impression(record, i - first, grades, feedback, measures, q)
        if told_grades:
            for t in range(k):
                feedback[t] = grades[t]
        if i >= delay:
            learn_due(model, work, queries, pending, seed, i, i - delay, i - first, record)


@inlined_kernel
def note_impression(record, row, grades, clicks, measures, query):
    """The page shown by each metric, and how many clicks it got. Where nothing is relevant, metrics count 0."""
    for column in range(record.values.shape[1]):
        record.values[row, column] = measure(measures, column, query, grades)
    clicked = 0
    for t in range(grades.size):
        clicked += clicks[t] > 0.0
    record.clicks[row] = clicked


@inlined_kernel
def learn_due(model, work, queries, pending, seed, now, due, row, record):
    """Learn from impression `due`; if others came between, against current scores or, if kept, the drawing ones."""
    slot = due % pending.query.size
    q = pending.query[slot]
    begin, end = queries.offsets[q], queries.offsets[q + 1]
    X = queries.features[begin:end]
    k = min(pending.page.shape[1], end - begin)
    if pending.scores.shape[1] > 0:
        work.base.scores[: end - begin] = pending.scores[slot, : end - begin]
    elif due < now:
        score(model.ranker, X, work.base.scores)
    if due < now:
        name_documents(work, begin, end)
    page, notes, feedback = pending.page[slot, :k], pending.notes[slot, :k], pending.feedback[slot, :k]
    measure = record.variance.size > 0
    variance = learn(model, work, X, seed, due, page, notes, feedback, measure)
    if measure:
        record.variance[row] = variance
