"""Two methods query by query, drawn: all differences in order, and the worst queries one by one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from rankloop.display import p_equals, signed
from rankloop.display.pictures import calm, save
from rankloop.errors import SettingsError
from rankloop.studies.by_query import ComparedQueries

SUFFIXES = (".png", ".svg", ".pdf")
_OURS, _THEIRS = "#D55E00", "#0072B2"


def write_queries(compared: Sequence[ComparedQueries], path: Path, worst: int = 10) -> Path:
    """Draw comparisons into a file, one row of panels for each."""
    if path.suffix not in SUFFIXES:
        raise SettingsError(f"a picture is a {', '.join(SUFFIXES)} file; got {path}")
    with calm():
        return save(draw_queries(compared, worst), path)


def draw_queries(compared: Sequence[ComparedQueries], worst: int = 10) -> Drawing:
    """Left, the difference on every query, from the worst to the best; right, the worst with both values."""
    drawing = Drawing(figsize=(10.2, 0.5 + 3.2 * len(compared)), layout="constrained")
    panels = drawing.subplots(len(compared), 2, squeeze=False, width_ratios=(3, 2))
    for (left, right), one in zip(panels, compared, strict=True):
        _differences(left, one)
        _worst(right, one, worst)
    first = compared[0]
    title = f"{first.label} against {first.against}, query by query: {first.metric.title} on held-out queries"
    drawing.suptitle(title, fontsize=11, x=0.01, ha="left", parse_math=False)
    return drawing


def _differences(axis: Axes, one: ComparedQueries) -> None:
    differences = np.sort(one.differences)
    better, equal, lost = one.tally
    for colour, side in ((_OURS, differences >= 0), (_THEIRS, differences <= 0)):
        heights = np.where(side, differences, 0.0)
        axis.fill_between(np.arange(len(heights)), heights, color=colour, step="mid", linewidth=0, alpha=0.75)
    axis.axhline(0, color="#333333", linewidth=0.8)
    mean = one.interval.mean
    axis.axhline(mean, color=_OURS, linewidth=1.1, linestyle="--")
    words = f"dashed: the mean, {signed(mean, 4)}; p {p_equals(one.p)}"
    axis.annotate(words, (0.02, 0.92), xycoords="axes fraction", fontsize=8.5, color="#333333")
    axis.set_title(f"{one.user} clicks, {one.collection}", fontsize=10, loc="left", parse_math=False)
    axis.set_xlabel(f"queries: {lost:,} worse, {equal:,} equal, {better:,} better")
    axis.set_ylabel(f"{one.metric.title}, {one.label} − {one.against}", parse_math=False)
    axis.set_xlim(0, max(1, len(differences) - 1))


def _worst(axis: Axes, one: ComparedQueries, worst: int) -> None:
    chosen = one.worst(worst)
    places = np.arange(len(chosen))
    axis.hlines(places, one.ours[chosen], one.theirs[chosen], color="#999999", linewidth=1.4)
    axis.plot(one.theirs[chosen], places, "o", color=_THEIRS, markersize=5, label=one.against)
    axis.plot(one.ours[chosen], places, "o", color=_OURS, markersize=5, label=one.label)
    axis.set_yticks(places, [_name(*one.queries[index]) for index in chosen])
    axis.invert_yaxis()
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel(one.metric.title)
    axis.set_title(f"the worst {len(chosen)} for {one.label}", fontsize=10, loc="left", parse_math=False)
    if len(chosen):
        axis.legend(frameon=False, fontsize=8.5)


def _name(fold: int | None, query: int) -> str:
    return str(query) if fold is None else f"{query} (fold {fold})"
