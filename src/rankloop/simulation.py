"""The loop against a simulated user: what researchers run."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.asked import PAGE_SIZE, Asked, Learned, asked_for, finished
from rankloop.bare import is_plain
from rankloop.data.collection import Collection, Split
from rankloop.display.progress import say_why_it_waits
from rankloop.divergence import require_finite, scores_diverged
from rankloop.errors import SettingsError
from rankloop.evaluation import Measured, best_possible, measured
from rankloop.kernels import when_compiling
from rankloop.learners import Learner
from rankloop.loop import Pending, Record, run_impressions
from rankloop.metrics.averaging import NothingRelevant
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import Metric
from rankloop.plain import PlainLoop
from rankloop.plugins import is_outside
from rankloop.policies.plackett_luce import checked_clicks, checked_page
from rankloop.runs.run import Run, manifest_of
from rankloop.users import User

_LOOKED_AT = 20  # impressions of somebody's own compiled code that are looked at one by one
_CHUNK = 20_000  # impressions between two looks at the clock when nothing is evaluated


def simulate(
    learner: Learner | Any,
    user: User | Any,
    data: Collection,
    impressions: int,
    seed: int,
    *,
    evaluate_every: int = 1000,
    page_size: int = PAGE_SIZE,
    metrics: str | Iterable[str] = "ndcg",
    by_query: Literal["end", "all", "none"] = "end",
    weights: ArrayLike | None = None,
    delay: int = 0,
    late_scores: Literal["current", "drawn"] = "current",
    gradient_variance: bool = False,
    nothing_relevant: NothingRelevant = "skip",
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Let a learner rank for a simulated user and learn from the clicks.

    Args:
        learner: settings of a method, such as `rl.ROLTR()`; or any object with `rank` and `learn`, which runs in plain
            Python (`rankloop.plain` says what they are given). A copy of it learns.
        user: who clicks, such as `rl.users.noisy()`; a named one takes the table for the collection's grades. Or a
            function such as `lambda grades, draws: draws.uniforms(len(grades)) < 0.2 * grades`, in plain Python.
        data: queries are drawn from `data.train`, the learning curve is measured on `data.test`.
        impressions: how many pages are shown.
        seed: every draw is a function of it; same seed, same bits.
        evaluate_every: impressions between two points of the offline curve, which also has one at 0 and one at the end;
            0 for none.
        page_size: M, how many documents a page shows.
        metrics: what rankings are measured by, such as `["ndcg", "err", "map"]`; a name without a cut-off (`ndcg@5`)
            ends where the page ends. nDCG is always measured. Pages are measured by all metrics that have a cut-off.
        by_query: whether each test query's values are kept at the `end`, at `all` points of the curve, or not at all.
        weights: start from these instead of the learner's own initial weights.
        delay: updates arrive this many impressions late, as they do in a live service. What has not arrived
            when the simulation ends is not learned from.
        late_scores: whether a late update is computed against the `current` scores or those that had `drawn` the page.
        gradient_variance: record the variance of the policy gradient over ranks (ROLTR and MDPRank).
        nothing_relevant: leave test queries with no relevant candidate out of the mean (`skip`), or count them 0
            (`zero`).
        progress: called with the number of impressions done, now and then.

    >>> import rankloop as rl
    >>> data = rl.load("tiny")
    >>> run = rl.simulate(rl.ROLTR(), rl.users.perfect(), data, impressions=2000, seed=1)
    >>> bool(run.offline_ndcg > run.offline_curve[0, 1])
    True
    """
    asked = asked_for(
        learner,
        user,
        data,
        impressions,
        seed,
        evaluate_every=evaluate_every,
        page_size=page_size,
        metrics=metrics,
        by_query=by_query,
        weights=weights,
        delay=delay,
        late_scores=late_scores,
        gradient_variance=gradient_variance,
        nothing_relevant=nothing_relevant,
    )
    loop = _loop(asked)
    record = Record(
        np.zeros((impressions, len(asked.online))),
        np.zeros(impressions, np.int64),
        np.full(impressions if gradient_variance else 0, np.nan),
    )
    learning, checkpoints = loop.run(impressions, asked.points, record, progress)
    began = time.perf_counter()
    rankers, place = loop.on_test(checkpoints, asked.data)
    found = _measured(asked.learner, rankers, place, asked.chosen) if asked.points else None
    manifest = manifest_of(asked.learner, asked.user, asked.data.content_hash)
    learned = Learned(loop.weights, checkpoints, record, found, manifest)
    return finished(asked, learned, {"learning": learning, "evaluation": time.perf_counter() - began})


def _loop(asked: Asked) -> Any:
    """The compiled loop or, where the learner or the user is plain Python, the plain one."""
    learner, data, settings = asked.learner, asked.data, asked.settings
    page_size = settings["page_size"]
    model = learner.model(data.features, page_size, settings["seed"], asked.weights)
    person = asked.user.compiled(page_size, data.train)
    kind = PlainLoop if is_plain(model, person) else _Loop
    return kind(learner, model, person, data, settings, asked.measures())


class _Loop:
    """The compiled loop and the arrays it works on."""

    def __init__(
        self, learner: Learner, model: Any, person: Any, data: Collection, settings: dict[str, Any], measures: Measures
    ) -> None:
        train = data.train
        seed, page_size, delay = settings["seed"], settings["page_size"], settings["delay"]
        self._learner = learner
        self._model = learner.with_room(model, len(train.grades))
        self._data = data
        self._work = learner.work(data.features, page_size, train.longest)
        self._user = person
        self._queries = train.arrays
        self._measures = measures
        kept_scores = train.longest if delay and settings["late_scores"] == "drawn" else 0
        self._pending = Pending.of(delay, page_size, learner.note_width(), kept_scores)
        self._seed = np.uint64(seed)
        self._learns_from_grades = learner.learns_from == "grades"
        self._oracle = learner.ranks_by_grades

    def run(
        self, impressions: int, points: list[int], record: Record, progress: Callable[[int], None] | None
    ) -> tuple[float, NDArray[np.float64]]:
        """Run all impressions; the seconds spent in the loop, and the weights at each evaluation point."""
        checkpoints = np.zeros((len(points), self._model.ranker.weights.size))
        row_of = {point: row for row, point in enumerate(points)}
        stops = sorted({*points, *range(0, impressions, _CHUNK), impressions})
        seconds, done = 0.0, 0
        with when_compiling(lambda: say_why_it_waits("compiling this method, once (some seconds)")):
            self._advance(0, 0, record)  # compiles, or loads the compiled loop, outside the timing
        if is_outside(type(self._model)) or is_outside(type(self._user)):
            stops = sorted({*stops, *range(1, min(_LOOKED_AT, impressions))})
        for stop in stops:
            began = time.perf_counter()
            self._advance(done, stop, record)
            seconds += time.perf_counter() - began
            done = stop
            if 0 < stop < _LOOKED_AT:
                self._require_possible(stop - 1)
            self._require_finite(stop, *([self._data.test] if stop in row_of else []))
            if stop in row_of:
                checkpoints[row_of[stop]] = self._model.ranker.weights
            if progress is not None:
                progress(done)
        return seconds, checkpoints

    def _require_possible(self, impression: int) -> None:
        """Refuse a page or clicks that cannot be: compiled code of somebody's own may write anything there."""
        slot = impression % len(self._pending.query)
        begin, end = self._queries.offsets[self._pending.query[slot] :][:2]
        ranks = min(self._pending.page.shape[1], int(end - begin))
        try:
            checked_page(self._pending.page[slot, :ranks], int(end - begin))
        except SettingsError as error:
            raise SettingsError(f"`show` of {self._learner.name}, impression {impression}: {error}") from None
        try:
            if not self._learns_from_grades:
                checked_clicks(self._pending.feedback[slot, :ranks], ranks)
        except SettingsError as error:
            kind = type(self._user).__name__
            raise SettingsError(f"`click` for {kind}, impression {impression}: {error}") from None

    def _require_finite(self, stop: int, *measured_on: Split) -> None:
        if not np.isfinite(self._work.base.scores).all():
            raise scores_diverged(self._learner, stop)
        require_finite(self._learner, self._model, stop, self._data.train, *measured_on)

    @property
    def weights(self) -> NDArray[np.float64]:
        """After the last impression."""
        return np.array(self._model.ranker.weights)

    def on_test(self, checkpoints: NDArray[np.float64], data: Collection) -> tuple[NDArray[np.float64], Collection]:
        """What is measured, and on what."""
        return checkpoints, data

    def _advance(self, first: int, last: int, record: Record) -> None:
        part = Record(record.values[first:last], record.clicks[first:last], record.variance[first:last])
        run_impressions(
            self._model, self._work, self._user, self._queries, self._pending, self._seed, first, last,
            self._learns_from_grades, self._oracle, self._measures, part,
        )  # fmt: skip


def _measured(
    learner: Learner, checkpoints: NDArray[np.float64], data: Collection, chosen: tuple[Metric, ...]
) -> Measured:
    """Each checkpoint, or the one ranking that a learner which does not learn always has."""
    highest = data.grades - 1
    if learner.ranks_by_grades:
        return best_possible(data.test, chosen, highest)
    if learner.learns_from == "nothing":
        return measured(checkpoints[:1], data.test, chosen, highest_grade=highest)
    return measured(checkpoints, data.test, chosen, ranker=learner.scoring_ranker, highest_grade=highest)
