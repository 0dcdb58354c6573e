"""Performance profiles: for every level of the measure, the share of runs that end above it.

A mean hides whether all runs are middling or some are good and some fail; a profile shows it. Where one line lies above
another throughout, its method is better at every level.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from rankloop.display import listed
from rankloop.display.pictures import Line, Size, head, lines_for, panels, side_by_side, title
from rankloop.statistics.summaries import performance_profile, performance_profile_band
from rankloop.studies.comparisons import Values, values_of
from rankloop.studies.coverage import Coverage

FEWEST = 4
"""Runs that a method needs for a profile worth a look."""
_POINTS = 120
_FIELD = "offline_ndcg"


def has_profiles(coverage: Coverage, grid: str) -> bool:
    """Whether different methods meet in a grid, with enough runs each."""
    runs = [len(values_of(coverage.runs(*place), _FIELD)) for place in coverage.places(grid)]
    return coverage.compares_methods(grid) and max(runs, default=0) >= FEWEST


def profiles_caption(coverage: Coverage, grid: str) -> str:
    """What the picture shows, and what its bands speak of."""
    return (
        f"The share of runs whose offline {coverage.results.metric.title} at the end is above each level, on "
        f"{listed(coverage.collections(grid))} with {listed(coverage.users(grid))} clicks ({coverage.of_grid(grid)}); "
        "folds count the same. Bands: pointwise 95 % intervals by a bootstrap of the runs within each fold, for this "
        "collection, where each fold has three."
    )


def draw_profiles(coverage: Coverage, grid: str, size: Size | None = None) -> Drawing:
    """Rows are collections, columns are users."""
    lines = lines_for({label: coverage.settings(grid, label) for label in coverage.labels(grid)})
    users, collections = coverage.users(grid), coverage.collections(grid)
    columns = [users] if side_by_side(len(users), size) else [[user] for user in users]
    rows = [(collection, some) for collection in collections for some in columns]
    drawing, axes = panels(len(rows), len(columns[0]), size, sharey="row")
    for row, (collection, some) in zip(axes, rows, strict=True):
        for axis, user in zip(row, some, strict=True):
            found = {label: values_of(coverage.runs(grid, collection, user, label), _FIELD) for label in lines}
            _profiles(axis, {label: values for label, values in found.items() if values}, lines)
            title(axis, f"{user} clicks", collection if len(collections) > 1 else "")
        row[0].set_ylabel("share of runs above")
    for axis in axes[-1]:
        axis.set_xlabel(f"offline {coverage.results.metric.title} at the end")
    handles, names = axes[0, 0].get_legend_handles_labels()
    beside = max(1, int(drawing.get_size_inches()[0] / 1.6))
    drawing.legend(handles, names, frameon=False, fontsize=8, loc="outside lower center", ncols=beside)
    head(drawing, f"{coverage.grid(grid).title or grid}: performance profiles ({coverage.of_grid(grid)})", size)
    return drawing


def _profiles(axis: Axes, found: dict[str, Values], lines: dict[str, Line]) -> None:
    every = [value for values in found.values() for value in values.values()]
    if not every:
        return
    room = 0.05 * (max(every) - min(every)) or 0.01
    levels = np.linspace(min(every) - room, max(every) + room, _POINTS)
    for label, values in found.items():
        sample, folds = list(values.values()), [fold for fold, _ in values]
        line: dict[str, Any] = {"color": lines[label].colour, "linestyle": lines[label].dash}
        axis.plot(levels, performance_profile(sample, levels, folds), label=lines[label].name, linewidth=1.7, **line)
        low, high = performance_profile_band(sample, levels, folds)
        axis.fill_between(levels, low, high, color=lines[label].colour, alpha=0.12, linewidth=0)
    axis.set_ylim(-0.02, 1.02)
    axis.set_xlim(levels[0], levels[-1])
    axis.xaxis.set_major_locator(MaxNLocator(5))
