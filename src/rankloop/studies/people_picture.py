"""One picture of who wins with which people: a field for each pair of method and kind of people."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle

from rankloop.display import listed
from rankloop.pictures import Size
from rankloop.studies.coverage import Coverage
from rankloop.studies.people import Meeting, measured, meetings, metric_title

_LONGEST = 44  # characters of a kind's name
_LIGHT, _DARK = "#ffffff", "#222222"
_FRAME = "#E69F00"


def people_caption(coverage: Coverage, grid: str) -> str:
    """What the picture shows."""
    return (
        f"Mean {metric_title(coverage)} of each method with each kind of people on "
        f"{listed(coverage.collections(grid))} ({coverage.of_grid(grid)}). The darker a field, the nearer to the "
        f"highest of its row. Framed: the best, by the paired test; dashed: those that cannot be told from the best. "
        f"† The method assumes how these people look at a page, and is right."
    )


def draw_people(coverage: Coverage, grid: str, size: Size | None = None) -> Drawing:
    """Rows are people, columns are methods, one panel per collection; the best are framed."""
    small = size is not None
    labels, collections = coverage.labels(grid), coverage.collections(grid)
    met = meetings(coverage, grid)
    users = coverage.users(grid)
    width = 3.4 + (0.4 + 0.92 * len(labels)) * len(collections)
    height = 1.3 + 0.36 * len(users)
    figsize = (max(6.4, width), height) if size is None else (size.width, size.height or height)
    drawing = Drawing(figsize=figsize, layout=ConstrainedLayoutEngine())
    axes = drawing.subplots(1, len(collections), squeeze=False, sharey=True)[0]
    for axis, collection in zip(axes, collections, strict=True):
        rows = [one for one in met if one.collection == collection]
        _panel(axis, rows, labels, digits=0 if measured(coverage) == "online_ndcg" else 3, points=7 if small else 9)
        axis.set_title(collection, fontsize=10, parse_math=False)
    axes[0].set_yticks(range(len(users)), [_short(user) for user in users], parse_math=False)
    if not small:
        title = f"{coverage.grid(grid).title or grid}: {metric_title(coverage)} ({coverage.of_grid(grid)})"
        drawing.suptitle(title, fontsize=11, x=0.01, ha="left", parse_math=False)
    return drawing


def _panel(axis: Any, rows: list[Meeting], labels: list[str], *, digits: int, points: int) -> None:
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
    axis.set_xticks(range(len(labels)), [_short(label) for label in labels], parse_math=False)
    axis.tick_params(length=0, labeltop=False)
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
