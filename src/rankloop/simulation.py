"""The loop against a simulated user: what researchers run."""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.bare import Bare, is_plain, taken_as
from rankloop.data.collection import Collection, Split
from rankloop.divergence import require_finite, scores_diverged
from rankloop.errors import SettingsError
from rankloop.evaluation import Measured, best_possible, measured
from rankloop.kernels import when_compiling
from rankloop.learners import Learner, require_learner, to_settings
from rankloop.loop import Pending, Record, run_impressions
from rankloop.metrics.averaging import NothingRelevant
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import Metric, is_page_ndcg, named, with_ndcg
from rankloop.plain import PlainLoop
from rankloop.plugins import is_outside
from rankloop.policies.plackett_luce import checked_clicks, checked_page
from rankloop.rankers import Linear
from rankloop.runs.run import Run, manifest_of
from rankloop.settings import require_choice, require_flag, require_seed, require_whole_number
from rankloop.users import User, require_user
from rankloop.users import to_settings as user_settings

PAGE_SIZE = 10
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
    settings: dict[str, Any] = {
        "impressions": impressions,
        "seed": seed,
        "evaluate_every": evaluate_every,
        "page_size": page_size,
        "by_query": by_query,
        "delay": delay,
        "late_scores": late_scores,
        "gradient_variance": gradient_variance,
        "nothing_relevant": nothing_relevant,
    }
    _require_called("learner", learner)
    _require_called("user", user)
    learner, user = taken_as(Learner, learner), taken_as(User, user)
    if not isinstance(learner, Bare):
        _require_both_verbs(learner)
        require_learner("simulate", learner)
    if not isinstance(user, Bare):
        require_user("simulate", user)
    if not isinstance(data, Collection):
        raise SettingsError(f"simulate: data must be a collection, such as rl.load('tiny'); got {data!r}")
    _check(settings)
    if gradient_variance and not learner.has_gradient_variance:
        raise SettingsError(f"{learner.name} has no policy gradient whose variance could be recorded")
    if gradient_variance and not isinstance(learner.scoring_ranker, Linear):
        raise SettingsError(
            f"{learner.name}: the variance of the gradient is recorded for linear rankers only; "
            f"got {learner.scoring_ranker!r}"
        )
    data = data if isinstance(user, Bare) else user.seen_on(data)
    user = user.on(data)
    chosen = with_ndcg(named(metrics, page_size, "simulate"), page_size)
    settings["metrics"] = [one.name for one in chosen]
    online = [one for one in chosen if one.is_seen_on_pages]
    measures = Measures.of(online, data.train.arrays.grades, data.train.arrays.offsets, data.grades - 1)
    loop = _loop(learner, user, data, weights, settings, measures)
    record = Record(
        np.zeros((impressions, len(online))),
        np.zeros(impressions, np.int64),
        np.full(impressions if gradient_variance else 0, np.nan),
    )
    points = evaluation_points(impressions, evaluate_every)
    learning, checkpoints = loop.run(impressions, points, record, progress)
    began = time.perf_counter()
    rankers, place = loop.on_test(checkpoints, data)
    offline = _Offline(learner, points, rankers, place, chosen, settings)
    first = next(filter(is_page_ndcg, chosen))
    return Run(
        online_curve=np.ascontiguousarray(record.values[:, online.index(first)]),
        offline_curve=offline.curve(first),
        other_online=np.delete(record.values, online.index(first), axis=1),
        other_offline=offline.others(first),
        query_ids=offline.query_ids,
        query_values=offline.query_values,
        clicks=record.clicks,
        weights=loop.weights,
        checkpoints=checkpoints,
        variance_curve=record.variance,
        settings={
            "learner": learner.settings("learner") if isinstance(learner, Bare) else to_settings(learner),
            "user": user.settings("name") if isinstance(user, Bare) else user_settings(user),
            "data": {"name": data.name, "fold": data.fold, "hash": data.content_hash, "grades": data.grades},
            "weights": None if weights is None else np.asarray(weights, dtype=float).tolist(),
        }
        | {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()},
        manifest=manifest_of(learner, user, data.content_hash),
        seconds={"learning": learning, "evaluation": time.perf_counter() - began},
    )


def _loop(
    learner: Any,
    user: Any,
    data: Collection,
    weights: ArrayLike | None,
    settings: dict[str, Any],
    measures: Measures,
) -> Any:
    """The compiled loop or, where the learner or the user is plain Python, the plain one."""
    page_size = settings["page_size"]
    model = learner.model(data.features, page_size, settings["seed"], weights)
    person = user.compiled(page_size, data.train)
    return (PlainLoop if is_plain(model, person) else _Loop)(learner, model, person, data, settings, measures)


class _Loop:
    """The compiled loop and the arrays it works on."""

    def __init__(
        self, learner: Learner, model: Any, person: Any, data: Collection, settings: dict[str, Any], measures: Measures
    ) -> None:
        train = data.train
        seed, page_size, delay = settings["seed"], settings["page_size"], settings["delay"]
        self._learner = learner
        self._model = model
        self._data = data
        self._work = learner.work(data.features, page_size, train.longest)
        self._user = person
        self._queries = train.arrays
        self._measures = measures
        kept_scores = train.longest if delay and settings["late_scores"] == "drawn" else 0
        self._pending = Pending.of(delay, page_size, learner.note_width(), kept_scores)
        self._seed = np.uint64(seed)
        self._told_grades = learner.learns_from == "grades"
        self._oracle = learner.ranks_by_grades

    def run(
        self, impressions: int, points: list[int], record: Record, progress: Callable[[int], None] | None
    ) -> tuple[float, NDArray[np.float64]]:
        """Run all impressions; the seconds spent in the loop, and the weights at each evaluation point."""
        checkpoints = np.zeros((len(points), self._model.ranker.weights.size))
        row_of = {point: row for row, point in enumerate(points)}
        stops = sorted({*points, *range(0, impressions, _CHUNK), impressions})
        seconds, done = 0.0, 0
        with when_compiling(_say_so):
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
            if not self._told_grades:
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
            self._told_grades, self._oracle, self._measures, part,
        )  # fmt: skip


def _say_so() -> None:
    """Tell a person who waits at a terminal why; a worker's work is announced by whoever started it."""
    if sys.stderr.isatty() and multiprocessing.parent_process() is None:
        print("rankloop: compiling this method, once (some seconds)", file=sys.stderr)


def evaluation_points(impressions: int, every: int) -> list[int]:
    """After how many impressions the offline curve is measured: at 0, every so many, and at the end; 0: never.

    >>> evaluation_points(250, 100)
    [0, 100, 200, 250]
    """
    return sorted({*range(0, impressions, every), impressions}) if every else []


class _Offline:
    """The weights at each evaluation point, on the test split."""

    def __init__(
        self,
        learner: Learner,
        points: list[int],
        checkpoints: NDArray[np.float64],
        data: Collection,
        chosen: tuple[Metric, ...],
        settings: dict[str, Any],
    ) -> None:
        self._points, self._chosen = points, chosen
        if not points:
            self._means = np.zeros((len(chosen), 0))
            self.query_ids, self.query_values = np.zeros(0, np.int64), np.zeros((0, len(chosen), 0), np.float32)
            return
        found = _measured(learner, checkpoints, data, chosen)
        shape = (len(chosen), len(points))
        self._means = np.broadcast_to(found.means(settings["nothing_relevant"]), shape)
        kept = {"end": 1, "all": len(points), "none": 0}[settings["by_query"]]
        looked_at = found if settings["by_query"] == "all" else found._replace(values=found.values[:, -1:])
        values = looked_at.by_query(settings["nothing_relevant"])
        self.query_ids = data.test.query_ids
        self.query_values = np.broadcast_to(values, (kept, *values.shape[1:])) if kept else values[:0]

    def curve(self, one: Metric) -> NDArray[np.float64]:
        """(points, 2), impression and mean of a metric."""
        return np.column_stack([self._points, self._means[self._chosen.index(one)]])

    def others(self, first: Metric) -> NDArray[np.float64]:
        """(points, metrics), the mean of each metric but the first."""
        return np.delete(self._means, self._chosen.index(first), axis=0).T.copy()


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


def _require_called(name: str, given: Any) -> None:
    """Refuse a class, or a function that makes people, where somebody forgot the parentheses."""
    makes = isinstance(given, FunctionType) and given.__module__.startswith("rankloop.users.")
    if makes or isinstance(given, type):
        shown = f"rl.users.{given.__name__}" if makes else given.__name__
        shown = f"rl.{shown}" if given.__module__.startswith("rankloop.learners.") else shown
        raise SettingsError(f"simulate: {name} is {shown} itself, which has to be called; did you mean {shown}()?")


def _require_both_verbs(given: Any) -> None:
    """Refuse an object that ranks and does not learn, or the other way round."""
    has = {verb: callable(getattr(given, verb, None)) for verb in ("rank", "learn")}
    if any(has.values()) and not isinstance(given, Learner):
        (lacks,) = (verb for verb, there in has.items() if not there)
        raise SettingsError(
            f"simulate: a learner in plain Python needs rank and learn; {type(given).__name__} has no {lacks}"
        )


def _check(settings: dict[str, Any]) -> None:
    require_whole_number("simulate", "impressions", settings["impressions"], at_least=1)
    require_seed("simulate", settings["seed"])
    require_whole_number("simulate", "evaluate_every", settings["evaluate_every"])
    require_whole_number("simulate", "page_size", settings["page_size"], at_least=1)
    require_whole_number("simulate", "delay", settings["delay"])
    require_choice("simulate", "late_scores", settings["late_scores"], ("current", "drawn"))
    require_choice("simulate", "nothing_relevant", settings["nothing_relevant"], ("skip", "zero"))
    require_choice("simulate", "by_query", settings["by_query"], ("end", "all", "none"))
    require_flag("simulate", "gradient_variance", settings["gradient_variance"])
