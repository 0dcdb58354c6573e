"""One picture of who wins with which people: a field for each pair of method and kind of people."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle

from rankloop.display import listed
from rankloop.display.pictures import Size, head, wrapped
from rankloop.studies.coverage import Coverage
from rankloop.studies.people import Meeting, measured, meetings, metric_title

_NAMES = 3.0  # inches for the kinds' names
_FIELD = 0.92  # inches, the width of a field
_LIGHT, _DARK = "#ffffff", "#222222"
_FRAME = "#E69F00"


def people_caption(coverage: Coverage, grid: str) -> str:
    """What the picture shows."""
    return (
        f"Mean {metric_title(coverage)} of each method with each kind of people on "
        f"{listed(coverage.collections(grid))} ({coverage.of_grid(grid)}). The darker a field, the nearer to the "
        f"highest of its row. Framed: significantly better than every other method (paired t-tests, each p < 0.05); "
        f"dashed: tied with the best (p ≥ 0.05). All {coverage.speaks_of(grid)}. "
        f"† The method assumes how these people look at a page, and is right."
    )


def draw_people(coverage: Coverage, grid: str, size: Size | None = None) -> Drawing:
    """Rows are people, columns are methods, one panel per collection; the best are framed.

    In a column of a paper panels stand one below the other, and names take as many lines as they need.
    """
    labels, collections, users = coverage.labels(grid), coverage.collections(grid), coverage.users(grid)
    met = meetings(coverage, grid)
    natural = _NAMES + (0.4 + _FIELD * len(labels)) * len(collections)
    width = max(6.4, natural) if size is None else size.width
    narrow = width < 0.8 * natural
    columns = 1 if narrow else len(collections)
    points = 6.0 if narrow else 9.0 if size is None else 7.0
    names = [wrapped(user, 0.3 * width if narrow else _NAMES, points) for user in users]
    lines = max(name.count("\n") + 1 for name in names)
    height = len(collections) / columns * (1.0 + len(users) * max(0.25 if narrow else 0.36, 0.022 * points * lines))
    drawing = Drawing(figsize=(width, (size and size.height) or height + 0.3), layout=ConstrainedLayoutEngine())
    axes = drawing.subplots(len(collections) // columns, columns, squeeze=False, sharey=True).flat
    for place, (axis, collection) in enumerate(zip(axes, collections, strict=True)):
        rows = [one for one in met if one.collection == collection]
        _panel(axis, rows, labels, digits=0 if measured(coverage) == "online_ndcg" else 3, points=points)
        shown = [wrapped(label, 0.9 if narrow else _FIELD, points) for label in labels]
        turned = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"} if narrow else {}
        axis.set_xticks(range(len(labels)), shown, fontsize=points, parse_math=False, **turned)
        axis.set_title(wrapped(collection, width, 10), fontsize=points + 1, parse_math=False)
        if place % columns == 0:
            axis.set_yticks(range(len(users)), names, fontsize=points, parse_math=False)
    head(drawing, f"{coverage.grid(grid).title or grid}: {metric_title(coverage)} ({coverage.of_grid(grid)})", size)
    return drawing


def _panel(axis: Any, rows: list[Meeting], labels: list[str], *, digits: int, points: float) -> None:
    values = np.array([[one.means.get(label, np.nan) for label in labels] for one in rows])
    with np.errstate(invalid="ignore", divide="ignore"):
        share = values / np.array([max(one.means.values(), default=np.nan) for one in rows])[:, None]
    low = float(np.nanmin(share)) if np.isfinite(share).any() else 0.0
    shade = np.clip((share - low) / max(1.0 - low, 1e-9), 0.0, 1.0)
    colours = matplotlib.colormaps["Blues"]
    for i, one in enumerate(rows):
        for j, label in enumerate(labels):
            known = np.isfinite(shade[i, j])
            colour = colours(0.08 + 0.75 * shade[i, j]) if known else "#f4f4f4"
            axis.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
            if np.isfinite(values[i, j]):
                text = f"{values[i, j]:.{digits}f}{' †' if label in one.assuming else ''}"
                text = text.replace(" ", "") if points < 7 else text
                ink = _LIGHT if known and shade[i, j] > 0.6 else _DARK
                weight = "bold" if label == one.standing.best else "normal"
                axis.text(j, i, text, ha="center", va="center", fontsize=points, color=ink, fontweight=weight)
            if label in one.winners:
                dash = "-" if label == one.standing.best else (0, (2, 1.5))
                axis.add_patch(
                    Rectangle((j - 0.44, i - 0.42), 0.88, 0.84, fill=False, edgecolor=_FRAME, linewidth=1.6, ls=dash)
                )
    axis.set_xlim(-0.5, len(labels) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.tick_params(length=0, labeltop=False)
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)
