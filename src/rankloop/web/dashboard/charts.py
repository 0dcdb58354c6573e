"""The charts of a model: what each shows, over what, and its data, for the eye (JSON) and for a spreadsheet (CSV)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf, isinf
from typing import Any, NamedTuple

import numpy as np

from rankloop.display.spreadsheets import csv_text
from rankloop.live.events import Event, Kind
from rankloop.live.http.recent import Answers
from rankloop.live.looks import Looks
from rankloop.live.settings import ModelSettings
from rankloop.web.bars import largest
from rankloop.web.dashboard import intervals
from rankloop.web.dashboard.intervals import Estimate, Sums
from rankloop.web.dashboard.plain_words import CLICK_THROUGH, feature_name, rate_of, unit_of
from rankloop.web.dashboard.reading import Reading
from rankloop.web.dashboard.tallied import (
    CONTROL,
    GUARDED,
    LEARNED,
    STEPS,
    Ranks,
    displacement,
    pages,
    reward,
    reward_of,
)
from rankloop.web.dashboard.trail import Known, points

BEYOND = 1e9
LINES = 5
"""Features whose weights are drawn over time: as many as there are distinguishable colours."""
REACH = 1.6
"""Of the newest interval: what was wider in the beginning is cut off."""
WIDE = 5.0
"""A band is drawn to where its upper end is so many times its lower one."""
PAGES = "as if every page were a different person’s: too narrow where a few people come often"
"""Of bands made from tallies, which are per group and time; who came is known to the guard's comparison alone."""
MARKED: dict[int, str] = {
    Kind.PAUSED: "paused", Kind.FROZEN: "frozen", Kind.RESUMED: "resumed", Kind.ROLLED_BACK: "rolled back",
    Kind.EXPERIMENT_STARTED: "experiment",
}  # fmt: skip
GROUPS = ((LEARNED, "learned", 1), (CONTROL, "control", 3), (GUARDED, "guarded", 2))


class Source(NamedTuple):
    """What a chart is made from."""

    settings: ModelSettings
    reading: Reading
    answers: Mapping[int, Answers]
    """Minute → answers of this process to rank requests."""
    all_answers: Mapping[int, Answers]


class Line(NamedTuple):
    """One line of a chart, perhaps with a band around it."""

    label: str
    values: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    line: int = 1
    dash: bool = False


class Mark(NamedTuple):
    """A moment that is marked."""

    x: float
    label: str


class Plot(NamedTuple):
    """A chart's data. `x` is seconds since 1970 where `time` is true."""

    x: Sequence[float]
    x_label: str
    y_label: str
    series: list[Line]
    unit: str = ""
    time: bool = False
    points: bool = False
    y_range: tuple[float, float] | None = None
    zero: bool = False
    """Whether the line of no difference is drawn."""
    join: bool = True
    """Whether lines go on behind a gap."""
    marks: Sequence[Mark] = ()
    counts: bool = False
    """Whether values are whole numbers, so that nothing lies between two of them."""

    def document(self) -> dict[str, Any]:
        """As charts.js draws it."""
        series = [{name: value for name, value in line._asdict().items() if value is not None} for line in self.series]
        for line in series:
            if "high" in line:  # a band without an end goes beyond every chart
                line["high"] = [BEYOND if value == inf else value for value in line["high"]]
        marks = [mark._asdict() for mark in self.marks]
        return self._asdict() | {"series": series, "whole": not self.time, "marks": marks}

    def table(self) -> str:
        """As CSV, with a heading that says what each column is."""
        header = ["time (UTC)" if self.time else self.x_label]
        columns: list[Sequence[float | None]] = []
        for line in self.series:
            unit = f" ({self.unit})" if self.unit else ""
            header.append(f"{line.label}: {self.y_label}{unit}")
            columns.append(line.values)
            if line.low and line.high:
                header += [f"{line.label}: 95 % low{unit}", f"{line.label}: 95 % high{unit}"]
                columns += [line.low, line.high]
        rows = ([_moment(x) if self.time else x, *(column[i] for column in columns)] for i, x in enumerate(self.x))
        return csv_text(header, rows)


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


class Chart(NamedTuple):
    """A chart's place on the page."""

    name: str
    title: str
    caption: str
    """What it shows, and how it is computed; {during}, {reward}, {clicks} and {rate} are filled in, as in the title."""
    plot: Callable[[Source], Plot]
    empty: str = "No data yet. Closed pages will appear here."
    of_network: str = ""
    """What is said instead where the model's ranker is a network, if that makes a difference."""


def learning(source: Source) -> Plot:
    """Clicks per page over time."""
    return _over_time(source, f"{unit_of(source.settings)} per page", lambda ranks: intervals.mean(pages(ranks)))


def rewards(source: Source) -> Plot:
    """Estimated reward over time."""
    worth = reward_of(source.settings)
    if worth is None:
        return Plot([], "time", "reward per page", [], time=True)
    return _over_time(source, "reward per page", lambda ranks: reward(ranks, worth))


def exploration(source: Source) -> Plot:
    """Displacement over time, and what was expected of it when the model was made."""
    plot = _over_time(source, "distance", lambda ranks: Estimate(displacement(ranks)))
    learned = plot.series[:1] if plot.series and plot.series[0].label == "learned" else []
    promised = source.reading.start.displacement if source.reading.start else None
    if learned and promised is not None:
        learned.append(Line("expected at the start", [promised] * len(plot.x), line=3, dash=True))
    return plot._replace(series=learned, x=plot.x if learned else [], unit="ranks")


def _over_time(source: Source, y_label: str, estimate: Callable[[Ranks], Estimate]) -> Plot:
    times, step = source.reading.times, source.reading.step
    # A step without a page is a gap: no line is drawn across it.
    minutes = range(min(times), max(times) + 1, step) if times else range(0)
    series = []
    for group, label, line in GROUPS:
        if any(group in groups for groups in times.values()):
            ranks = [times.get(minute, {}).get(group) for minute in minutes]
            series.append(_line(label, [estimate(one) if one else Estimate(None) for one in ranks], line))
    name = next(names[source.reading.step] for names in STEPS.values() if source.reading.step in names)
    label = f"time, in steps of {name}"
    return Plot([minute * 60 for minute in minutes], label, y_label, series, time=True, join=False)


def gain(source: Source) -> Plot:
    """The verdict as it was at each kept state: clicks gained over the engine's order, with the interval."""
    known = points(source.reading.trail)
    low, high = [one[2] for one in known], [one[3] for one in known]
    series = [Line("gain", [one[1] for one in known], low, high)] if known else []
    first = known[0][0] if known else 0.0
    marks = [*marked(source.reading.decisions, first), *guarded(source.reading.trail, first)]
    return Plot(
        [one[0] for one in known], "time", f"{unit_of(source.settings)} gained", series, unit="%", time=True, zero=True,
        join=False, marks=marks, y_range=_fitting([one[1:] for one in known if None not in one]),
    )  # fmt: skip


def _fitting(known: Sequence[Sequence[Any]]) -> tuple[float, float] | None:
    """The range of a chart whose intervals were wide in the beginning: the newest one, and every value, with room."""
    if not known:
        return None
    _, last_low, last_high = known[-1]
    values = [one[0] for one in known]
    low = max(min(one[1] for one in known), min(REACH * last_low, REACH * min(values)))
    far = REACH * max(values) if isinf(last_high) else max(REACH * last_high, REACH * max(values))
    high = min(max(one[2] for one in known), far)
    low, high = min(low, 0.0), max(high, 0.0)
    return low - 0.05 * (high - low), high + 0.05 * (high - low) or 1.0


def marked(decisions: Sequence[Event], since: float) -> list[Mark]:
    """What people decided that changes the order, since a time."""
    return [
        Mark(event.at / 1000, MARKED[event.kind])
        for event in decisions
        if event.kind in MARKED and event.at / 1000 >= since
    ]


def guarded(trail: Sequence[Known], since: float) -> list[Mark]:
    """Where the guard came on, since a time: from there on nobody knows the gain, until the order has proved itself."""
    on = [one.verdict.tone == "bad" and one.verdict.gain is None for one in trail]
    came = (one for one, now, before in zip(trail, on, [False, *on], strict=False) if now and not before)
    return [Mark(one.at / 1000, "guard on") for one in came if one.at / 1000 >= since]


def _line(label: str, estimates: Sequence[Estimate], line: int) -> Line:
    if all(one.low is None for one in estimates):
        return Line(label, [one.value for one in estimates], line=line)
    # A single page has no interval; beside others that have one, it would be drawn as if it were certain.
    known = [Estimate(None) if one.low is None else one for one in estimates]
    return Line(label, [one.value for one in known], [one.low for one in known], [one.high for one in known], line)


def click_through(source: Source) -> Plot:
    """Click-through by rank; of graded actions, what they are worth."""
    groups = source.reading.groups
    ranks = range(1, max((max(by_rank) for by_rank in groups.values()), default=0) + 1)
    series = []
    for group, label, line in GROUPS:
        if group in groups:
            estimates = [intervals.share(groups[group].get(rank, Sums())) for rank in ranks]
            is_share = rate_of(source.settings) == CLICK_THROUGH
            series.append(_line(label, [_in_percent(one) if is_share else one for one in estimates], line))
    unit = "%" if rate_of(source.settings) == CLICK_THROUGH else ""
    return Plot(list(ranks), "rank", rate_of(source.settings), series, unit=unit, points=True)


def _in_percent(one: Estimate) -> Estimate:
    return Estimate(*(None if value is None else 100 * value for value in one))


def weights(source: Source) -> Plot:
    """The largest weights over time, from snapshots."""
    history = source.reading.history
    if not history:
        return Plot([], "time", "weight", [], time=True)
    matrix = np.array([values for _, values in history])
    series = [
        Line(feature_name(source.settings.names[feature]), matrix[:, feature].tolist(), line=place)
        for place, feature in enumerate(largest(matrix[-1], LINES), 1)
    ]
    return Plot([snapshot.at / 1000 for snapshot, _ in history], "time", "weight", series, time=True)


def propensities(source: Source) -> Plot:
    """Examination: as the model assumes it, as swaps measure it, and the raw click-through beside them."""
    reading = source.reading
    ranks = list(range(1, source.settings.page_size + 1))
    series = []
    if reading.believed is not None:
        series.append(Line("assumed", (100 * reading.believed).tolist(), dash=True))
    if reading.looks is not None and (measured := _measured(reading.looks, len(ranks))) is not None:
        series.append(measured)
    if raw := _relative_click_through(reading.ever.get(LEARNED, {}), ranks):
        series.append(Line(f"raw {rate_of(source.settings)}", raw, line=3))
    return Plot(ranks if series else [], "rank", "looks vs. rank 1", series, unit="%", points=True)


def _measured(looks: Looks, ranks: int) -> Line | None:
    """The swaps' curve, up to where its band says nothing any more."""
    curve = looks.curve()
    wide = np.flatnonzero(~(curve.high <= WIDE * np.maximum(curve.low, 1e-9)))
    known = int(wide[0]) if len(wide) else len(curve.curve)
    if known < 2:
        return None
    values, low, high = (
        [100 * value for value in one[:known].tolist()] + [None] * (ranks - known)
        for one in (curve.curve, curve.low, curve.high)
    )
    return Line("measured by swaps", values, low, high, line=2)


def _relative_click_through(by_rank: Ranks, ranks: Sequence[int]) -> list[float | None]:
    first = by_rank.get(1, Sums()).mean
    if first == 0:
        return []
    return [100 * by_rank[rank].mean / first if rank in by_rank else None for rank in ranks]


def latency(source: Source) -> Plot:
    """Quantiles of the time to answer a rank request, minute by minute."""
    series = [
        Line(label, [_milliseconds(answers.quantile(share)) for answers in source.answers.values()], line=line)
        for share, label, line in ((0.5, "median", 1), (0.95, "95th percentile", 4), (0.99, "99th percentile", 2))
    ]
    return Plot([minute * 60 for minute in source.answers], "time", "response time", series, unit="ms", time=True)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def errors(source: Source) -> Plot:
    """Requests that were refused or failed, minute by minute."""
    minutes = source.all_answers
    series = [
        Line("refused (4xx)", [answers.refused for answers in minutes.values()], line=3),
        Line("failed (5xx)", [answers.failed for answers in minutes.values()], line=2),
    ]
    return Plot([minute * 60 for minute in minutes], "time", "responses per minute", series, time=True, counts=True)


CHARTS = {
    chart.name: chart
    for chart in (
        Chart(
            "gain", "{Clicks} gained over the engine’s order",
            "What was known at the time, with its 95 % interval, which holds however often you look. {ends}",
            gain, "Nothing to compare. The line needs a control group, with enough pages and people in it.",
        ),
        Chart(
            "learning", "{Clicks} per page",
            f"Mean {{clicks}} per page, {{during}}. The band is a 95 % interval, {PAGES}.",
            learning,
        ),
        Chart(
            "reward", "Estimated reward per page",
            "Mean reward per page, {during}: clicks weighted by how likely their rank was examined ({reward}). "
            f"The band is a 95 % interval, {PAGES}; it takes clicks on different ranks as independent, too.",
            rewards,
        ),
        Chart(
            "click-through", "{Rate} by rank",
            f"{{Clicks}} per impression at each rank, {{during}}. The band is Wilson’s 95 % interval, {PAGES}.",
            click_through,
        ),
        Chart(
            "propensities", "How far people look",
            "How often each rank is looked at, relative to the first, all time: as this model assumes or has learned "
            "it, and as randomised swaps of neighbours measure it, with a 95 % interval. Raw {rate} beside it: "
            "it also falls because better results stand higher.",
            propensities,
        ),
        Chart(
            "weights", "Weights over time",
            "The features with the largest current weights, from saved versions, {during}.",
            weights, "No saved versions yet.", "A network has no weight per feature that could be drawn.",
        ),
        Chart(
            "exploration", "Exploration spent",
            "Mean distance between the rank a document was shown at and its rank without exploration, {during}.",
            exploration,
        ),
        Chart(
            "latency", "Rank response time",
            "Per minute, over the last three hours of this process, all models; estimated from counts in buckets.",
            latency, "This process has not ranked a page yet.",
        ),
        Chart(
            "errors", "Refused and failed requests",
            "Responses per minute, all API endpoints, over the last three hours of this process.",
            errors, "This process has not received a request yet.",
        ),
    )
}  # fmt: skip
