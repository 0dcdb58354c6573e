"""What a linear model believes, why a result stands where it stands, and what one click changed: numbers and bars."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.web.bars import Bar, bar, largest
from rankloop.web.demo.comparison import PAGE_SIZE, Belief, Shown
from rankloop.web.demo.documents import Document
from rankloop.web.demo.engine import Candidates
from rankloop.web.demo.features import FEATURES
from rankloop.web.demo.snippets import Snippet, snippet

_REASONS = 6
_CHANGES = 6
NAMES = tuple(FEATURES)


def bars_of(weights: NDArray[np.float64]) -> list[Bar]:
    """The weights in the features' own order, which never changes, so that nothing jumps while they do."""
    scale = float(np.abs(weights).max())
    return [_bar(name, w, scale) for name, w in zip(NAMES, weights, strict=True)]


def _bar(feature: str, value: float, scale: float) -> Bar:
    return bar(feature, value, scale, title=FEATURES[feature], root=True)


class Reason(NamedTuple):
    """Why a result stands where it stands: its score is the sum of these, each a weight times a feature."""

    score: float
    bars: list[Bar]
    others: float


class Result(NamedTuple):
    """One line of a result page.

    `place` is where the model's own order has the document (from 1), `engine_place` where the engine has it; the page
    is drawn at random with better odds for better scores, so it may show the document elsewhere.
    """

    document: Document
    snippet: Snippet
    rank: int
    place: int
    engine_place: int
    reason: Reason


def order_of(candidates: Candidates, weights: NDArray[np.float64]) -> list[int]:
    """Rows of the candidates, best score first: the model's order without any exploration."""
    return [int(row) for row in np.argsort(-(candidates.features @ weights), kind="stable")]


def results_of(shown: Shown, belief: Belief) -> list[Result]:
    """The lines of a page, from the top, explained by these weights."""
    candidates = shown.candidates
    place = {row: number for number, row in enumerate(order_of(candidates, belief.weights), 1)}
    row_of = {id: row for row, id in enumerate(candidates.ids)}
    return [
        Result(
            candidates.documents[row], snippet(candidates.documents[row], candidates.terms), rank, place[row], row + 1,
            reason(candidates.features[row], belief.weights),
        )
        for rank, row in enumerate((row_of[id] for id in shown.ranking), 1)
    ]  # fmt: skip


def reason(features: NDArray[np.float32], weights: NDArray[np.float64]) -> Reason:
    """What each feature adds to a document's score: the largest by name, the others together."""
    parts = features.astype(np.float64) * weights
    named = [i for i in largest(parts, _REASONS) if parts[i] != 0.0]
    bars = [_bar(NAMES[i], parts[i], abs(parts[named[0]])) for i in named]
    return Reason(float(parts.sum()), bars, float(parts.sum() - parts[named].sum()))


class Change(NamedTuple):
    """A weight before and after, with a bar for the difference."""

    before: float
    after: float
    bar: Bar


class Move(NamedTuple):
    """Where a document stood in the model's own order before, where it stands now, and how much its score rose
    beside those of all candidates: what moves every score alike changes no order."""

    id: str
    before: int
    after: int
    gain: float


class Lesson(NamedTuple):
    """What one click changed.

    `others` says that visitors were clicking at the same time, so that their lessons are in these numbers, too.
    """

    query: str
    document: str
    rank: int
    learned: bool
    others: bool
    changes: list[Change]
    moves: list[Move]

    @property
    def moved(self) -> int:
        """How many of them stand elsewhere now."""
        return sum(move.before != move.after for move in self.moves)


def lesson_of(shown: Shown, document: str, before: Belief, after: Belief, *, learned: bool, others: bool) -> Lesson:
    """The difference that a click on a shown document made; `learned`: its page was still open."""
    return Lesson(
        query=shown.candidates.query,
        document=document,
        rank=shown.ranking.index(document) + 1,
        learned=learned and after.version > before.version,
        others=others,
        changes=_changes(before.weights, after.weights),
        moves=_moves(shown.candidates, document, before.weights, after.weights),
    )


def _changes(before: NDArray[np.float64], after: NDArray[np.float64]) -> list[Change]:
    steps = after - before
    most = [i for i in largest(steps, _CHANGES) if steps[i] != 0.0]
    return [Change(float(before[i]), float(after[i]), _bar(NAMES[i], steps[i], abs(steps[most[0]]))) for i in most]


def _moves(candidates: Candidates, clicked: str, before: NDArray[np.float64], after: NDArray[np.float64]) -> list[Move]:
    """The first page of the model's own order, and the clicked document wherever it stands."""
    old = {row: place for place, row in enumerate(order_of(candidates, before), 1)}
    gains = candidates.features @ (after - before)
    gains -= gains.mean()
    return [
        Move(candidates.ids[row], old[row], place, float(gains[row]))
        for place, row in enumerate(order_of(candidates, after), 1)
        if place <= PAGE_SIZE or candidates.ids[row] == clicked
    ]
