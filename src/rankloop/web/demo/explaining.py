"""Why a result stands where it stands, what a model has come to care for, and what one click changed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.web.bars import Bar, bar, largest
from rankloop.web.demo.comparison import PAGE_SIZE, Belief, DrawnPage
from rankloop.web.demo.documents import Document
from rankloop.web.demo.engine import Candidates
from rankloop.web.demo.features import FEATURES, LABELS
from rankloop.web.demo.snippets import Snippet, snippet

_REASONS = 5
_CHANGES = 2
_NOTHING = 1e-9  # what rounding leaves of a difference
NAMES = tuple(FEATURES)


def bars_of(weights: NDArray[np.float64], most: int = len(NAMES), also: Sequence[str] = ()) -> list[Bar]:
    """The largest weights, and those that a page also speaks of by these labels, in the features' own order, which
    never changes, so that little jumps while they do."""
    scale = float(np.abs(weights).max())
    spoken = [i for i, name in enumerate(NAMES) if LABELS[name] in also]
    chosen = {*spoken, *[i for i in largest(weights, len(NAMES)) if i not in spoken][: most - len(spoken)]}
    return [_bar(i, float(weights[i]), scale) for i in sorted(chosen)]


def _bar(feature: int, value: float, scale: float) -> Bar:
    name = NAMES[feature]
    return bar(LABELS[name], value, scale, title=f"{name}: {FEATURES[name]}", root=True)


class Reason(NamedTuple):
    """Why a result stands above or below its neighbours: its score, less the page's mean, is the sum of these, each a
    weight times what a feature has beyond the page's mean."""

    score: float
    bars: list[Bar]
    others: float


class Result(NamedTuple):
    """One line of a result page: its rank there, and where the engine has it, both from 1."""

    document: Document
    snippet: Snippet
    rank: int
    engine_place: int
    reason: Reason

    @property
    def rise(self) -> int:
        """How many places above the engine's it stands; negative where it fell."""
        return self.engine_place - self.rank


class Before(NamedTuple):
    """One line of the engine's own first page: its place there, and where the model's page has it now, if at all."""

    document: Document
    snippet: Snippet
    place: int
    now: int | None


def order_of(candidates: Candidates, weights: NDArray[np.float64]) -> list[int]:
    """Rows of the candidates, best score first: the model's order without any exploration."""
    return [int(row) for row in np.argsort(-(candidates.features @ weights), kind="stable")]


def results_of(shown: DrawnPage, belief: Belief) -> list[Result]:
    """The lines of a page, from the top, explained by these weights."""
    candidates = shown.candidates
    row_of = {id: row for row, id in enumerate(candidates.ids)}
    page = candidates.features[[row_of[id] for id in shown.ranking]].astype(np.float64)
    return [
        Result(
            candidates.documents[row], snippet(candidates.documents[row], candidates.terms), rank, row + 1,
            reason(candidates.features[row] - page.mean(axis=0), belief.weights),
        )
        for rank, row in enumerate((row_of[id] for id in shown.ranking), 1)
    ]  # fmt: skip


def before_of(shown: DrawnPage) -> list[Before]:
    """The lines of the engine's own first page, from the top."""
    now = {id: rank for rank, id in enumerate(shown.ranking, 1)}
    return [
        Before(document, snippet(document, shown.candidates.terms), place, now.get(document.id))
        for place, document in enumerate(shown.candidates.documents[:PAGE_SIZE], 1)
    ]


def is_current(shown: DrawnPage, belief: Belief) -> bool:
    """Whether a page still shows what these weights put first."""
    best = order_of(shown.candidates, belief.weights)[: len(shown.ranking)]
    return [shown.candidates.ids[row] for row in best] == shown.ranking


def reason(apart: NDArray[np.float64], weights: NDArray[np.float64]) -> Reason:
    """What each feature, as far as it differs from the page's mean, adds to a document's score: the largest by name,
    the others together. What all results have in common is no reason for any of them."""
    parts = apart.astype(np.float64) * weights
    named = [i for i in largest(parts, _REASONS) if abs(parts[i]) > _NOTHING]
    bars = [_bar(i, float(parts[i]), abs(parts[named[0]])) for i in named]
    return Reason(float(parts.sum()), bars, float(parts.sum() - parts[named].sum()))


class Lesson(NamedTuple):
    """What one click changed.

    Attributes:
        query: what had been searched for.
        document: what was clicked.
        before: where it stood in the model's own order, from 1.
        after: where it stands now.
        moved: how many of the first page stand elsewhere now.
        of: how many there are on it.
        more: what it has more of than the page's other results and now counts for more, most of all first, if it rose.
        less: what it has more of and now counts for less, if it fell.
        learned: the page was still open, so that the click counted.
        others: visitors were clicking at the same time, so that their lessons are in this, too.
    """

    query: str
    document: str
    before: int
    after: int
    moved: int
    of: int
    more: list[str]
    less: list[str]
    learned: bool
    others: bool


def lesson_of(shown: DrawnPage, document: str, before: Belief, after: Belief, *, learned: bool, others: bool) -> Lesson:
    """The difference that a click on a shown document made; `learned`: its page was still open."""
    candidates = shown.candidates
    old, new = (order_of(candidates, belief.weights) for belief in (before, after))
    row = candidates.ids.index(document)
    page = [candidates.ids.index(id) for id in shown.ranking]
    apart = candidates.features[row] - candidates.features[page].astype(np.float64).mean(axis=0)
    steps = (after.weights - before.weights) * np.maximum(apart, 0.0)  # of what it has more than its neighbours
    most = [i for i in largest(steps, len(NAMES)) if abs(steps[i]) > _NOTHING]
    rose, fell = new.index(row) < old.index(row), new.index(row) > old.index(row)
    return Lesson(
        query=candidates.query,
        document=document,
        before=old.index(row) + 1,
        after=new.index(row) + 1,
        moved=sum(one != other for one, other in zip(old[:PAGE_SIZE], new[:PAGE_SIZE], strict=True)),
        of=min(PAGE_SIZE, len(new)),
        more=[LABELS[NAMES[i]] for i in most if rose and steps[i] > 0 and after.weights[i] > 0][:_CHANGES],
        less=[LABELS[NAMES[i]] for i in most if fell and steps[i] < 0][:_CHANGES],
        learned=learned and after.version > before.version,
        others=others,
    )
