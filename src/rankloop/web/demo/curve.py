"""The curve as a drawing: how well each ranking matches what the visitors want, visit by visit.

It is drawn here and not in the browser: it is a few hundred points, its words are text, and it needs no script.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rankloop.web.demo.crowd import Point
from rankloop.web.demo.tastes import TASTES

WIDTH, HEIGHT = 340, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 26, 98, 42, 36  # room for the numbers, the lines' names, the marks' words, the axis
_LINE = 18  # between two lines of text
FEWEST = 1000
"""Visits for which there is room from the beginning, so that the curve grows and the axis stands."""


class CurveLine(NamedTuple):
    """One ranking: its strokes, each as an SVG polyline has its points, and its name beside its last value."""

    name: str
    label: str
    strokes: list[str]
    end: tuple[float, float]
    value: int
    label_y: float


class TasteMark(NamedTuple):
    """Where other visitors began to come: what these want. The words stand on one of two levels, left or right."""

    x: float
    label: str
    level: float
    anchor: str


class Tick(NamedTuple):
    """A number on an axis."""

    at: float
    label: str


class Curve(NamedTuple):
    """Everything that a template draws, in units of a drawing WIDTH by HEIGHT."""

    lines: list[CurveLine]
    marks: list[TasteMark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM


NAMES = {"model": "this search", "rival": "rival", "engine": "engine alone"}
"""What is drawn, by its name in a point."""


def percent(value: float) -> int:
    """nDCG as a page tells it: 100 is the best order there is.

    >>> percent(0.946)
    95
    """
    return round(100 * value)


def curve_of(points: Sequence[Point], sent: int) -> Curve:
    """The drawing of these points, with room for as many visits as have been sent; no lines without points.

    >>> curve_of([Point(0, "readers", 0.5, 0.5), Point(100, "readers", 0.75, 0.5)], 100).lines[0].value
    75
    """
    most = max(FEWEST, sent)
    lines = [_line(name, label, points, most) for name, label in NAMES.items() if _has(points, name)]
    return Curve(
        _apart(lines),
        _marks(points, most),
        [Tick(_x(visits, most), f"{visits:,}") for visits in (0, most // 2, most)],
        [Tick(_y(value / 100), str(value)) for value in (0, 50, 100)],
    )


def _x(visits: float, most: int) -> float:
    return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * visits / most, 1)


def _y(value: float) -> float:
    return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value, 1)


def _has(points: Sequence[Point], name: str) -> bool:
    return bool(points) and getattr(points[-1], name) is not None


def _phases(points: Sequence[Point]) -> Iterable[list[Point]]:
    """The points in stretches of one taste each: a value for one taste says nothing of the next one's."""
    begins = [0, *(at for at, (one, next) in enumerate(pairwise(points), 1) if one.taste != next.taste), len(points)]
    return (list(points[begin:end]) for begin, end in pairwise(begins))


def _line(name: str, label: str, points: Sequence[Point], most: int) -> CurveLine:
    strokes = [
        " ".join(f"{_x(point.visits, most)},{_y(getattr(point, name))}" for point in phase)
        for phase in _phases(points)
        if len(phase) > 1
    ]
    last = getattr(points[-1], name)
    end = (_x(points[-1].visits, most), _y(last))
    return CurveLine(name, label, strokes, end, percent(last), end[1])


def _apart(lines: list[CurveLine]) -> list[CurveLine]:
    """The lines with their names moved so far apart that each can be read, none below the axis."""
    placed: dict[str, float] = {}
    lowest = float(HEIGHT - _BOTTOM + _LINE)
    for line in sorted(lines, key=lambda line: -line.end[1]):  # from the bottom up
        lowest = min(line.end[1], lowest - _LINE)
        placed[line.name] = lowest
    return [line._replace(label_y=round(placed[line.name] + 4, 1)) for line in lines]


def _marks(points: Sequence[Point], most: int) -> list[TasteMark]:
    """A mark where each taste begins; none while there has been only one. The last two say what it is."""
    begins = {phase[0].visits: phase[0].taste for phase in _phases(points)} if points else {}
    if len(begins) < 2:
        return []
    marks = [
        TasteMark(_x(visits, most), TASTES[taste].wants, _TOP - 10 - _LINE * (at % 2), _anchor(visits, most))
        for at, (visits, taste) in enumerate(begins.items())
    ]
    return [mark._replace(label="") for mark in marks[:-2]] + marks[-2:]


def _anchor(visits: int, most: int) -> str:
    return "start" if visits <= 0.6 * most else "end"
