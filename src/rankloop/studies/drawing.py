"""How results are drawn: panels, lines with bands and names at their ends, bars with whiskers, in one calm style."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rankloop.errors import DataError
from rankloop.settings import is_number
from rankloop.statistics import interval
from rankloop.studies.coverage import Coverage
from rankloop.studies.records import Record

# Okabe and Ito's palette; ROLTR, the subject, gets the strongest colour.
_CYCLE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#000000")
_METHODS = {"ROLTR": 0, "PDGD": 1, "COLTR": 2, "PMGD": 3, "DBGD": 4, "MDPRank": 6}
_USERS = (_CYCLE[1], _CYCLE[4], _CYCLE[2], _CYCLE[3])
_LOG_FROM = 20  # from this ratio on, small bars would vanish beside large ones
_LONGEST = 26  # characters of a name beside a line


class _Line(NamedTuple):
    """How a learner looks: what is written beside its line, colour and dash, and the row of panels it belongs to."""

    name: str
    colour: Any
    dash: str
    group: str


def calm() -> Any:
    """The style: matplotlib's defaults whatever the reader's own are, and identifiers that do not change."""
    ours = {
        "svg.hashsalt": "rankloop", "svg.fonttype": "path", "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6, "axes.axisbelow": True, "axes.labelsize": 9,
        "xtick.labelsize": 9, "ytick.labelsize": 9,
    }  # fmt: skip
    return style.context(["default", ours], after_reset=True)


def save(drawing: Drawing, path: Path) -> Path:
    """Write a drawing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".svg":
            path.write_text(svg(drawing), encoding="utf-8")
        else:
            drawing.savefig(path, dpi=160)
    except OSError as error:
        raise DataError(f"cannot write the figure {path}: {error.strerror or error}") from None
    return path


def svg(drawing: Drawing) -> str:
    """A drawing as SVG, with neither date nor addresses: the same results give the same bytes."""
    text = io.StringIO()
    drawing.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return re.sub(r"<!DOCTYPE[^>]*>\s*", "", text.getvalue())


def draw_curves(coverage: Coverage, grid: str, until: int | None = None) -> Drawing:
    """Rows are collections (and groups of settings within them), columns are users."""
    lines, users = _lines(coverage, grid), coverage.users(grid)
    groups = list(dict.fromkeys(line.group for line in lines.values()))
    rows = [(collection, group) for collection in coverage.collections(grid) for group in groups]
    drawing, axes = _panels(len(rows), len(users), sharey="row")
    for panels, (collection, group) in zip(axes, rows, strict=True):
        shown = {label: line for label, line in lines.items() if line.group == group}
        ends = []
        for axis, user in zip(panels, users, strict=True):
            runs = {label: coverage.runs(grid, collection, user, label) for label in shown}
            ends.append([_curve(axis, runs[label], line, until) for label, line in shown.items() if runs[label]])
            _title(axis, f"{user} clicks", collection if len(coverage.collections(grid)) > 1 else "", group)
            longest = max((record.impressions for some in runs.values() for record in some), default=1)
            _impressions_axis(axis, until or longest)
        _frame(panels[0], panels)
        for axis, some in zip(panels, ends, strict=True):
            _label_lines(axis, some)
        panels[0].set_ylabel("nDCG@10 on held-out queries")
    for axis in axes[-1]:
        axis.set_xlabel("impressions")
    title = coverage.grid(grid).title or grid
    _head(drawing, f"{title}: the first {until:,}" if until else title, coverage.of_grid(grid))
    return drawing


def _curve(axis: Axes, runs: Sequence[Record], line: _Line, until: int | None) -> tuple[float, _Line]:
    """Draw one learner; the height at which its line ends."""
    at = np.array(runs[0].offline_at)
    values = np.array([record.offline_curve for record in runs if len(record.offline_curve) == len(at)])
    if until:
        at, values = at[at <= until], values[:, at <= until]
    mean = values.mean(axis=0)
    axis.plot(at, mean, line.dash, color=line.colour, linewidth=1.7)
    if len(values) > 1:
        half = np.array([interval(column).half_width for column in values.T])
        axis.fill_between(at, mean - half, mean + half, color=line.colour, alpha=0.15, linewidth=0)
    return float(mean[-1]) if len(mean) else np.nan, line


def _frame(first: Axes, panels: Sequence[Axes]) -> None:
    """Frame the lines of a row: with few runs a band may be much wider than all of them, and then runs out."""
    heights = np.array([height for axis in panels for line in axis.lines for height in np.asarray(line.get_ydata())])
    low, high = first.get_ylim()
    if len(heights) and np.ptp(heights) > 0:
        room = 0.4 * np.ptp(heights)
        first.set_ylim(max(low, heights.min() - room), min(high, heights.max() + room))


def _label_lines(axis: Axes, ends: Sequence[tuple[float, _Line]]) -> None:
    """Names at the lines' right ends, pushed apart where they would overlap: no legend to look up."""
    low, high = axis.get_ylim()
    ordered = sorted((((value - low) / (high - low)), line) for value, line in ends if np.isfinite(value))
    heights = _spread([height for height, _ in ordered], 0.068)
    for (height, line), shown in zip(ordered, heights, strict=True):
        axis.annotate(
            line.name, (1.0, height), (1.06, shown), xycoords="axes fraction", textcoords="axes fraction",
            color=line.colour, fontsize=9, va="center", annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": line.colour, "linewidth": 1.1, "linestyle": line.dash,
                        "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)},
        )  # fmt: skip


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart to at least `gap`, each crowd staying centred where it was.

    >>> [round(height, 2) for height in _spread([0.1, 0.5, 0.52], 0.1)]
    [0.1, 0.46, 0.56]
    """
    crowds: list[list[float]] = []
    for height in heights:
        crowds.append([height])
        while len(crowds) > 1 and _bottom(crowds[-1], gap) - _top(crowds[-2], gap) < gap:
            crowds[-2:] = [crowds[-2] + crowds[-1]]
    return [_bottom(crowd, gap) + gap * index for crowd in crowds for index in range(len(crowd))]


def _bottom(crowd: Sequence[float], gap: float) -> float:
    centred = sum(crowd) / len(crowd) - gap * (len(crowd) - 1) / 2
    return max(0.0, min(centred, 1.0 - gap * (len(crowd) - 1)))


def _top(crowd: Sequence[float], gap: float) -> float:
    return _bottom(crowd, gap) + gap * (len(crowd) - 1)


def draw_variance(coverage: Coverage, grid: str) -> Drawing:
    """Rows are collections, columns groups of settings; users stand side by side."""
    lines, users = _lines(coverage, grid), coverage.users(grid)
    groups = list(dict.fromkeys(line.group for line in lines.values()))
    collections = coverage.collections(grid)
    drawing, axes = _panels(len(collections), len(groups), sharey="row")
    log = needs_log(coverage, grid)
    for panels, collection in zip(axes, collections, strict=True):
        for axis, group in zip(panels, groups, strict=True):
            labels = [label for label, line in lines.items() if line.group == group]
            for index, user in enumerate(users):
                runs = [coverage.runs(grid, collection, user, label) for label in labels]
                _variances(axis, runs, index, len(users), log)
            axis.set_xticks(range(len(labels)), [lines[label].name for label in labels], parse_math=False)
            axis.tick_params(axis="x", length=0, rotation=0 if len(labels) < 7 else 30)
            axis.set_xlim(-0.6, len(labels) - 0.4)
            axis.grid(axis="x", visible=False)
            _title(axis, group, collection if len(collections) > 1 else "")
        panels[0].set_ylabel("gradient variance" + (" (log scale)" if log else ""))
        if log:
            panels[0].set_yscale("log")
            panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panels[0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            panels[0].yaxis.set_minor_formatter(NullFormatter())
        else:
            panels[0].set_ylim(bottom=0)
    if len(users) > 1:
        handles = [axes[0, 0].plot([], [], "s", color=_USERS[i % len(_USERS)])[0] for i in range(len(users))]
        axes[0, -1].legend(handles, [f"{user} clicks" for user in users], frameon=False, fontsize=9, loc="best")
    _head(drawing, f"{coverage.grid(grid).title or grid}: variance of the gradient", coverage.of_grid(grid))
    return drawing


def _variances(axis: Axes, runs: Sequence[Sequence[Record]], index: int, users: int, log: bool) -> None:
    """One user's means with whiskers: bars from 0, or points where a logarithmic scale has no 0 to stand on."""
    width = 0.8 / users
    colour = _USERS[index % len(_USERS)]
    for position, records in enumerate(runs):
        values = [record.gradient_variance for record in records]
        if not values or not np.isfinite(values).all():
            continue
        mean, half = interval(values)
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


def _lines(coverage: Coverage, grid: str) -> dict[str, _Line]:
    """How each learner of a grid looks, from what the grid varies.

    Methods have their own colours. Settings of one method: an ordered setting (γ, η) gets ordered colours; naive
    rewards are dashed beside their unbiased twins; where a word and a number vary, the word splits the panels.
    """
    labels = coverage.labels(grid)
    flat = {label: _flat(coverage.settings(grid, label)) for label in labels}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings if key != "label")
    varied = [key for key in keys if len({str(settings.get(key)) for settings in flat.values()}) > 1]
    numbers = [key for key in varied if all(is_number(settings.get(key)) for settings in flat.values())]
    words = [key for key in varied if all(isinstance(settings.get(key), str) for settings in flat.values())]
    splits = len(numbers) == 1 and len(words) == 1 and len(varied) == 2
    ordered = sorted({float(settings[numbers[0]]) for settings in flat.values()}) if len(numbers) == 1 else []
    made = {}
    for index, label in enumerate(labels):
        settings = flat[label]
        group = str(settings[words[0]]) if splits else ""
        if ordered and (splits or varied == numbers):
            place = ordered.index(float(settings[numbers[0]]))
            colour, dash = matplotlib.colormaps["viridis"](0.7 * place / max(1, len(ordered) - 1)), "-"
        else:
            colour, dash = _look(settings, index, methods="learner" in varied)
        name = label.removeprefix(f"{group} ") if group else label
        made[label] = _Line(_short(name), colour, dash, group)
    return made


def _look(settings: dict[str, Any], index: int, *, methods: bool) -> tuple[Any, str]:
    if methods:
        colour = _CYCLE[_METHODS.get(settings["learner"], index % len(_CYCLE))]
        return colour, "--" if settings["learner"] == "MDPRank" else "-"
    reward = str(settings.get("reward", ""))
    signs = {"+": _CYCLE[1], "-": _CYCLE[2], "+-": _CYCLE[0]}
    for kind, dash in (("naive", "--"), ("ips", "-")):
        if reward.removeprefix(kind) in signs:
            return signs[reward.removeprefix(kind)], dash
    return _CYCLE[index % len(_CYCLE)], "-"


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    made: dict[str, Any] = {}
    for key, value in settings.items():
        made |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return made


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _panels(rows: int, columns: int, **shared: Any) -> tuple[Drawing, Any]:
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    drawing = Drawing(figsize=(max(6.4, 5.1 * columns), 0.5 + 2.95 * rows), layout=layout)
    return drawing, drawing.subplots(rows, columns, squeeze=False, **shared)


def _head(drawing: Drawing, title: str, runs: str) -> None:
    drawing.suptitle(f"{title} ({runs})", fontsize=11, x=0.01, ha="left", parse_math=False)


def _title(axis: Axes, *parts: str) -> None:
    axis.set_title(", ".join(_short(part) for part in parts if part), fontsize=10, parse_math=False)


def _impressions_axis(axis: Axes, last: int) -> None:
    axis.set_xlim(0, last)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x / 1e6:g} M" if last > 200_000 and x else f"{x:,.0f}")
    )
