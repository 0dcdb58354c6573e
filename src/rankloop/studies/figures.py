"""Pictures of results. One calm style, colours that survive colour blindness, intervals as bands."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from rankloop.studies.grid import Results
from rankloop.studies.statistics import interval

# Okabe and Ito's palette; ROLTR, the subject, gets the strongest colour.
COLOURS = {
    "ROLTR": "#D55E00",
    "PDGD": "#0072B2",
    "COLTR": "#009E73",
    "PMGD": "#CC79A7",
    "DBGD": "#E69F00",
    "MDPRank": "#555555",
}


def learning_curves(results: Results, path: Path) -> Path:
    """Offline nDCG@10 over impressions, one panel per user, bands are 95 % intervals over repeats."""
    grid = results.grid
    figure, axes = plt.subplots(1, len(grid.users), figsize=(5.2 * len(grid.users), 4.0), sharey=True, squeeze=False)
    for axis, user in zip(axes[0], grid.users, strict=True):
        for learner in grid.learners:
            _curve(axis, results, learner.name, user)
        axis.set_title(f"{user} clicks", fontsize=11)
        axis.set_xlabel("impressions")
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
        axis.set_xlim(0, grid.impressions)
        axis.grid(alpha=0.25, linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("nDCG@10 on held-out queries")
    _label_lines(axes[0, -1], results)
    repeats = "1 repeat" if grid.repeats == 1 else f"mean of {grid.repeats} repeats, 95 % intervals"
    figure.suptitle(f"Learning from clicks on {grid.data}: {repeats}", fontsize=11, x=0.06, ha="left")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)
    return path


def _curve(axis: Axes, results: Results, learner: str, user: str) -> None:
    curves = np.array([run.offline_curve for run in results.of(learner, user)])
    at, values = curves[0, :, 0], curves[:, :, 1]
    mean = values.mean(axis=0)
    style = "--" if learner == "MDPRank" else "-"
    colour = COLOURS.get(learner, "#000000")
    axis.plot(at, mean, style, color=colour, linewidth=1.8, label=learner)
    if len(values) > 1:
        half = np.array([interval(column).half_width for column in values.T])
        axis.fill_between(at, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)


def _label_lines(axis: Axes, results: Results) -> None:
    """Names at the lines' right ends, pushed apart where they would overlap: no legend to look up."""
    ends = sorted(
        (float(np.asarray(line.get_ydata())[-1]), str(line.get_label()), line.get_color()) for line in axis.lines
    )
    low, high = axis.get_ylim()
    gap, previous = (high - low) * 0.055, -np.inf
    for value, name, colour in ends:
        previous = max(value, previous + gap)
        label = f"{name} (true grades)" if name == "MDPRank" else name
        axis.annotate(
            label, (1.02, previous), xycoords=("axes fraction", "data"),
            color=colour, fontsize=9, va="center", annotation_clip=False,
        )  # fmt: skip
