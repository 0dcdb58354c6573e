"""How the verdict came about: what was known as pages came, and since when the answer is what it is.

A state keeps the course of its comparison with the control group (`rankloop.live.course`), so nothing is computed anew
from the log. Of the time before it was kept, states hold the sums as they were then.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rankloop.live.course import Point
from rankloop.live.events import Event, Kind
from rankloop.live.guard import Guard
from rankloop.live.settings import Guards
from rankloop.web.dashboard.verdict import Verdict, verdict


class Known(NamedTuple):
    """What was known at a moment."""

    at: int
    """Milliseconds since 1970."""
    version: int
    verdict: Verdict


def known_at(at: int, version: int, guard: Guard, guards: Guards) -> Known:
    """What a kept state says about the comparison."""
    return Known(at, version, verdict(guard, guards))


def followed(states: Sequence[Known], course: Sequence[Point]) -> list[Known]:
    """What states say from before the course begins, the course, and what the newest state says."""
    points = [Known(one.at, one.version, Verdict(one.tone, "", "", one.gain, one.low, one.high)) for one in course]
    if not points or not states:
        return [*states, *points]
    return [one for one in states if one.at < points[0].at] + points + [states[-1]]


class Since(NamedTuple):
    """When the answer became what it is: at the latest at `at`, and not yet at `before` (None: nothing is known from
    before)."""

    at: int
    version: int
    before: int | None
    before_version: int | None = None


def since(trail: Sequence[Known], tone: str) -> Since | None:
    """The beginning of the newest unbroken run of an answer, oldest first; None if the newest is another one."""
    if not trail or trail[-1].verdict.tone != tone:
        return None
    first = len(trail) - 1
    while first and trail[first - 1].verdict.tone == tone:
        first -= 1
    before = trail[first - 1] if first else None
    return Since(
        trail[first].at, trail[first].version, before.at if before else None, before.version if before else None
    )


def before_worse(states: Sequence[Known]) -> Known | None:
    """Of kept states, oldest first, the newest at which the order was not losing; None if it never did better."""
    held = [one for one in states if one.verdict.gain is not None and one.verdict.gain >= 0]
    return held[-1] if held else None


def decided(trail: Sequence[Known]) -> Verdict | None:
    """What was known when the guard last came on."""
    known = [one.verdict for one in trail if one.verdict.gain is not None]
    return known[-1] if known and known[-1].tone == "bad" else None


class Anew(NamedTuple):
    """When a decision made the comparison begin anew, what it was, and what was known before it (None: nothing)."""

    at: int
    what: str
    before: Verdict | None


ANEW: dict[int, str] = {
    Kind.ROLLED_BACK: "the rollback",
    Kind.PROMOTED: "the promotion of a challenger",
    Kind.REFOLDED: "the model relearned its log",
}


def began_anew(decisions: Sequence[Event], guard: Guard | None, trail: Sequence[Known]) -> Anew | None:
    """The decision that the comparison began with; None if it began with the model, or after a trial."""
    event = next((one for one in decisions if guard and one.offset == guard.since and one.kind in ANEW), None)
    if event is None:
        return None
    before = [one.verdict for one in trail if one.at <= event.at and one.verdict.gain is not None]
    return Anew(event.at, ANEW[event.kind], before[-1] if before else None)


def points(trail: Sequence[Known]) -> list[tuple[float, float | None, float | None, float | None]]:
    """(seconds, gain, low, high), in percent; nothing where nobody could say, and none at all without two that make a
    line."""
    made: list[tuple[float, float | None, float | None, float | None]] = []
    for one in trail:
        found = one.verdict
        if found.gain is None or found.low is None or found.high is None:
            made.append((one.at / 1000, None, None, None))
        else:
            made.append((one.at / 1000, 100 * found.gain, 100 * found.low, 100 * found.high))
    if sum(one[1] is not None for one in made) < 2:
        return []
    while made and made[0][1] is None:
        made.pop(0)
    return made
