"""Pages of the log with other values of what happened on them: what they would have been worth."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from rankloop.live.events import ENDED, Closing, Event, Kind, Late, decode, encode
from rankloop.live.settings import ModelSettings

Values = Mapping[str, float]


def revalued(event: Event, own: ModelSettings, other: ModelSettings) -> Event:
    """A closing, or what came late, as it would have been with the other settings' values; any other event as it is."""
    if event.kind not in ENDED or own.actions == other.actions:
        return event
    body: Closing | Late = decode(event.kind, event.body)
    changed = replace(body, clicks=worth(body.clicks, body.actions, own.actions, other.actions))
    if isinstance(changed, Late):
        changed = replace(changed, before=worth(changed.before, changed.actions_before, own.actions, other.actions))
    return event._replace(body=encode(changed))


def with_late(closing: Event, newest: Event | None) -> Event:
    """A closing with what came after it; `newest` is the last that is known of the page."""
    if newest is None or newest.kind != Kind.LATE:
        return closing
    late: Late = decode(newest.kind, newest.body)
    body: Closing = decode(closing.kind, closing.body)
    return closing._replace(body=encode(replace(body, clicks=late.clicks, actions=late.actions)))


def worth(values: Sequence[float], actions: Sequence[int], old: Values, new: Values) -> list[float]:
    """What each rank would have been worth. A click that came with a value of its own keeps it.

    >>> worth([0.5, 1.0, 0.7, 0.0], [1, 3, 1, 0], {"click": 0.5, "buy": 1.0}, {"click": 0.25, "buy": 1.0})
    [0.25, 1.0, 0.7, 0.0]
    """
    happened = actions or [int(value > 0) for value in values]  # where a click is all there is
    return [
        _most(new, done) if np.float32(value) == np.float32(_most(old, done)) else value
        for value, done in zip(values, happened, strict=True)
    ]


def _most(worth: Values, done: int) -> float:
    """The most valuable of the actions that happened."""
    return max((value for place, value in enumerate(worth.values()) if done >> place & 1), default=0.0)
