"""A replay as a picture: what each policy would have earned, and the weights side by side."""

from pathlib import Path
from typing import Any

import numpy as np

from rankloop.errors import DataError
from rankloop.logs.replay.estimating import Value
from rankloop.logs.replay.replaying import Replayed

MOST_WEIGHTS = 15
FORMATS = (".png", ".svg", ".pdf")


def require_drawable(path: Path) -> None:
    """Refuse a name that does not say in which format to draw."""
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"cannot draw {path}: its name must end with one of {', '.join(FORMATS)}")


def draw(replayed: Replayed, path: Path) -> None:
    """Write the picture; the ending of the name says in which format."""
    require_drawable(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    evaluation = replayed.evaluation
    _draw_values(left, evaluation.values if evaluation else [], evaluation.unit if evaluation else "clicks")
    _draw_weights(right, replayed)
    figure.suptitle(f"{replayed.model}, replayed from {replayed.begins} with {replayed.settings['learner']['learner']}")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None


def _draw_values(axes: Any, values: list[Value], unit: str) -> None:
    shown = [value for value in values if value.estimate.value is not None and value.method != "clipped"]
    axes.set_title(f"estimated {unit} per page, 95 % intervals")
    if not shown:
        axes.text(0.5, 0.5, "no estimate", ha="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    middle = np.array([value.estimate.value for value in shown])
    low, high = (np.array([getattr(value.estimate, end) for value in shown]) for end in ("low", "high"))
    places = np.arange(len(shown))[::-1]
    axes.errorbar(middle, places, xerr=[middle - low, high - middle], fmt="o", capsize=3)
    axes.set_yticks(places, [f"{value.policy}: {value.estimator}, {value.method}" for value in shown], fontsize=8)


def _draw_weights(axes: Any, replayed: Replayed) -> None:
    mine, theirs = np.array(replayed.weights), np.array(replayed.live_weights)
    if replayed.distance is None:
        axes.text(0.5, 0.5, "rankers of different kinds", ha="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    chosen = np.argsort(-np.maximum(np.abs(mine), np.abs(theirs)), kind="stable")[:MOST_WEIGHTS][::-1]
    places = np.arange(len(chosen))
    axes.set_title("weights at the end of the log")
    axes.barh(places + 0.2, mine[chosen], 0.4, label="replayed")
    axes.barh(places - 0.2, theirs[chosen], 0.4, label="live")
    axes.set_yticks(places, [replayed.features[place] for place in chosen], fontsize=8)
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.legend(fontsize=8)
