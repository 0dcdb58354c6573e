"""The filters that the dashboard's templates print numbers and times with."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from rankloop.display import count, duration, milliseconds, number, percent, signed
from rankloop.web.dashboard.intervals import Estimate
from rankloop.web.dashboard.verdict import signed_share


def estimate(value: Estimate) -> str:
    """A value with its interval.

    >>> estimate(Estimate(0.5, 0.4, 0.6)), estimate(Estimate(None))
    ('0.500 (0.400 to 0.600)', '–')
    """
    if value.low is None or value.high is None:
        return number(value.value)
    return f"{number(value.value)} ({number(value.low)} to {number(value.high)})"


def when(milliseconds: int) -> Markup:
    """A moment: UTC for machines and for browsers without scripts, which put it into the viewer's zone otherwise."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    shown = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}">{}</time>').format(f"{at:%Y-%m-%dT%H:%M:%S}Z", shown)


def moment(milliseconds: int) -> Markup:
    """The same for a sentence: without the year and the seconds."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    shown = f"{at:%-d %b, %H:%M} UTC"
    return Markup('<time datetime="{}" data-brief="yes">{}</time>').format(f"{at:%Y-%m-%dT%H:%M:%S}Z", shown)


def unbroken(text: str) -> str:
    """A number stays on the line of its unit, as in “+12 %”.

    >>> unbroken("at least +12 %")
    'at least +12\xa0%'
    """
    return text.replace(" %", "\xa0%")


FILTERS: dict[str, Callable[..., Any]] = {
    shown.__name__: shown
    for shown in (
        count,
        number,
        signed,
        estimate,
        percent,
        milliseconds,
        duration,
        when,
        moment,
        signed_share,
        unbroken,
    )
}
