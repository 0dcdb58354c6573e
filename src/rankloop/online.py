"""The loop with somebody else's candidates and somebody else's clicks: two verbs, `rank` and `learn`.

The same compiled steps as in the simulation, with the same draws: given the same seed, candidates and clicks, an
`OnlineRanker` ends with the same bits as `rankloop.simulate`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.data.naming import document_numbers
from rankloop.divergence import is_broken, require_finite, scores_diverged
from rankloop.errors import SettingsError
from rankloop.kernels.draws import INTERLEAVING, stream_key, uniform
from rankloop.learners import Learner, require_compiled, require_learner
from rankloop.loop import learn_page, learn_page_as_drawn, rank_page
from rankloop.policies.plackett_luce import checked_clicks, checked_grades, checked_page
from rankloop.settings import require_number, require_seed, require_whole_number

WEIGHT_DRAW = 1 << 21
"""The place in the impression's stream that decides whether a page counts that counts for less than one."""


@dataclass(slots=True, eq=False, repr=False)
class Page:
    """The documents shown, in order, with what is needed to learn from them.

    Behaves like the list of their indices: iterate over it, or index an array with it.

    Attributes:
        documents: (ranks,), indices into the candidates, best first.
        impression: the number of the impression, which names its random draws.
        candidates: (candidates, features), what was ranked.
        scores: (candidates,), the scores that drew the page.
        notes: (ranks, …), what the method must remember until the clicks arrive.
        ranks: where on the screen the documents stand (from 0), if not one below the other from the top: ranks between
            them were taken by documents that the learner did not choose.
        numbers: (candidates,), which documents of which query they are (`rankloop.data.naming`); 0 where nobody knows.
    """

    documents: NDArray[np.int64]
    impression: int
    candidates: NDArray[np.float32]
    scores: NDArray[np.float32]
    notes: NDArray[np.float32]
    ranks: NDArray[np.int64] | None = None
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[int]:
        return iter(self.documents.tolist())

    def __getitem__(self, rank: Any) -> Any:
        return self.documents[rank]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.documents, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Page({self.documents.tolist()}, impression={self.impression})"


class OnlineRanker:
    """A learner at work: it ranks, and learns from what comes back.

    Args:
        learner: settings of a method, such as `rl.ROLTR()`.
        features: how many features a candidate has.
        seed: every page is a function of it, the weights and the impression's number.
        page_size: how many documents a page shows.
        weights: start from these instead of the learner's own initial weights.

    >>> import rankloop as rl
    >>> ranker = rl.OnlineRanker(rl.ROLTR(), features=2, seed=1, page_size=2)
    >>> page = ranker.rank([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> page
    Page([0, 1], impression=0)
    >>> ranker.learn(page, clicks=[1, 0])
    >>> ranker.weights.round(4)
    array([-0.0066,  0.0066])
    """

    def __init__(
        self,
        learner: Learner,
        features: int,
        seed: int,
        *,
        page_size: int = 10,
        weights: ArrayLike | None = None,
    ) -> None:
        require_learner("OnlineRanker", learner)
        require_whole_number("OnlineRanker", "features", features, at_least=1)
        require_whole_number("OnlineRanker", "page_size", page_size, at_least=1)
        require_seed("OnlineRanker", seed)
        if learner.ranks_by_grades:
            raise SettingsError(f"{learner.name} needs the true grades; only a simulation has them")
        self.learner = learner
        self.features = features
        self.page_size = page_size
        self.seed = seed
        self.impressions = 0
        with np.errstate(over="ignore"):
            self.model = require_compiled("OnlineRanker", learner, learner.model(features, page_size, seed, weights))
        if is_broken(self.model):
            raise SettingsError("OnlineRanker: weights must be within the range of float32")
        self._key = np.uint64(seed)
        self._room = 0
        self._work: Any = None

    def __repr__(self) -> str:
        return (
            f"OnlineRanker({self.learner!r}, features={self.features}, seed={self.seed}, "
            f"impressions={self.impressions:,})"
        )

    @property
    def weights(self) -> NDArray[np.float64]:
        """A copy of the current weights."""
        return np.array(self.model.ranker.weights)

    def rank(self, X: ArrayLike, *, query: str = "", ids: Sequence[str] | None = None) -> Page:
        """The page to show for these candidates: (candidates, features).

        With `ids`, a method that remembers documents (`Posterior`) learns what each is worth beyond its features, for
        this `query`; where there is nothing like a query, any name of the list will do.
        """
        candidates = self._candidates(X)
        numbers = self._numbers(query, ids, len(candidates))
        size = min(self.page_size, len(candidates))
        documents = np.zeros(size, np.int64)
        notes = np.zeros((size, self.learner.note_width()), np.float32)
        self._name(numbers, len(candidates))
        rank_page(self.model, self._work, candidates, self._key, self.impressions, documents, notes)
        scores = self._work.base.scores[: len(candidates)].copy()
        if not np.isfinite(scores).all():
            raise scores_diverged(self.learner, self.impressions)
        page = Page(documents, self.impressions, candidates, scores, notes, numbers=numbers)
        self.impressions += 1
        return page

    def learn(
        self,
        page: Page,
        clicks: ArrayLike | None = None,
        *,
        grades: ArrayLike | None = None,
        as_drawn: bool = False,
        weight: float = 1.0,
        more: bool = False,
    ) -> None:
        """Learn from what came back for a page: one value in [0, 1] per shown document.

        Late is fine: other pages may have been ranked, and learned from, in between. The update is computed against
        the current scores, or with `as_drawn` against those that drew the page. `grades` is for methods that learn
        from the truth (MDPRank). With a `weight` below 1 the page counts for less: its gradient, and what information
        it brings, are scaled by it. `more`: the page was learned from before, and this is what has been clicked since,
        for methods that can take it in by itself (`takes_more`).
        """
        self._check_page(page)
        feedback = self._feedback(page, clicks, grades)
        require_number("learn", "weight", weight, at_least=0, at_most=1)
        if more and not self.learner.takes_more:
            raise SettingsError(f"{self.learner.name} learns from a page once; give all of its clicks together")
        self._make_room(len(page.candidates))
        if self.learner.weighing == "draw" and weight < 1.0 and self._is_left_out(page.impression, weight):
            return
        before = self.weights if self.learner.weighing == "step" and weight < 1.0 else None
        self._work.base.weight[0] = weight
        self._work.base.more[0] = more
        self._name(page.numbers, len(page.candidates))
        if page.numbers is not None:
            self.model = self.learner.with_room(self.model, self._remembered() + len(page))
        # A page whose rows stand at other ranks sees their rows of the tables per rank, which are copied back.
        by_rank = () if page.ranks is None else self.learner.by_rank
        tables = {name: table[page.ranks] for name in by_rank if (table := getattr(self.model, name)).size}
        model = self.model._replace(**tables)
        shown = self._key, page.impression, page.documents, page.notes, feedback
        if as_drawn:
            learn_page_as_drawn(model, self._work, page.candidates, page.scores, *shown)
        else:
            learn_page(model, self._work, page.candidates, *shown)
        for name, table in tables.items():
            getattr(self.model, name)[page.ranks] = table
        require_finite(self.learner, self.model, self.impressions)
        if before is not None:
            self.step_to(before + (self.weights - before) * weight)

    def step_to(self, weights: NDArray[np.float64]) -> None:
        """Rank with other weights from now on, and learn on from them."""
        self.model.ranker.weights[:] = weights
        self.model.ranker.rounded[:] = weights.astype(np.float32)

    def _numbers(self, query: str, ids: Sequence[str] | None, count: int) -> NDArray[np.int64] | None:
        if ids is None:
            return None
        _require_names(query, ids, count)
        return document_numbers(query, ids) if self.learner.remembers else None

    def _name(self, numbers: NDArray[np.int64] | None, count: int) -> None:
        """Tell the learner which documents the candidates are."""
        self._work.base.documents[:count] = 0 if numbers is None else numbers

    def _remembered(self) -> int:
        """Of how many documents something is known."""
        return int(self.model.merits.taken[0]) if self.learner.remembers else 0

    def _is_left_out(self, impression: int, weight: float) -> bool:
        """Whether a page that counts for so much is not learned from, by a draw of its own."""
        key = np.uint64(stream_key(self._key, INTERLEAVING, impression))
        return bool(uniform(key, WEIGHT_DRAW) >= weight)

    def _candidates(self, X: ArrayLike) -> NDArray[np.float32]:
        try:
            candidates = np.array(X, dtype=np.float32, order="C", ndmin=2)
        except (TypeError, ValueError):
            raise SettingsError("candidates must be a table of numbers, one row per candidate") from None
        if candidates.ndim != 2 or candidates.shape[1] != self.features or len(candidates) == 0:
            raise SettingsError(
                f"candidates must be a table with {self.features} features per row and at least one row; "
                f"got shape {np.shape(X)}"
            )
        if not np.isfinite(candidates).all():
            row, column = np.argwhere(~np.isfinite(candidates))[0]
            raise SettingsError(
                f"features must be finite; candidate {row}, feature {column} is {candidates[row, column]}"
            )
        self._make_room(len(candidates))
        return candidates

    def _make_room(self, candidates: int) -> None:
        if candidates > self._room:
            self._room = max(candidates, 2 * self._room)
            self._work = self.learner.work(self.features, self.page_size, self._room)

    def _feedback(self, page: Page, clicks: ArrayLike | None, grades: ArrayLike | None) -> NDArray[np.float64]:
        wanted, given, other = "clicks", clicks, grades
        if self.learner.learns_from == "grades":
            wanted, given, other = "grades", grades, clicks
        if given is None or other is not None:
            raise SettingsError(f"{self.learner.name} learns from {wanted}; give {wanted}=[...]")
        return (checked_clicks if wanted == "clicks" else checked_grades)(given, len(page))

    def _check_page(self, page: Page) -> None:
        """Refuse a page that another ranker drew: kernels do not look where they write."""
        if not isinstance(page, Page):
            raise SettingsError(f"learn takes a page that rank gave; got {type(page).__name__}")
        checked_page(page.documents, len(page.candidates))
        fits = (
            page.candidates.shape[1] == self.features
            and len(page) <= self.page_size
            and page.notes.shape == (len(page), self.learner.note_width())
            and page.scores.shape == (len(page.candidates),)
            and (page.numbers is None or page.numbers.shape == (len(page.candidates),))
            and (page.ranks is None or (page.ranks.shape == (len(page),) and page.ranks.max() < self.page_size))
        )
        if not fits:
            raise SettingsError("this page was drawn by a ranker with other features, page size or method")


def _require_names(query: object, ids: object, count: int) -> None:
    """Refuse what names no query, or not each of its candidates."""
    if not isinstance(query, str):
        raise SettingsError(f"query must be a text; got {query!r}")
    if not query.strip():
        raise SettingsError("ids name documents of a query; give query= as well, or any name of the list")
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
        raise SettingsError(f"ids must be a list with a text for each of the {count} candidates; got {ids!r}")
    if len(ids) != count:
        raise SettingsError(f"ids must name each of the {count} candidates; got {len(ids)}")
    seen: set[str] = set()
    for place, one in enumerate(ids):
        if not isinstance(one, str):
            raise SettingsError(f"ids must be texts; that of candidate {place} is {one!r}")
        if one in seen:
            raise SettingsError(f"ids must differ; {one!r} names two candidates")
        seen.add(one)
