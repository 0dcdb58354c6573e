"""How the comparison with the control group went: what was known of the gain, page by page, in a few dozen points.

Kept with the state, and apart from the states that one can roll back to: these are thinned out, and since when a model
helps must not change with them. Points are as many pages apart, and further as there are more; where the answer last
changed, and where the comparison last began anew, none is dropped.
"""

import math
from typing import Any, NamedTuple, Self

import msgspec

from rankloop.live.guard import GroupComparison, Guard
from rankloop.live.settings import ModelSettings

MOST = 80
"""Points that are kept."""
EVERY = 10
"""Compared pages between two points, in the beginning."""


class Point(NamedTuple):
    """What was known at a moment (milliseconds since 1970): good, open or bad, and the gain with its interval, as
    shares of the control's clicks; None where nobody could say."""

    at: int
    version: int
    tone: str
    gain: float | None = None
    low: float | None = None
    high: float | None = None


class KeptCourse(msgspec.Struct):
    """As states keep it."""

    since: int | None
    every: int
    passed: int
    pages: int
    points: list[Point]


class Course:
    """Follows a guard's comparison."""

    def __init__(self, kept: KeptCourse | None = None) -> None:
        self._since = kept.since if kept else None
        self._every = kept.every if kept else EVERY
        self._passed = kept.passed if kept else 0
        """Compared pages since the newest point."""
        self._pages = kept.pages if kept else 0
        self.points = list(kept.points) if kept else []

    @classmethod
    def of(cls, settings: ModelSettings, kept: KeptCourse | None = None) -> Self | None:
        """None for a model that is not compared."""
        return cls(kept) if settings.guards.compares and settings.challenges is None else None

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        return {
            "since": self._since,
            "every": self._every,
            "passed": self._passed,
            "pages": self._pages,
            "points": self.points,
        }

    def follow(self, guard: Guard, at: int, version: int) -> None:
        """The guard has taken in a page, or was told to begin anew."""
        found = guard.found
        if self._since is None:
            self._since = guard.since
        if guard.since != self._since:
            if found is not None:
                self._add(_point(at, version, found))
            self._since = guard.since
            self._add(Point(at, version, "bad" if guard.is_on else "open"))
        elif found is not None and not guard.is_on:
            self._passed, self._pages = self._passed + 1, self._pages + 1
            point = _tone(found)
            if not self.points or self.points[-1].tone != point or self._passed >= self._every:
                self._add(_point(at, version, found))

    def _add(self, point: Point) -> None:
        self._passed = 0
        self.points = [*self.points, point]
        if len(self.points) > MOST:
            held = self._held()
            self.points = [one for place, one in enumerate(self.points) if place % 2 == 0 or place in held]
            self._every = max(self._every, 2 * self._pages // MOST)

    def _held(self) -> set[int]:
        """The last point, and those around the newest change of the answer and the newest beginning."""
        points, last = self.points, len(self.points) - 1
        changed = next((place for place in range(last, 0, -1) if points[place].tone != points[place - 1].tone), 0)
        anew = next((place for place in range(last, 0, -1) if points[place].gain is None), 0)
        return {last, changed, changed - 1, anew, anew - 1}


def began_later(kept: Any, whole: Any) -> bool:
    """Whether one of two courses, as states keep them, lacks pages that the other followed."""
    if whole is None or kept is None:
        return whole is not None
    return isinstance(kept, dict) and bool(kept.get("pages", 0) < whole["pages"])


def _tone(found: GroupComparison) -> str:
    return "open" if not found.is_clear else "good" if found.learned > found.incoming else "bad"


def _point(at: int, version: int, found: GroupComparison) -> Point:
    value, low, high = found.ratio()
    if math.isinf(value):
        return Point(at, version, _tone(found))
    return Point(at, version, _tone(found), value - 1, low - 1, high - 1)
