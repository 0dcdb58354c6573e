"""How numbers and times look on the page: with separators, as many digits as they deserve, and their interval."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from rankloop.web.dashboard.intervals import Estimate

MISSING = "–"


def count(value: float | None) -> str:
    """A count; clicks that are graded may have a fraction.

    >>> count(12345), count(2.5), count(None)
    ('12,345', '2.5', '–')
    """
    if value is None:
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def number(value: float | None) -> str:
    """A measured number.

    >>> number(0.12345), number(-3.0), number(1234.5), number(0.00002)
    ('0.123', '−3.000', '1,234.5', '0.00002')
    """
    if value is None:
        return MISSING
    size = abs(value)
    if 0 < size < 0.001:
        told = f"{value:.5f}" if size >= 1e-5 else f"{value:.0e}"
    else:
        told = f"{value:,.1f}" if size >= 100 else f"{value:.2f}" if size >= 10 else f"{value:.3f}"
    return told.replace("-", "−")


def signed(value: float | None) -> str:
    """A difference, always with its sign.

    >>> signed(0.25), signed(-1.0)
    ('+0.250', '−1.000')
    """
    return f"+{number(value)}" if value is not None and value > 0 else number(value)


def estimate(value: Estimate) -> str:
    """A value with its interval.

    >>> estimate(Estimate(0.5, 0.4, 0.6)), estimate(Estimate(None))
    ('0.500 (0.400 to 0.600)', '–')
    """
    if value.low is None or value.high is None:
        return number(value.value)
    return f"{number(value.value)} ({number(value.low)} to {number(value.high)})"


def percent(value: float | None) -> str:
    """A probability or share.

    >>> percent(0.5), percent(0.0123), percent(1.0)
    ('50 %', '1.2 %', '100 %')
    """
    if value is None:
        return MISSING
    shown = 100 * value
    if 0 < shown < 0.1:
        return f"{shown:.1g} %"
    return f"{shown:.0f} %" if shown >= 10 else f"{shown:.1f} %"


def milliseconds(seconds: float | None) -> str:
    """A time to answer.

    >>> milliseconds(0.00234), milliseconds(1.5)
    ('2.3 ms', '1,500 ms')
    """
    if seconds is None:
        return MISSING
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def seconds(value: float) -> str:
    """A delay.

    >>> seconds(0.0), seconds(0.42), seconds(90), seconds(7200)
    ('0 s', '0.4 s', '90 s', '2.0 h')
    """
    if value >= 3600:
        return f"{value / 3600:.1f} h"
    return f"{value:.0f} s" if value == 0 or value >= 10 else f"{value:.1f} s"


def when(milliseconds: int) -> Markup:
    """A moment: UTC for machines and for browsers without scripts, which put it into the viewer's zone otherwise."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    shown = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}">{}</time>').format(f"{at:%Y-%m-%dT%H:%M:%S}Z", shown)


FILTERS: dict[str, Callable[..., Any]] = {
    "count": count,
    "number": number,
    "signed": signed,
    "estimate": estimate,
    "percent": percent,
    "milliseconds": milliseconds,
    "seconds": seconds,
    "when": when,
}
