"""The picture of many runs: a row of panels for each collection, a panel for each user, a line for each learner."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.display.pictures import (
    Line,
    Picture,
    Size,
    calm,
    draw_line,
    frame,
    impressions_axis,
    label_lines,
    label_scale,
    lines_for,
    panels,
    share_scale,
    side_by_side,
    title,
)
from rankloop.errors import SettingsError
from rankloop.runs.run import Run
from rankloop.runs.runs import Curve, Runs
from rankloop.settings import require_choice
from rankloop.statistics import interval

_TEXT = 7.0  # inches: the width of a page's text, where only a height is given
LABELS = {"offline": "{} on held-out queries", "online": "{} of pages shown"}


def draw(
    runs: Runs,
    curve: Curve = "offline",
    width: str | float | None = None,
    height: str | float | None = None,
    metric: str | None = None,
) -> Picture:
    """Draw them; with a size, for print."""
    require_choice("plot", "curve", curve, tuple(LABELS))
    size = None if width is None and height is None else Size.of(_TEXT if width is None else width, height)
    lines = looks(runs)
    users = runs.users
    columns = [users] if side_by_side(len(users), size) else [[user] for user in users]
    rows = [(collection, some) for collection in runs.collections for some in columns]
    with calm(in_print=size is not None):
        drawing, axes = panels(len(rows), len(columns[0]), size, sharey="row")
        scales: dict[str, list[Any]] = {collection: [] for collection in runs.collections}
        ends = []
        for row, (collection, some) in zip(axes, rows, strict=True):
            scales[collection].append(row)
            for axis, user in zip(row, some, strict=True):
                here = runs.select(collection=collection, user=user)
                ends.append((axis, _panel(axis, here, curve, lines, metric)))
                title(axis, f"{user} clicks", collection if len(runs.collections) > 1 else "")
                impressions_axis(axis, max((len(run.online_curve) for run in here), default=1))
        for together in scales.values():
            share_scale([row[0] for row in together])
            frame(together[0][0], [axis for row in together for axis in row])
        for axis, named in ends:
            label_lines(axis, named)
        label_scale(drawing, axes, LABELS[curve].format(runs.title(metric)))
        for axis in axes[-1]:
            axis.set_xlabel("impressions")
    return Picture(drawing)


def looks(runs: Runs) -> dict[str, Line]:
    """How each learner looks; none of them splits the panels here."""
    settings = {place.label: run.settings["learner"] for run, place in zip(runs, runs.places, strict=True)}
    return {
        label: line._replace(name=label if len(label) < 27 else line.name)
        for label, line in lines_for(settings).items()
    }


def curves(
    runs: Runs, curve: Curve, metric: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Any]]:
    """The points of the first run; the values of all that have the same points, (runs, points); and their folds."""
    at = _points(runs[0], curve, metric)[:, 0]
    found = [(points[:, 1], run) for run in runs if len(points := _points(run, curve, metric)) == len(at)]
    return at, np.array([values for values, _ in found]), [run.settings["data"]["fold"] for _, run in found]


def _points(run: Run, curve: Curve, metric: str | None) -> NDArray[np.float64]:
    measured = run.by(metric or run.ndcg)
    if curve == "offline":
        return measured.offline_curve
    if measured.online_curve is None:
        raise SettingsError(f"plot: no page shows enough for {measured.metric.title}; plot its offline curve")
    return np.column_stack([run.offline_curve[1:, 0], measured.online_means])


def _panel(axis: Any, runs: Runs, curve: Curve, lines: dict[str, Line], metric: str | None) -> list[tuple[float, Line]]:
    ends = []
    for label in runs.labels:
        some = runs.select(label=label)
        at, values, folds = curves(some, curve, metric)
        half = np.array([interval(column, folds).half_width for column in values.T]) if len(values) > 1 else None
        ends.append(draw_line(axis, at, values.mean(axis=0), half, lines[label]))
    return ends
