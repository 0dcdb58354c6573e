"""Many runs, to look at together: as tables, as summaries with intervals, as pictures, one learner against another."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankloop.display import MISSING, counted, listed, mean_text, p_value, signed
from rankloop.display.sheets import Row, Sheet, as_frame
from rankloop.errors import SettingsError
from rankloop.metrics.names import metric
from rankloop.runs.run import Curves, Run
from rankloop.settings import flat, require_choice, varying
from rankloop.statistics import THIS, GeneraliseTo, interval, paired_comparison
from rankloop.statistics.summaries import (
    FEWEST_QUARTERS,
    Estimate,
    interquartile_mean_interval,
    probability_of_improvement_interval,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from rankloop.display.pictures import Picture

Curve = Literal["offline", "online"]
_DIGITS = {"online": 1, "offline": 4}


class Place(NamedTuple):
    """What the runs of one cell share; they differ by seed and fold."""

    collection: str
    user: str
    label: str


class Runs(Sequence[Run]):
    """Runs in the order in which they were asked for.

    Each has a `Place`: its collection, its user and the label of its learner. Where two learners or users have the same
    name, the settings in which they differ are added to it.

    >>> import rankloop as rl
    >>> runs = rl.simulate_many([rl.ROLTR(), rl.PDGD()], rl.users.noisy(), rl.load("tiny"), 200, seeds=2)
    >>> len(runs), runs.labels
    (4, ['ROLTR', 'PDGD'])
    >>> runs.select(label="PDGD", seed=2)
    Runs(1 run of PDGD with noisy on tiny)
    """

    def __init__(self, runs: Iterable[Run], places: Iterable[Place] | None = None) -> None:
        self._runs = tuple(runs)
        self.places = tuple(_places(self._runs) if places is None else places)
        if len(self.places) != len(self._runs):
            raise SettingsError(f"{len(self._runs)} runs need as many places; got {len(self.places)}")

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: Any) -> Any:
        return Runs(self._runs[index], self.places[index]) if isinstance(index, slice) else self._runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __add__(self, others: "Runs") -> "Runs":
        return Runs([*self, *others], [*self.places, *others.places])

    def __repr__(self) -> str:
        if not self._runs:
            return "Runs(none)"
        who, whom, what = (listed(self._axis(name)) for name in ("label", "user", "collection"))
        return f"Runs({counted(len(self), 'run')} of {who} with {whom} on {what})"

    def _repr_html_(self) -> str:
        from rankloop.runs.notebook import runs_html

        return runs_html(self)

    @property
    def labels(self) -> list[str]:
        """The learners, in order."""
        return self._axis("label")

    @property
    def users(self) -> list[str]:
        """The users, in order."""
        return self._axis("user")

    @property
    def collections(self) -> list[str]:
        """The collections, in order."""
        return self._axis("collection")

    def select(self, **wanted: Any) -> "Runs":
        """The runs with these values of `collection`, `user`, `label`, `seed` or `fold`."""
        for name in wanted:
            require_choice("select", "name", name, (*Place._fields, "seed", "fold"))
        kept = [
            (run, place)
            for run, place in zip(self._runs, self.places, strict=True)
            if all(_value(run, place, name) == value for name, value in wanted.items())
        ]
        return Runs([run for run, _ in kept], [place for _, place in kept])

    def to_arrow(self, rows: Literal["runs", "curves"] = "runs") -> "pa.Table":
        """An Arrow table: a row for each run, or for each run and evaluation point (`curves`).

        Columns are those of a study's `results.parquet` and `curves.parquet`, less the run's place in a study.
        """
        import pyarrow as pa

        require_choice("to_arrow", "rows", rows, ("runs", "curves"))
        make = _run_rows if rows == "runs" else _curve_rows
        made = [row for run, place in zip(self._runs, self.places, strict=True) for row in make(run, place)]
        return pa.Table.from_pylist(made)

    def to_pandas(self, rows: Literal["runs", "curves"] = "runs") -> Any:
        """The same as a pandas frame."""
        return as_frame(self.to_arrow(rows))

    @property
    def ndcg(self) -> str:
        """Which nDCG the runs have, with its cut-off where it is the same for all: `nDCG@10`."""
        return self.title(None)

    def title(self, metric: str | None) -> str:
        """A metric of the runs as people write it; without a name, their nDCG."""
        titles = {run.by(metric or run.ndcg).metric.title for run in self._runs}
        return titles.pop() if len(titles) == 1 else "nDCG"

    def summary(self, metric: str | None = None) -> Sheet:
        """For each collection, user and learner: means with t-intervals, interquartile means with bootstrap ones.

        By nDCG, unless another `metric` is named that the runs were measured by.
        """
        title = self.title(metric)
        together = sorted(dict.fromkeys(self.places), key=lambda place: self._order.index(place[:2]))
        rows = [_summary_row(place, self.select(**place._asdict()), metric) for place in together]
        columns = _heading(rows) | {
            f"online {title}": lambda row: mean_text(row["online_mean"], row["online_half_width"], 1),
            "middle half": lambda row: _middle_half(row, "online"),
            f"offline {title}": lambda row: mean_text(row["offline_mean"], row["offline_half_width"], 4),
            "middle half ": lambda row: _middle_half(row, "offline"),
            "runs": lambda row: str(row["runs"]),
        }
        if rows and all(math.isnan(row["online_mean"]) for row in rows):  # no page shows a whole ranking
            columns = {
                name: column for name, column in columns.items() if name not in (f"online {title}", "middle half")
            }
        online = f"Online: Σ 0.9995^i · {title} of the pages shown. " if f"online {title}" in columns else ""
        note = (
            f"Mean over runs ± 95 % t-interval, and the mean of their middle half. {online}"
            f"Offline: {title} on held-out queries at the end. Intervals: other seeds, the same folds."
        )
        return Sheet(rows, columns, note)

    def compare(self, a: str, b: str, *, metric: str | None = None, generalise_to: GeneraliseTo = THIS) -> Sheet:
        """Learner `a` against learner `b`, online and offline, on runs that share collection, user, fold and seed."""
        for name, label in (("a", a), ("b", b)):
            require_choice("compare", name, label, self.labels)
        rows = []
        for collection, user in self._order:
            ours, theirs = (_by_pair(self.select(collection=collection, user=user, label=one)) for one in (a, b))
            pairs = [pair for pair in ours if pair in theirs]
            if pairs:
                both = [ours[pair] for pair in pairs], [theirs[pair] for pair in pairs]
                made = [_compared(Place(collection, user, ""), m, *both, pairs, generalise_to, metric) for m in _DIGITS]
                rows += [row for row in made if not math.isnan(row["difference"])] or made
        if not rows:
            raise SettingsError(f"{a} and {b} share no collection, user, fold and seed: there is nothing to compare")
        return _comparison(rows, a, b, generalise_to)

    def plot(
        self,
        curve: Curve = "offline",
        *,
        metric: str | None = None,
        width: str | float | None = None,
        height: str | float | None = None,
    ) -> "Picture":
        """Learning curves, on held-out queries (`offline`) or of the pages shown (`online`), with 95 % t-intervals.

        With a `width` (`"8.4cm"`, or inches) it is drawn for print. `.save("figure.pdf")` writes it.
        """
        from rankloop.runs.plots import draw

        return draw(self, curve, width, height, metric)

    @property
    def _order(self) -> list[tuple[str, str]]:
        """Each collection with each of its users, as they come."""
        return list(dict.fromkeys(place[:2] for place in self.places))

    def _axis(self, name: str) -> list[str]:
        return list(dict.fromkeys(getattr(place, name) for place in self.places))


def compare_two(one: Run, other: Run) -> Sheet:
    """A run against another, whatever they share: differences, and no p-values."""
    both = Runs([one, other])
    a, b = both.labels if len(both.labels) == 2 else ["this", "other"]
    place = both.places[0]
    rows = [_compared(place, measure, [one], [other], [(None, 0)], THIS) for measure in _DIGITS]
    return _comparison(rows, a, b, THIS)


def _comparison(rows: Sequence[Row], a: str, b: str, generalise_to: GeneraliseTo) -> Sheet:
    def difference(row: Row) -> str:
        digits = _DIGITS[row["measure"]]
        known = math.isfinite(row["half_width"])
        return signed(row["difference"], digits) + (f" ± {row['half_width']:.{digits}f}" if known else "")

    columns = _heading(rows) | {
        "": lambda row: row["measure"],
        a: lambda row: f"{row['mean_a']:.{_DIGITS[row['measure']]}f}",
        b if b != a else f"{b} ": lambda row: f"{row['mean_b']:.{_DIGITS[row['measure']]}f}",
        "difference": difference,
        "p": lambda row: p_value(row["p"]),
        f"P({a} > {b})": lambda row: f"{row['probability_of_improvement']:.2f}",
        "pairs": lambda row: str(row["pairs"]),
    }
    note = (
        "Paired t-tests, two-tailed, over runs that share fold and seed; they speak of "
        f"{generalise_to.replace('-', ' ')}. "
        f"P({a} > {b}): how often a run of the one beats a run of the other."
    )
    return Sheet(rows, columns, note)


def _places(runs: Sequence[Run]) -> list[Place]:
    learners = _distinct([(run.settings["learner"]["learner"], run.settings["learner"]) for run in runs])
    users = _distinct([(_user_name(run.settings["user"]), run.settings["user"]) for run in runs])
    return [
        Place(run.settings["data"]["name"], user, learner)
        for run, user, learner in zip(runs, users, learners, strict=True)
    ]


def _user_name(settings: Mapping[str, Any]) -> str:
    return str(settings.get("name") or settings.get("user") or settings.get("kind") or "user")


def _distinct(named: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Names that tell apart what differs: `ROLTR`, or `ROLTR discount=0.5` beside `ROLTR discount=0.0`. A setting that
    one of them does not have is not spoken of."""
    by_name: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, settings in named:
        by_name.setdefault(name, {})[json.dumps(settings, sort_keys=True)] = settings
    made = []
    for name, settings in named:
        varied = varying(flat(one) for one in by_name[name].values())
        mine = flat(settings)
        made.append(" ".join([name, *(f"{key}={mine[key]}" for key in varied if mine.get(key) is not None)]))
    return made


def _value(run: Run, place: Place, name: str) -> Any:
    if name == "fold":
        return run.settings["data"]["fold"]
    return run.settings[name] if name == "seed" else getattr(place, name)


def _run_rows(run: Run, place: Place) -> Iterator[dict[str, Any]]:
    yield {
        **_identity(run, place),
        "impressions": len(run.online_curve),
        **(row := measured_row(run)),
        **under_names_of_their_own(row["others"]),
    }


def measured_row(run: Run) -> dict[str, Any]:
    """What was measured of a run, as records, studies and tables of runs call it."""
    return {
        "metric": run.ndcg.name,
        "online_ndcg": run.online_ndcg,
        "offline_ndcg": run.offline_ndcg,
        "gradient_variance": run.gradient_variance,
        "clicks_per_page": float(run.clicks.mean()),
        "offline_at": run.offline_curve[:, 0].astype(int).tolist(),
        "offline_curve": run.offline_curve[:, 1].tolist(),
        "online_curve": run.online_means.tolist(),
        "others": [by_metric(run.by(one)) for one in run.metrics if one != run.ndcg],
        "weights": run.weights.tolist(),
        "learning_seconds": run.seconds["learning"],
        "evaluation_seconds": run.seconds["evaluation"],
        "settings": json.dumps(run.settings, sort_keys=True),
        "manifest": json.dumps(run.manifest, sort_keys=True),
    }


def by_metric(curves: Curves) -> dict[str, Any]:
    """A run by one metric, as a record has it."""
    return {
        "metric": curves.metric.name,
        "online": curves.online,
        "offline": curves.offline,
        "offline_curve": curves.offline_curve[:, 1].tolist(),
        "online_curve": curves.online_means.tolist(),
    }


def under_names_of_their_own(others: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The ends of other metrics as columns: `offline_err@10`, and online where pages show enough."""
    sides = {(one["metric"], side): one[side] for one in others for side in ("online", "offline")}
    return {
        f"{side}_{name}": value
        for (name, side), value in sides.items()
        if side == "offline" or metric(name).is_seen_on_pages
    }


def _curve_rows(run: Run, place: Place) -> Iterator[dict[str, Any]]:
    curves = {}
    for one in (run.ndcg, *(one for one in run.metrics if one != run.ndcg)):
        name, measured = "ndcg" if one == run.ndcg else one.name, run.by(one)
        curves[f"offline_{name}"] = measured.offline_curve[:, 1].tolist()
        if one.is_seen_on_pages:
            curves[f"online_{name}"] = [None, *measured.online_means.tolist()]
    for point, at in enumerate(run.offline_curve[:, 0].astype(int).tolist()):
        yield {**_identity(run, place), "impression": at} | {name: curve[point] for name, curve in curves.items()}


def _identity(run: Run, place: Place) -> dict[str, Any]:
    return {
        "collection": place.collection,
        "fold": run.settings["data"]["fold"],
        "user": place.user,
        "label": place.label,
        "learner": run.settings["learner"]["learner"],
        "seed": run.settings["seed"],
    }


def _folds(runs: Iterable[Run]) -> list[Any]:
    return [run.settings["data"]["fold"] for run in runs]


def _summary_row(place: Place, runs: Runs, metric: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {**place._asdict(), "runs": len(runs)}
    for measure in _DIGITS:
        values, folds = [_measured(run, measure, metric) for run in runs], _folds(runs)
        mean, half = interval(values, folds)
        middle = interquartile_mean_interval(values, folds)
        row |= {f"{measure}_mean": mean, f"{measure}_half_width": half}
        row |= {f"{measure}_iqm{end}": value for end, value in zip(("", "_low", "_high"), middle, strict=True)}
    return row


def _middle_half(row: Row, measure: str) -> str:
    return f"{row[f'{measure}_iqm']:.{_DIGITS[measure]}f}" if row["runs"] >= FEWEST_QUARTERS else MISSING


def _measured(run: Run, measure: str, metric: str | None) -> float:
    curves = run.by(metric or run.ndcg)
    return curves.online if measure == "online" else curves.offline


def _by_pair(runs: Runs) -> dict[tuple[Any, Any], Run]:
    return {(run.settings["data"]["fold"], run.settings["seed"]): run for run in runs}


def _compared(
    place: Place,
    measure: str,
    ours: list[Run],
    theirs: list[Run],
    pairs: list[Any],
    generalise_to: GeneraliseTo,
    metric: str | None = None,
) -> dict[str, Any]:
    a, b = ([_measured(run, measure, metric) for run in some] for some in (ours, theirs))
    folds, seeds = [fold for fold, _ in pairs], [seed for _, seed in pairs]
    found = paired_comparison(a, b, folds, seeds, generalise_to=generalise_to)
    better: Estimate = probability_of_improvement_interval(a, b, folds)
    return {
        "collection": place.collection, "user": place.user, "measure": measure,
        "mean_a": float(np.mean(a)), "mean_b": float(np.mean(b)),
        "difference": found.difference.estimate, "half_width": found.difference.half_width(), "p": found.p,
        "probability_of_improvement": better.value, "probability_low": better.low, "probability_high": better.high,
        "pairs": found.pairs, "mark": found.mark,
    }  # fmt: skip


def _heading(rows: Sequence[Row]) -> dict[str, Any]:
    """Collection, user and label, as far as there are several."""
    names = [name for name in Place._fields if name in (rows[0] if rows else {})]
    shown = [name for name in names if name == "label" or len({row[name] for row in rows}) > 1]
    titles = {"collection": "collection", "user": "clicks", "label": "learner"}

    def column(name: str) -> Any:
        return lambda row: row[name]

    return {titles[name]: column(name) for name in shown}
