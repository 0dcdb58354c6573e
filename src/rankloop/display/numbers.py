"""Numbers as people read them, the same on pages, in reports and in terminals."""

import math
from collections.abc import Sequence

MISSING = "–"


def count(value: float | None) -> str:
    """A count; graded clicks may have a fraction, of which a small one must not look like nothing.

    >>> count(12345), count(2.5), count(0.02), count(0.1 + 0.2), count(None)
    ('12,345', '2.5', '0.02', '0.3', '–')
    """
    if value is None:
        return MISSING
    if abs(value - round(value)) < 1e-9:
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "run"), counted(1500, "run"), counted(2, "study", "studies")
    ('1 run', '1,500 runs', '2 studies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{in_a_row(names[:-1])} and {names[-1]}"


def in_a_row(names: Sequence[str]) -> str:
    """Names one after the other, told apart even if they hold commas.

    >>> in_a_row(["a", "b"]), in_a_row(["a", "a, wide", "b"])
    ('a, b', 'a; a, wide; b')
    """
    return ("; " if any("," in name for name in names) else ", ").join(names)


def number(value: float | None) -> str:
    """A measured number, with about three digits.

    >>> number(0.12345), number(-3.0), number(1234.5), number(0.00002)
    ('0.123', '−3.000', '1,234.5', '0.00002')
    """
    if value is None:
        return MISSING
    magnitude = abs(value)
    if 0 < magnitude < 0.001:
        text = f"{value:.5f}" if magnitude >= 1e-5 else f"{value:.0e}"
    else:
        text = f"{value:,.1f}" if magnitude >= 100 else f"{value:.2f}" if magnitude >= 10 else f"{value:.3f}"
    return text.replace("-", "−")


def signed(value: float | None, digits: int | None = None) -> str:
    """A difference, with its sign and a real minus; what rounds to 0 has none.

    >>> signed(0.25), signed(-1.0), signed(-1.5, 1), signed(0.0001, 2)
    ('+0.250', '−1.000', '−1.5', '0.00')
    """
    if value is None:
        return MISSING
    text = number(abs(value)) if digits is None else f"{abs(value):.{digits}f}"
    return text if value == 0 or text.strip("0.") == "" else ("−" if value < 0 else "+") + text


def mean_text(mean: float, half_width: float, digits: int) -> str:
    """A mean with its interval, which a single run does not have.

    >>> mean_text(587.456, 3.1, 2), mean_text(0.5, math.nan, 4)
    ('587.46 ± 3.10', '0.5000')
    """
    return f"{mean:.{digits}f}" + (f" ± {half_width:.{digits}f}" if math.isfinite(half_width) else "")


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


def p_value(p: float | None) -> str:
    """A p-value.

    >>> p_value(0.0312), p_value(0.00000012), p_value(0.51), p_value(float("nan"))
    ('0.031', '< 0.0001', '0.51', '–')
    """
    if p is None or math.isnan(p):
        return MISSING
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def p_equals(p: float | None) -> str:
    """A p-value for a sentence, after the letter.

    >>> p_equals(0.0312), p_equals(0.00000012)
    ('= 0.031', '< 0.0001')
    """
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"


def milliseconds(seconds: float | None) -> str:
    """A response time.

    >>> milliseconds(0.00234), milliseconds(1.5)
    ('2.3 ms', '1,500 ms')
    """
    if seconds is None:
        return MISSING
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def duration(seconds: float) -> str:
    """A stretch of time.

    >>> duration(0.42), duration(5), duration(200), duration(8000), duration(86_400)
    ('0.4 s', '5 s', '3 min', '2 h 13 min', '24 h')
    """
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 2:
        return f"{60 * hours + minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(number: float) -> str:
    """Bytes.

    >>> size(1_500_000), size(12)
    ('1.5 MB', '12 B')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
