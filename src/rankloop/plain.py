"""The loop in plain Python, for a person or a learner that nobody has compiled. Same seeds, same queries, same draws.

A person is a function that gives clicks; a learner is an object with `rank` and `learn`. Each is given by name what its
parameters ask for:

    user(grades, draws, page, X, documents, query, impression)       one click value per rank
    rank(X, draws, page_size, documents, query, impression)          indices into X, best first
    learn(X, page, clicks, grades, draws, documents, query, impression)
    scores(X)                                                        one number per row, for the learning curve

`X` are the candidates' features, `documents` their rows in the training split, `page` what is shown (indices into
X), `grades` those of the page, `query` the query's number in its source. Either side may be compiled and the other not.
"""

import inspect
import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.bare import is_learner
from rankloop.data.collection import Collection, Split
from rankloop.divergence import require_finite, scores_diverged
from rankloop.errors import DivergenceError, RankloopError, SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.draws import DIRECTIONS, POLICY, USER, fill_uniforms, stream_key, uniform
from rankloop.learners.contract import show
from rankloop.loop import Record, draw_query, learn_page, learn_page_as_drawn, note_impression, rank_page
from rankloop.metrics.formulas import Measures
from rankloop.policies.plackett_luce import checked_clicks, checked_page
from rankloop.users.contract import click_page

_EVALUATED = 1 << 40
"""Where a learner that can only rank draws for the learning curve: at impressions that no simulation comes to."""
_CLICKING = ("grades", "draws", "page", "X", "documents", "query", "impression")
_RANKING = ("X", "draws", "page_size", "documents", "query", "impression")
_LEARNING = ("X", "page", "clicks", "grades", "draws", "documents", "query", "impression")


class PlainPythonWarning(UserWarning):
    """A simulation runs in plain Python, and takes its time."""


class Draws:
    """The random numbers of one impression: a function of the seed, so whoever asks again gets the same.

    >>> draws = Draws(seed=1, stream=USER, impression=0)
    >>> bool(draws.uniform(2) == draws.uniforms(3)[2])
    True
    """

    __slots__ = ("_key",)

    def __init__(self, seed: int, stream: int, impression: int) -> None:
        self._key = np.uint64(stream_key(np.uint64(seed), stream, impression))

    def uniform(self, index: int = 0) -> float:
        """Number `index` of the impression, between 0 and 1."""
        return float(uniform(self._key, index))

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """The first `count` of them."""
        numbers = np.empty(count)
        fill_uniforms(self._key, numbers)
        return numbers

    def generator(self) -> np.random.Generator:
        """NumPy's generator, seeded by the impression: for whatever is not uniform."""
        return np.random.default_rng(int(self._key))


class Seen(NamedTuple):
    """An impression, and what came of it."""

    impression: int
    query: int
    begin: int
    end: int
    page: NDArray[np.int64]
    grades: NDArray[np.int64]
    feedback: NDArray[np.float64]
    kept: Any


def by_name(owner: str, function: Callable[..., Any], known: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the known arguments a function asks for; one that asks for others is refused.

    >>> by_name("user", lambda grades, draws: ..., _CLICKING)
    ('grades', 'draws')
    """
    asked = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in asked):
        return known
    wrong = [one.name for one in asked if one.name not in known and one.default is one.empty]
    if wrong or any(one.kind is one.POSITIONAL_ONLY for one in asked):
        raise SettingsError(f"{owner} can be given {', '.join(known)}, by name; it asks for {', '.join(wrong)}")
    return tuple(one.name for one in asked if one.name in known)


class PlainLoop:
    """What `simulate` runs where a learner, a user or both are plain Python."""

    def __init__(
        self, learner: Any, model: Any, person: Any, data: Collection, settings: dict[str, Any], measures: Measures
    ) -> None:
        if settings["gradient_variance"]:
            raise SettingsError("simulate: the variance of the gradient is recorded by the compiled loop only")
        self._data = data
        self._settings = settings
        self._clicks = _asked_to_click(person, data.train, settings)
        kind = _PlainLearner if is_learner(model) else _CompiledLearner
        self._learner = kind(learner, model, data, settings)
        self._measures = measures
        self._waiting: deque[Seen] = deque()
        self._scores: list[NDArray[np.float32]] = []
        warn_of_cost()

    def run(
        self, impressions: int, points: list[int], record: Record, progress: Callable[[int], None] | None
    ) -> tuple[float, NDArray[np.float64]]:
        """Run all impressions; the seconds spent in the loop, and the weights at each evaluation point."""
        checkpoints = []
        seconds, done = 0.0, 0
        for stop in sorted({*points, *range(0, impressions, 1000), impressions}):
            began = time.perf_counter()
            for i in range(done, stop):
                self._impression(i, record)
            seconds += time.perf_counter() - began
            done = stop
            self._learner.require_finite(stop)
            if stop in points:
                checkpoints.append(self._learner.weights())
                self._scores += self._learner.scores(stop)
            if progress is not None:
                progress(done)
        same = {row.shape for row in checkpoints}
        return seconds, np.array(checkpoints) if len(same) == 1 else np.zeros((len(points), 0))

    @property
    def weights(self) -> NDArray[np.float64]:
        """After the last impression; none if the learner does not say."""
        return self._learner.weights()

    def on_test(self, checkpoints: NDArray[np.float64], data: Collection) -> tuple[NDArray[np.float64], Collection]:
        """What is measured, and on what: for a learner in plain Python its scores at each evaluation point, which take
        the place of the test split's features."""
        if not self._scores:
            return checkpoints, data
        rows = data.test.arrays
        scored = Split(np.column_stack(self._scores), rows.offsets, rows.grades, rows.query_ids)
        return np.eye(len(self._scores)), Collection(data.name, scored, scored, highest_grade=data.grades - 1)

    def _impression(self, i: int, record: Record) -> None:
        rows = self._data.train.arrays
        q = int(draw_query(np.uint64(self._settings["seed"]), i, len(rows.query_ids)))
        begin, end = int(rows.offsets[q]), int(rows.offsets[q + 1])
        page, kept = self._learner.rank(i, q, begin, end)
        grades = rows.grades[begin + page].astype(np.int64)
        clicks = self._clicks(i, q, begin, end, page, grades)
        note_impression(record, i, grades, clicks, self._measures, q)
        self._waiting.append(Seen(i, q, begin, end, page, grades, clicks, kept))
        if len(self._waiting) > self._settings["delay"]:
            self._learner.learn(self._waiting.popleft())


class _PlainLearner:
    """An object with `rank` and `learn`."""

    def __init__(self, learner: Any, model: Any, data: Collection, settings: dict[str, Any]) -> None:
        self._settings = learner
        self._name = learner.name
        self._given = model
        self._split, self._test = data.train, data.test
        self._last = 0, 0
        self._ids = data.train.query_ids.tolist()
        self._seed, self._size = settings["seed"], settings["page_size"]
        self._ranking = by_name(f"{self._name}.rank", model.rank, _RANKING)
        self._learning = by_name(f"{self._name}.learn", model.learn, _LEARNING)

    def rank(self, i: int, q: int, begin: int, end: int) -> tuple[NDArray[np.int64], None]:
        self._last = begin, end
        with self._or_diverged(i):
            return self._page(self._split, i, self._ids[q], begin, end), None

    def _page(self, split: Split, i: int, query: int, begin: int, end: int) -> NDArray[np.int64]:
        given = {
            "X": split.features[begin:end],
            "draws": Draws(self._seed, POLICY, i),
            "page_size": self._size,
            "documents": np.arange(begin, end),
            "query": query,
            "impression": i,
        }
        ranked = self._given.rank(**{name: given[name] for name in self._ranking})
        if ranked is None:
            raise SettingsError(f"{self._name}.rank returned nothing; it must return indices into X, best first")
        page = np.asarray(ranked)
        size = min(self._size, end - begin)
        try:
            shown = checked_page(page[:size] if page.ndim == 1 else page, end - begin)
        except SettingsError as error:
            raise SettingsError(f"{self._name}.rank: {error}") from None
        if len(shown) < size:
            raise SettingsError(f"{self._name}.rank: the page must hold {size} documents; got {len(shown)}")
        return shown

    def learn(self, seen: Seen) -> None:
        given = {
            "X": self._split.features[seen.begin : seen.end],
            "page": seen.page,
            "clicks": seen.feedback,
            "grades": seen.grades,
            "draws": Draws(self._seed, DIRECTIONS, seen.impression),
            "documents": np.arange(seen.begin, seen.end),
            "query": self._ids[seen.query],
            "impression": seen.impression,
        }
        with self._or_diverged(seen.impression):
            self._given.learn(**{name: given[name] for name in self._learning})

    @contextmanager
    def _or_diverged(self, i: int) -> Iterator[None]:
        """What a learner raises is its own affair, unless it comes of its weights or scores being no numbers."""
        try:
            yield
        except RankloopError:
            raise
        except Exception as error:
            try:
                self.require_finite(i)
            except DivergenceError as diverged:
                raise diverged from error
            raise

    def weights(self) -> NDArray[np.float64]:
        """Those of a learner that has an array of numbers by this name; another may keep anything there."""
        try:
            return np.array(getattr(self._given, "weights", ()), dtype=np.float64).ravel()
        except (TypeError, ValueError):
            return np.zeros(0)

    def require_finite(self, stop: int) -> None:
        """As far as it can be seen: of a learner that only ranks, nothing can."""
        if not np.isfinite(self.weights()).all():
            raise DivergenceError(
                f"{self._name} diverged by impression {stop:,}: its weights are not finite; {self._settings.remedy}"
            )
        begin, end = self._last
        if self._can_score and end > begin:
            self._scored(self._split.features[begin:end], stop)

    @property
    def _can_score(self) -> bool:
        return callable(getattr(self._given, "scores", None))

    def scores(self, stop: int) -> list[NDArray[np.float32]]:
        """Of every test document: as the learner scores them or, if it only ranks, by their places."""
        return [self._scored(self._test.features, stop) if self._can_score else self._places(self._test)]

    def _scored(self, X: NDArray[np.float32], stop: int) -> NDArray[np.float32]:
        given = self._given.scores(X)
        try:
            with np.errstate(over="ignore"):
                scores = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            raise SettingsError(f"{self._name}.scores must give one number per row; got {given!r:.100}") from None
        if scores.shape != X.shape[:1]:
            raise SettingsError(f"{self._name}.scores must give one number per row; got shape {scores.shape}")
        if not np.isfinite(scores).all():
            if np.isfinite(given).all():
                what = f"left the range of float32; {self._settings.remedy}"
            else:
                beside = ", though its weights are not" if self.weights().size else ""
                what = f"are infinite or NaN{beside}: look at `scores`, or {self._settings.remedy}"
            raise DivergenceError(f"{self._name} diverged by impression {stop:,}: its scores {what}")
        return scores

    def _places(self, test: Split) -> NDArray[np.float32]:
        places = np.full(len(test.grades), -np.inf, np.float32)
        for q, (begin, end) in enumerate(zip(test.offsets[:-1].tolist(), test.offsets[1:].tolist(), strict=True)):
            page = self._page(test, _EVALUATED + q, int(test.query_ids[q]), begin, end)
            places[begin + page] = -np.arange(len(page), dtype=np.float32)
        places[np.isneginf(places)] = -np.float32(self._size)
        return places


class _CompiledLearner:
    """A compiled learner, impression by impression."""

    def __init__(self, learner: Any, model: Any, data: Collection, settings: dict[str, Any]) -> None:
        self._settings = learner
        self._model = learner.with_room(model, len(data.train.grades))
        self._data = data
        self._rows = data.train.arrays
        self._seed, self._size = np.uint64(settings["seed"]), settings["page_size"]
        self._work = learner.work(data.features, self._size, data.train.longest)
        self._keeps_scores = settings["delay"] > 0 and settings["late_scores"] == "drawn"

    def rank(self, i: int, q: int, begin: int, end: int) -> tuple[NDArray[np.int64], Any]:
        page = np.zeros(min(self._size, end - begin), np.int64)
        notes = np.zeros((len(page), self._settings.note_width()), np.float32)
        shown = self._model, self._work, self._rows.features[begin:end], self._seed, i, page, notes
        if self._settings.ranks_by_grades:
            self._work.base.scores[: end - begin] = self._rows.grades[begin:end]
            _show(*shown)
        else:
            self._name(begin, end)
            rank_page(*shown)
            if not np.isfinite(self._work.base.scores[: end - begin]).all():
                raise scores_diverged(self._settings, i)
        return page, (notes, self._work.base.scores[: end - begin].copy() if self._keeps_scores else None)

    def learn(self, seen: Seen) -> None:
        notes, scores = seen.kept
        sees_grades = self._settings.learns_from == "grades"
        feedback = seen.grades.astype(np.float64) if sees_grades else seen.feedback
        X = self._rows.features[seen.begin : seen.end]
        shown = self._seed, seen.impression, seen.page, notes, feedback
        self._name(seen.begin, seen.end)
        if scores is None:
            learn_page(self._model, self._work, X, *shown)
        else:
            learn_page_as_drawn(self._model, self._work, X, scores, *shown)

    def _name(self, begin: int, end: int) -> None:
        """As the compiled loop names documents."""
        self._work.base.documents[: end - begin] = np.arange(begin + 1, end + 1)

    def weights(self) -> NDArray[np.float64]:
        return np.array(self._model.ranker.weights)

    def require_finite(self, stop: int) -> None:
        require_finite(self._settings, self._model, stop, self._data.train)

    def scores(self, stop: int) -> list[NDArray[np.float32]]:
        require_finite(self._settings, self._model, stop, self._data.test)
        return []  # the weights say it all


def _asked_to_click(person: Any, split: Split, settings: dict[str, Any]) -> Callable[..., NDArray[np.float64]]:
    """(impression, query, begin, end, page, grades) → one click value per rank."""
    seed = settings["seed"]
    if not callable(person):

        def compiled(i, q, begin, _end, page, grades):
            clicks = np.zeros(len(page))
            click_page(person, grades, page, begin, q, np.uint64(seed), i, clicks)
            return clicks

        return compiled
    name = f"user {getattr(person, '__name__', type(person).__name__)}"
    asked = by_name(name, person, _CLICKING)
    ids = split.query_ids.tolist()

    def plain(i, q, begin, end, page, grades):
        given = {
            "grades": grades,
            "draws": Draws(seed, USER, i),
            "page": page,
            "X": split.features[begin:end],
            "documents": np.arange(begin, end),
            "query": ids[q],
            "impression": i,
        }
        clicks = person(**{one: given[one] for one in asked})
        if clicks is None:
            raise SettingsError(f"{name} returned nothing; it must return one click value per rank")
        try:
            return checked_clicks(clicks, len(page))
        except SettingsError as error:
            raise SettingsError(f"{name}: {error}") from None

    return plain


@kernel
def _show(model, work, X, seed, impression, page, notes):
    show(model, work, X, seed, impression, page, notes)


@cache
def warn_of_cost() -> None:
    """Tell whoever started it, once, what plain Python costs."""
    if multiprocessing.parent_process() is None:
        warnings.warn(
            "this simulation runs in plain Python: some thousands of impressions a second, where compiled learners and "
            "users reach a hundred thousand or more; docs/extending.md shows how to compile yours",
            PlainPythonWarning,
            stacklevel=5,
        )
