"""One picture of regret: a panel for each learner, a line for each cell, the reference at 1, and nothing to look up."""

from typing import Any

from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine

from rankloop.display.pictures import CYCLE, Size
from rankloop.studies.regret.findings import Findings, Row
from rankloop.studies.regret.tables import BAR, GOAL, others, text_of, with_intervals

_LEFT, _RIGHT = -0.5, 1.5  # beyond these a ratio is an arrow at the edge, with its number
_LOW, _MIDDLE, _HIGH, _WORSE = CYCLE[2], CYCLE[5], CYCLE[4], CYCLE[0]
_GAP = 0.9  # lines between two collections


def caption(found: Findings) -> str:
    """What the picture shows."""
    return (
        f"Each line is a cell (people and collection), each point a learner’s regret over {found.against}’s on the "
        f"same {found.shared_seeds}, {with_intervals(found)}: left of 1 it wastes fewer pages, left of 0 its "
        f"pages are better than the skyline’s. "
        f"Green: half of {found.against}’s regret or less; blue: at most {BAR:g}; yellow: below 1; red: more. "
        f"The diamond is the mean over cells.{_chosen(found)}"
    )


def _chosen(found: Findings) -> str:
    """How the settings of tuned learners came about."""
    if not found.choices:
        return ""
    if any(one.by_others for one in found.choices):
        return " Settings of tuned learners were chosen on the other collections."
    return " Tuned learners have their first setting: there was no other collection to choose one on."


def draw(found: Findings, size: Size | None = None) -> Drawing:
    """A forest of ratios."""
    learners, places = others(found), _places(found)
    bottom = max(places.values(), default=0.0) + 2.2
    width, height = 2.6 + 2.1 * len(learners), 1.1 + 0.178 * bottom
    figsize = (width, height) if size is None else (size.width, size.height or size.width * height / width)
    drawing = Drawing(figsize=figsize, layout=ConstrainedLayoutEngine(w_pad=0.04))
    axes = drawing.subplots(1, max(1, len(learners)), squeeze=False, sharey=True)[0]
    small = 6 if size is not None else 8
    for axis, learner in zip(axes, learners, strict=False):
        _panel(axis, found, learner, places, bottom - 1.0, small)
        axis.set_title(learner, fontsize=small + 2.5, fontweight="bold", parse_math=False)
    _name_cells(axes[0], found, places, bottom - 1.0, small)
    axes[0].set_ylim(bottom - 0.2, -1.6)
    if size is None:
        title = f"Regret beside that of {found.against}: {found.shared_seeds}, {found.impressions:,} impressions"
        drawing.suptitle(title, fontsize=12, x=0.01, ha="left", parse_math=False)
    return drawing


def _places(found: Findings) -> dict[tuple[str, str], float]:
    """How far down each cell stands; collections are apart."""
    made: dict[tuple[str, str], float] = {}
    at, before = 0.0, None
    for collection, user in found.cells:
        if before is not None:
            at += 1.0 if collection == before else 1.0 + _GAP
        made[collection, user] = at
        before = collection
    return made


def _panel(
    axis: Any, found: Findings, learner: str, places: dict[tuple[str, str], float], mean_at: float, small: int
) -> None:
    left = _left(found)
    axis.axvspan(left, GOAL, color=_LOW, alpha=0.07, linewidth=0)
    axis.axvspan(GOAL, BAR, color=_MIDDLE, alpha=0.08, linewidth=0)
    axis.axvline(1.0, color="#333333", linewidth=1.0)
    for row in found.of(learner):
        _point(axis, row, places[row.collection, row.user], small, left)
    mean = next((one for one in found.averages if one.learner == learner), None)
    if mean is not None and mean.ratio is not None:
        x = min(max(mean.ratio, left), _RIGHT)
        axis.plot([x], [mean_at], "D", color=_colour(mean.ratio), markersize=8, markeredgecolor="#222222")
        side = x + 0.07 if x < 0.9 else x - 0.07
        axis.text(side, mean_at, text_of(mean.ratio, None, None), va="center", ha="left" if x < 0.9 else "right",
                  fontsize=small + 3, fontweight="bold")  # fmt: skip
    axis.set_xlim(left, _RIGHT)
    if left < 0.0:
        axis.axvline(0.0, color="#999999", linewidth=0.6)
    axis.set_xticks([0.0, 0.5, 1.0, 1.5], ["0", "½", "1", "1½"])
    axis.tick_params(axis="both", length=0)
    axis.tick_params(axis="x", labeltop=True)
    axis.grid(visible=False)
    for side_name in ("left", "bottom"):
        axis.spines[side_name].set_visible(False)


def _left(found: Findings) -> float:
    """Where panels begin: at 0, unless somebody's pages are better than the skyline's."""
    return _LEFT if any(row.ratio is not None and row.ratio < 0.0 for row in found.rows) else 0.0


def _point(axis: Any, row: Row, at: float, small: int, left: float) -> None:
    if row.ratio is None:
        axis.text(1.03, at, "no ratio", fontsize=small - 1, color="#888888", va="center")
        return
    colour = _colour(row.ratio)
    if row.low is not None and row.high is not None and left <= row.ratio < _RIGHT:
        ends = max(left, min(row.low, _RIGHT)), min(_RIGHT, max(row.high, left))
        axis.plot(ends, [at, at], color=colour, linewidth=1.6, alpha=0.75)
    if left <= row.ratio < _RIGHT:
        axis.plot([row.ratio], [at], "o", color=colour, markersize=4.6)
        return
    edge, inward, mark, side = (left, 1, "<", "left") if row.ratio < left else (_RIGHT, -1, ">", "right")
    axis.plot([edge + 0.03 * inward], [at], mark, color=colour, markersize=4.6)
    label = text_of(row.ratio, None, None)
    axis.text(edge + 0.08 * inward, at, label, fontsize=small - 1, color=colour, ha=side, va="center")


def _colour(ratio: float) -> str:
    if ratio <= GOAL:
        return _LOW
    return _MIDDLE if ratio <= BAR else _HIGH if ratio <= 1 else _WORSE


def _name_cells(axis: Any, found: Findings, places: dict[tuple[str, str], float], mean_at: float, small: int) -> None:
    """People beside the lines, collections above their block, in bold."""
    axis.set_yticks([*places.values(), mean_at], [*(user for _, user in places), "mean over cells"], fontsize=small,
                    parse_math=False)  # fmt: skip
    axis.get_yticklabels()[-1].set_fontweight("bold")
    levels: dict[str, list[float]] = {}
    for one in found.skylines:
        levels.setdefault(one.collection, []).append(one.online)
    for collection in dict.fromkeys(collection for collection, _ in places):
        top = min(at for (where, _), at in places.items() if where == collection)
        level = levels.get(collection)
        name = f"{collection}   S = {sum(level) / len(level):.0f}" if level else collection
        axis.annotate(name, (0, top - 0.92), (-4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                      ha="right", va="center", fontsize=small, fontweight="bold", annotation_clip=False,
                      parse_math=False)  # fmt: skip
