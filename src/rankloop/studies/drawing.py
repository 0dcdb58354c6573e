"""How a study's results are drawn: panels of learning curves, and bars with whiskers, in the style of all pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rankloop.display.pictures import (
    CYCLE,
    Line,
    Size,
    draw_line,
    frame,
    head,
    impressions_axis,
    label_lines,
    label_scale,
    lines_for,
    panels,
    share_scale,
    side_by_side,
    title,
)
from rankloop.statistics import interval
from rankloop.studies.coverage import Coverage
from rankloop.studies.records import Record

_USERS = (CYCLE[1], CYCLE[4], CYCLE[2], CYCLE[3])
_LOG_FROM = 20  # from this ratio on, small bars would vanish beside large ones


def draw_curves(
    coverage: Coverage, grid: str, size: Size | None = None, *, until: int | None = None, online: bool = False
) -> Drawing:
    """Rows are collections (and groups of settings within them), columns are users.

    The curves are of held-out queries; `online`, of the pages that were shown.
    """
    lines, users = _lines(coverage, grid), coverage.users(grid)
    groups = list(dict.fromkeys(line.group for line in lines.values()))
    columns = [users] if side_by_side(len(users), size) else [[user] for user in users]
    rows = [
        (collection, group, some) for collection in coverage.collections(grid) for group in groups for some in columns
    ]
    drawing, axes = panels(len(rows), len(columns[0]), size, sharey="row")
    scales: dict[tuple[str, str], list[Any]] = {(collection, group): [] for collection, group, _ in rows}
    ends = []
    for row, (collection, group, some) in zip(axes, rows, strict=True):
        scales[collection, group].append(row)
        shown = {label: line for label, line in lines.items() if line.group == group}
        for axis, user in zip(row, some, strict=True):
            runs = {label: coverage.runs(grid, collection, user, label) for label in shown}
            curves = ((runs[label], line) for label, line in shown.items() if runs[label])
            ends.append((axis, [_curve(axis, coverage, some, line, until, online) for some, line in curves]))
            title(axis, f"{user} clicks", collection if len(coverage.collections(grid)) > 1 else "", group)
            longest = max((record.impressions for some in runs.values() for record in some), default=1)
            impressions_axis(axis, until or longest)
    for together in scales.values():
        share_scale([row[0] for row in together])
        frame(together[0][0], [axis for row in together for axis in row])
    for axis, named in ends:
        label_lines(axis, named)
    of = "of pages shown" if online else "on held-out queries"
    label_scale(drawing, axes, f"{coverage.results.metric.title} {of}")
    for axis in axes[-1]:
        axis.set_xlabel("impressions")
    about = coverage.grid(grid).title or grid
    about = f"{about}: the first {until:,}" if until else f"{about}: pages shown" if online else about
    head(drawing, f"{about} ({coverage.of_grid(grid)})", size)
    return drawing


def _curve(
    axis: Axes, coverage: Coverage, runs: Sequence[Record], line: Line, until: int | None, online: bool
) -> tuple[float, Line]:
    """Draw one learner; the height at which its line ends. A page counts at the end of its interval."""
    first, field = (1, "online_curve") if online else (0, "offline_curve")
    at = np.array(runs[0].offline_at[first:])
    whole = [record for record in runs if len(getattr(record, field)) == len(at)]
    values, folds = np.array([getattr(record, field) for record in whole]), [record.fold for record in whole]
    if until:
        at, values = at[at <= until], values[:, at <= until]
    to = coverage.results.reading.generalise_to
    spread = [interval(column, folds, generalise_to=to).half_width for column in values.T] if len(values) > 1 else []
    half = np.array(spread) if np.isfinite(spread).any() else None
    return draw_line(axis, at, values.mean(axis=0), half, line)


def draw_variance(coverage: Coverage, grid: str, size: Size | None = None) -> Drawing:
    """Rows are collections, columns groups of settings; users stand side by side."""
    lines, users = _lines(coverage, grid), coverage.users(grid)
    groups = list(dict.fromkeys(line.group for line in lines.values()))
    collections = coverage.collections(grid)
    drawing, axes = panels(len(collections), len(groups), size, sharey="row")
    log = needs_log(coverage, grid)
    for row, collection in zip(axes, collections, strict=True):
        for axis, group in zip(row, groups, strict=True):
            labels = [label for label, line in lines.items() if line.group == group]
            for index, user in enumerate(users):
                runs = [coverage.runs(grid, collection, user, label) for label in labels]
                _variances(axis, coverage, runs, index, len(users), log)
            axis.set_xticks(range(len(labels)), [lines[label].name for label in labels], parse_math=False)
            axis.tick_params(axis="x", length=0, rotation=0 if len(labels) < 7 else 30)
            axis.set_xlim(-0.6, len(labels) - 0.4)
            axis.grid(axis="x", visible=False)
            title(axis, group, collection if len(collections) > 1 else "")
        row[0].set_ylabel("gradient variance" + (" (log scale)" if log else ""))
        if log:
            row[0].set_yscale("log")
            row[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            row[0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            row[0].yaxis.set_minor_formatter(NullFormatter())
        else:
            row[0].set_ylim(bottom=0)
    if len(users) > 1:
        handles = [axes[0, 0].plot([], [], "s", color=_USERS[i % len(_USERS)])[0] for i in range(len(users))]
        axes[0, -1].legend(handles, [f"{user} clicks" for user in users], frameon=False, fontsize=9, loc="best")
    about = f"{coverage.grid(grid).title or grid}: variance of the gradient"
    head(drawing, f"{about} ({coverage.of_grid(grid)})", size)
    return drawing


def _variances(
    axis: Axes, coverage: Coverage, runs: Sequence[Sequence[Record]], index: int, users: int, log: bool
) -> None:
    """One user's means with whiskers: bars from 0, or points where a logarithmic scale has no 0 to stand on."""
    width = 0.8 / users
    colour = _USERS[index % len(_USERS)]
    for position, records in enumerate(runs):
        values = [record.gradient_variance for record in records]
        if not values or not np.isfinite(values).all():
            continue
        folds, to = [record.fold for record in records], coverage.results.reading.generalise_to
        mean, half = interval(values, folds, generalise_to=to)
        whisker = half if np.isfinite(half) else 0.0
        x = position + (index - (users - 1) / 2) * width
        if log:
            axis.errorbar(x, mean, whisker, fmt="o", color=colour, markersize=6, capsize=3, linewidth=1.4)
        else:
            axis.bar(x, mean, width * 0.92, color=colour)
            axis.errorbar(x, mean, whisker, fmt="none", ecolor="#333333", capsize=3, linewidth=1.1)
        axis.annotate(
            f"{mean:.3g}", (x, mean + whisker), (0, 5), textcoords="offset points", ha="center", fontsize=7.5,
            color="#333333",
        )  # fmt: skip


def needs_log(coverage: Coverage, grid: str) -> bool:
    """Whether the gradient variances of a grid differ too much for bars that start at 0."""
    places = [runs for place in coverage.places(grid) if (runs := coverage.runs(*place))]
    means = np.array([np.mean([record.gradient_variance for record in runs]) for runs in places])
    means = means[np.isfinite(means)]
    return bool(len(means) and means.min() > 0 and means.max() / means.min() > _LOG_FROM)


def _lines(coverage: Coverage, grid: str) -> dict[str, Line]:
    """How each learner of a grid looks, from what the grid varies."""
    return lines_for({label: coverage.settings(grid, label) for label in coverage.labels(grid)})
