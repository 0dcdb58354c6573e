"""The picture of many runs: a row of panels for each collection, a panel for each user, a line for each learner."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.pictures import (
    Line,
    Picture,
    Size,
    calm,
    draw_line,
    frame,
    impressions_axis,
    label_lines,
    lines_for,
    panels,
    side_by_side,
    title,
)
from rankloop.run import Run
from rankloop.runs import Curve, Runs
from rankloop.settings import require_choice
from rankloop.statistics import interval

LABELS = {"offline": "{} on held-out queries", "online": "{} of pages shown"}


def draw(
    runs: Runs, curve: Curve = "offline", width: str | float | None = None, height: str | float | None = None
) -> Picture:
    """Draw them; with a width, for print."""
    require_choice("plot", "curve", curve, tuple(LABELS))
    size = None if width is None else Size.of(width, height)
    lines = looks(runs)
    users = runs.users
    columns = [users] if side_by_side(len(users), size) else [[user] for user in users]
    rows = [(collection, some) for collection in runs.collections for some in columns]
    with calm(in_print=size is not None):
        drawing, axes = panels(len(rows), len(columns[0]), size, sharey="row")
        for row, (collection, some) in zip(axes, rows, strict=True):
            ends = []
            for axis, user in zip(row, some, strict=True):
                here = runs.select(collection=collection, user=user)
                ends.append(_panel(axis, here, curve, lines))
                title(axis, f"{user} clicks", collection if len(runs.collections) > 1 else "")
                impressions_axis(axis, max((len(run.online_curve) for run in here), default=1))
            frame(row[0], row)
            for axis, named in zip(row, ends, strict=True):
                label_lines(axis, named)
            row[0].set_ylabel(LABELS[curve].format(runs.ndcg))
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


def curves(runs: Runs, curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points of the first run, and the values of all that have the same points: (runs, points)."""
    at = _points(runs[0], curve)[:, 0]
    values = [points[:, 1] for run in runs if len(points := _points(run, curve)) == len(at)]
    return at, np.array(values)


def _points(run: Run, curve: Curve) -> NDArray[np.float64]:
    if curve == "offline":
        return run.offline_curve
    return np.column_stack([run.offline_curve[1:, 0], run.online_means])


def _panel(axis: Any, runs: Runs, curve: Curve, lines: dict[str, Line]) -> list[tuple[float, Line]]:
    ends = []
    for label in runs.labels:
        some = runs.select(label=label)
        at, values = curves(some, curve)
        folds = [run.settings["data"]["fold"] for run in some][: len(values)]
        half = np.array([interval(column, folds).half_width for column in values.T]) if len(values) > 1 else None
        ends.append(draw_line(axis, at, values.mean(axis=0), half, lines[label]))
    return ends
