"""Simulated people at a running service: what `rankloop.simulate` does in one process, over HTTP and our own client.

Queries and clicks are the simulation's very draws, and the service draws its pages as the simulation does. So a new
model that is given the same seed, and that learns from every page before the next is shown, ends with the same bits.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.asked import PAGE_SIZE, evaluation_points
from rankloop.client import Client, RefusedError, ServiceError
from rankloop.client.conversation import Report
from rankloop.data.collection import Collection, Split
from rankloop.errors import SettingsError
from rankloop.evaluation import evaluate
from rankloop.learners import Learner, from_settings, require_click_learner, require_learner, to_settings
from rankloop.live.incoming import INCOMING, sent, with_incoming
from rankloop.live.scaling import Scaler, Scaling
from rankloop.loop import Record, draw_query, note_impression
from rankloop.metrics.formulas import Measures
from rankloop.metrics.names import Metric, metric
from rankloop.runs.run import Run, this_machine
from rankloop.settings import require_seed, require_whole_number
from rankloop.users import User
from rankloop.users import to_settings as user_settings
from rankloop.users.contract import click_page

HOPELESS = 3
"""So many closings in a row that were not learned from: the learner is down, and waiting for it makes no sense."""

Progress = Callable[[int, float, float], None]
"""Called after each page with how many there were, the mean nDCG of the pages so far and the newest offline nDCG."""


@dataclass(frozen=True)
class Traffic:
    """What came of it.

    Attributes:
        run: curves, clicks and weights, as `rankloop.simulate` gives them.
        pages: how many pages were `learned`, `control`, `guarded` and `fallback`.
        undelivered: reports of clicks that the service would not take.
    """

    run: Run
    pages: dict[str, int]
    undelivered: int


def ensure_model(
    client: Client,
    name: str,
    data: Collection,
    learner: Learner | None = None,
    *,
    seed: int,
    page_size: int | None = None,
    control: float | None = None,
) -> tuple[dict[str, Any], bool]:
    """The model as the service describes it, and whether it was made here, with the settings of a simulation.

    A model that is there is taken as it is, and refused if it is not what was asked for. `control`: the share of people
    who see the incoming order, so that the gain is measured; nobody, if it is not given.
    """
    if learner is not None:
        require_learner("traffic", learner)
        require_click_learner("traffic", learner)
    try:
        described = client.model(name)
    except RefusedError as error:
        if error.code != "no_such_model":
            raise
        return _made(client, name, data, learner, seed, page_size, control or 0.0), True
    if (features := len(sent(described["features"]))) != data.features:
        raise SettingsError(
            f"traffic: model {name!r} is sent {features} features and {data.name} has {data.features}; "
            f"choose the name of a new model"
        )
    there = {
        "learner": from_settings(described["learner"]),
        "page_size": described["page_size"],
        "control": described["settings"]["guards"]["control"],
    }
    for setting, wanted in {"learner": learner, "page_size": page_size, "control": control}.items():
        if wanted is not None and there[setting] != wanted:
            raise SettingsError(
                f"traffic: model {name!r} already exists, with {setting} {there[setting]!r} and not {wanted!r}; "
                f"leave that out, or choose the name of a new model"
            )
    return described, False


def _made(
    client: Client,
    name: str,
    data: Collection,
    learner: Learner | None,
    seed: int,
    page_size: int | None,
    control: float,
) -> dict[str, Any]:
    """A model without guards, but for a control group if one was asked for, which begins where a simulation does:
    collections are scaled when they are imported."""
    settings: dict[str, Any] = {} if learner is None else {"learner": to_settings(learner)}
    return client.create_model(
        name,
        list(data.feature_names),
        seed=require_seed("traffic", seed),
        page_size=page_size or PAGE_SIZE,
        start="zeros",
        scaling="none",
        late_updates="current",
        guards={"control": control, "client_pages": 0, "one_sided": 0.0, "stale_below": 0.0},
        **settings,
    )


def play(
    client: Client,
    model: str,
    user: User,
    data: Collection,
    impressions: int,
    seed: int,
    *,
    evaluate_every: int = 1000,
    batch: int = 1,
    visitors: int = 0,
    progress: Progress = lambda done, online, offline: None,
) -> Traffic:
    """Let simulated people search, click and be learned from.

    Args:
        client: a connection to the service; its key needs the scopes rank, click and admin.
        model: its name; it must be there (`ensure_model`).
        user: who clicks, such as `rl.users.noisy()`.
        data: queries are drawn from `data.train`; the offline curve is measured on `data.test`, with weights that
            are downloaded from the service.
        impressions: how many pages are shown.
        seed: of queries and clicks. The pages follow from the model's own seed.
        evaluate_every: impressions between two points of the offline curve; 0 for none.
        batch: so many pages are shown before their clicks are reported and learned from; 1 is the simulation.
        visitors: how many different people there are, in turn; 0: nobody says who they are.
        progress: called after each page.
    """
    settings: dict[str, Any] = {
        "impressions": require_whole_number("traffic", "impressions", impressions, at_least=1),
        "seed": require_seed("traffic", seed),
        "evaluate_every": require_whole_number("traffic", "evaluate_every", evaluate_every),
        "batch": require_whole_number("traffic", "batch", batch, at_least=1),
        "visitors": require_whole_number("traffic", "visitors", visitors),
    }
    data = user.seen_on(data)
    user = user.on(data)
    described = client.model(model)
    ndcg = metric("ndcg", described["page_size"])
    curve = _Curve(client, described, data.test, evaluate_every, ndcg)
    people = user.compiled(described["page_size"], data.train)
    street = _Street(client, model, people, data, seed, visitors, impressions, ndcg)
    began, done = time.perf_counter(), 0
    for stop in sorted({*evaluation_points(impressions, evaluate_every), impressions}):
        while done < stop:
            first, done = done, min(done + batch, stop)
            street.visit(first, done, lambda at: progress(at, street.online(at), curve.newest))
        curve.measure(stop)
    client.flush()
    settings |= {
        "model": model,
        "learner": described["learner"],
        "page_size": described["page_size"],
        "metrics": [ndcg.name],
        "user": user_settings(user),
        "data": {"name": data.name, "fold": data.fold, "hash": data.content_hash, "grades": data.grades},
    }
    run = Run(
        online_curve=street.record.values[:, 0],
        offline_curve=np.array(curve.points).reshape(-1, 2),
        clicks=street.record.clicks,
        weights=np.array(client.model(model)["weights"]),
        checkpoints=np.array(curve.checkpoints).reshape(-1, len(described["weights"])),
        variance_curve=street.record.variance,
        settings=settings,
        manifest=this_machine() | {"data": data.content_hash},
        seconds={"learning": time.perf_counter() - began - curve.seconds, "evaluation": curve.seconds},
    )
    return Traffic(run, dict(street.pages), client.kept)


class _Curve:
    """nDCG on the test split of the weights that the service has at the moment; nothing if it is never measured."""

    def __init__(self, client: Client, described: dict[str, Any], test: Split, every: int, ndcg: Metric) -> None:
        self._client = client
        self._model = described["name"]
        self._test = _as_scored(described, test) if every else None
        self._ndcg = ndcg
        self._ranker = from_settings(described["learner"]).scoring_ranker
        self.points: list[tuple[int, float]] = []
        self.checkpoints: list[list[float]] = []
        self.seconds = 0.0

    @property
    def newest(self) -> float:
        """The last value; NaN before the first."""
        return self.points[-1][1] if self.points else float("nan")

    def measure(self, impression: int) -> None:
        """Add the point of so many impressions."""
        if self._test is None:
            return
        began = time.perf_counter()
        self.checkpoints.append(self._client.model(self._model)["weights"])
        measured = evaluate(self.checkpoints[-1], self._test, ranker=self._ranker, metric=self._ndcg)
        self.points.append((impression, float(measured)))
        self.seconds += time.perf_counter() - began


class _Street:
    """People who come along, one after the other."""

    def __init__(
        self,
        client: Client,
        model: str,
        people: Any,
        data: Collection,
        seed: int,
        visitors: int,
        impressions: int,
        ndcg: Metric,
    ) -> None:
        self._client = client
        self._model = model
        self._people = people
        self._data = data
        self._seed = np.uint64(seed)
        self._visitors = visitors
        self._measures = Measures.of([ndcg], data.train.arrays.grades, data.train.arrays.offsets)
        self._in_vain = 0
        self.pages: Counter[str] = Counter()
        self.record = Record(np.zeros((impressions, 1)), np.zeros(impressions, np.int64), np.zeros(0))

    def online(self, done: int) -> float:
        """Mean nDCG of the pages so far."""
        return float(self.record.values[:done].mean())

    def visit(self, first: int, last: int, shown: Callable[[int], None]) -> None:
        """Pages `first` … `last` − 1 are shown and clicked; then all are reported, and learned from."""
        reports = []
        for impression in range(first, last):
            report = self._search(impression)
            if report[0] is not None:
                reports.append(report)
            shown(impression + 1)
        if reports:
            self._report(reports, last)

    def _search(self, i: int) -> Report:
        """One page is shown: its impression id, and what was clicked on it."""
        rows = self._data.train.arrays
        q = int(draw_query(self._seed, i, self._data.train.queries))
        begin, end = rows.offsets[q], rows.offsets[q + 1]
        number = rows.query_ids[q]
        places = {f"{number}-{place + 1}": place for place in range(end - begin)}
        who = f"visitor-{i % self._visitors + 1}" if self._visitors else None
        page = self._client.rank(
            self._model, list(places), rows.features[begin:end], query=f"{self._data.name} {number}", client=who
        )
        if page.version < 0:
            raise ServiceError(f"traffic: impression {i:,} got no answer; {page.reason}")
        documents = np.array([places[name] for name in page.ranking])
        grades, clicks = rows.grades[begin + documents].astype(np.int64), np.zeros(len(documents))
        click_page(self._people, grades, documents, begin, q, self._seed, i, clicks)
        note_impression(self.record, i, grades, clicks, self._measures, q)
        self.pages[page.group] += 1
        return page.impression, [name for name, clicked in zip(page.ranking, clicks, strict=True) if clicked]

    def _report(self, reports: list[Report], done: int) -> None:
        """All are closed in order, so when the last has been learned from, all have."""
        self._client.click_many(reports[:-1], close=True)
        impression, clicks = reports[-1]
        self._client.click(impression, clicks)
        learned = self._client.close(impression, wait=True)
        self._in_vain = 0 if learned is not None else self._in_vain + 1
        if self._in_vain >= HOPELESS:
            raise ServiceError(
                f"traffic: what was clicked up to impression {done:,} is not being learned from; "
                f"GET /readyz says whether the store or the learner is down"
            )


def _as_scored(described: dict[str, Any], split: Split) -> Split:
    """The split with its features as the model sees them."""
    scaling: Scaling = msgspec.convert(described["settings"]["scaling"], Scaling)
    names = described["features"]
    if scaling == "none" and INCOMING not in names:
        return split
    if scaling in ("running", "robust"):
        raise SettingsError(
            f"traffic: model {described['name']!r} scales features by what it has seen of them, with which the test "
            f"split cannot be measured; play without the offline curve (evaluate_every 0)"
        )
    scaler = Scaler(scaling, len(names))
    blocks: list[NDArray[np.float32]] = [
        scaler.apply(with_incoming(split.features[begin:end], names))
        for begin, end in zip(split.offsets, split.offsets[1:], strict=False)
    ]
    return Split(np.concatenate(blocks), split.arrays.offsets, split.arrays.grades, split.arrays.query_ids)
