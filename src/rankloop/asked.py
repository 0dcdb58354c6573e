"""What a simulation is asked for, checked, and what becomes of its result: the same wherever it is run."""

from collections.abc import Iterable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.bare import Bare, taken_as
from rankloop.data.collection import Collection
from rankloop.errors import SettingsError
from rankloop.evaluation import Measured
from rankloop.learners import Learner, require_learner, to_settings
from rankloop.loop import Record
from rankloop.metrics.averaging import NothingRelevant
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import Metric, is_page_ndcg, named, with_ndcg
from rankloop.rankers import Linear
from rankloop.runs.run import Run
from rankloop.settings import require_choice, require_flag, require_seed, require_whole_number
from rankloop.users import User, require_user
from rankloop.users import to_settings as user_settings

PAGE_SIZE = 10


def evaluation_points(impressions: int, every: int) -> list[int]:
    """After how many impressions the offline curve is measured: at 0, every so many, and at the end; 0: never.

    >>> evaluation_points(250, 100)
    [0, 100, 200, 250]
    """
    return sorted({*range(0, impressions, every), impressions}) if every else []


class Asked(NamedTuple):
    """A simulation that can be run: everything checked, and the person as the collection needs it.

    `settings` has what a run's own settings say besides learner, user, data and weights.
    """

    learner: Any
    user: Any
    data: Collection
    weights: ArrayLike | None
    chosen: tuple[Metric, ...]
    settings: dict[str, Any]

    @property
    def online(self) -> list[Metric]:
        """The metrics that pages are measured by."""
        return [one for one in self.chosen if one.is_seen_on_pages]

    @property
    def points(self) -> list[int]:
        """After how many impressions the offline curve is measured."""
        return evaluation_points(self.settings["impressions"], self.settings["evaluate_every"])

    def measures(self) -> Measures:
        """The metrics of pages, on the training split."""
        rows = self.data.train.arrays
        return Measures.of(self.online, rows.grades, rows.offsets, self.data.grades - 1)


def asked_for(
    learner: Any,
    user: Any,
    data: Any,
    impressions: int,
    seed: int,
    *,
    evaluate_every: int = 1000,
    page_size: int = PAGE_SIZE,
    metrics: str | Iterable[str] = "ndcg",
    by_query: str = "end",
    weights: ArrayLike | None = None,
    delay: int = 0,
    late_scores: str = "current",
    gradient_variance: bool = False,
    nothing_relevant: str = "skip",
) -> Asked:
    """What `simulate` is asked for, wherever it is run; refuses what cannot be."""
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
    return Asked(learner, user, data, weights, chosen, settings)


class OnDevice(NamedTuple):
    """Rankers on a split as a device has measured them: the means of all, and the values by query that are kept."""

    mean_values: NDArray[np.float64]
    kept: Measured

    def means(self, _nothing_relevant: NothingRelevant = "skip") -> NDArray[np.float64]:
        """(metrics, rankers), by the convention that they were asked for."""
        return self.mean_values

    def last(self) -> Measured:
        """The last ranker alone."""
        return self.kept.last()

    def by_query(self, nothing_relevant: NothingRelevant = "skip") -> NDArray[np.float32]:
        """(rankers, metrics, queries) in single precision; NaN for what the mean leaves out."""
        return self.kept.by_query(nothing_relevant)


class Learned(NamedTuple):
    """What running a simulation gave: weights at the end and at every point, what was written down, the rankers of
    every point on the test split (None: there are no points), and where it was run."""

    weights: NDArray[np.float64]
    checkpoints: NDArray[np.float64]
    record: Record
    found: "Measured | OnDevice | None"
    manifest: dict[str, Any]


def finished(asked: Asked, learned: Learned, seconds: dict[str, float]) -> Run:
    """The run, from what was asked for and what was learned."""
    learner, user, data, weights, chosen, settings = asked
    record, online = learned.record, asked.online
    offline = _Offline(asked, learned.found)
    first = next(filter(is_page_ndcg, chosen))
    return Run(
        online_curve=np.ascontiguousarray(record.values[:, online.index(first)]),
        offline_curve=offline.curve(first),
        other_online=np.delete(record.values, online.index(first), axis=1),
        other_offline=offline.others(first),
        query_ids=offline.query_ids,
        query_values=offline.query_values,
        clicks=record.clicks,
        weights=learned.weights,
        checkpoints=learned.checkpoints,
        variance_curve=record.variance,
        settings={
            "learner": learner.settings("learner") if isinstance(learner, Bare) else to_settings(learner),
            "user": user.settings("name") if isinstance(user, Bare) else user_settings(user),
            "data": {"name": data.name, "fold": data.fold, "hash": data.content_hash, "grades": data.grades},
            "weights": None if weights is None else np.asarray(weights, dtype=float).tolist(),
        }
        | {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()},
        manifest=learned.manifest,
        seconds=seconds,
    )


class _Offline:
    """The weights at each evaluation point, on the test split."""

    def __init__(self, asked: Asked, found: "Measured | OnDevice | None") -> None:
        chosen, settings = asked.chosen, asked.settings
        self._points, self._chosen = asked.points, chosen
        if found is None:
            self._means = np.zeros((len(chosen), 0))
            self.query_ids, self.query_values = np.zeros(0, np.int64), np.zeros((0, len(chosen), 0), np.float32)
            return
        shape = (len(chosen), len(self._points))
        self._means = np.broadcast_to(found.means(settings["nothing_relevant"]), shape)
        kept = {"end": 1, "all": len(self._points), "none": 0}[settings["by_query"]]
        looked_at = found if settings["by_query"] == "all" else found.last()
        values = looked_at.by_query(settings["nothing_relevant"])
        self.query_ids = asked.data.test.query_ids
        self.query_values = np.broadcast_to(values, (kept, *values.shape[1:])) if kept else values[:0]

    def curve(self, one: Metric) -> NDArray[np.float64]:
        """(points, 2), impression and mean of a metric."""
        return np.column_stack([self._points, self._means[self._chosen.index(one)]])

    def others(self, first: Metric) -> NDArray[np.float64]:
        """(points, metrics), the mean of each metric but the first."""
        return np.delete(self._means, self._chosen.index(first), axis=0).T.copy()


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
