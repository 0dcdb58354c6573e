"""How things look to people, on pages, in reports, terminals and notebooks: numbers, tables, progress, pictures."""

from rankloop.display.numbers import (
    MISSING,
    count,
    counted,
    duration,
    in_a_row,
    listed,
    mean_text,
    milliseconds,
    number,
    p_equals,
    p_value,
    percent,
    signed,
    size,
)

__all__ = [
    "MISSING",
    "count",
    "counted",
    "duration",
    "in_a_row",
    "listed",
    "mean_text",
    "milliseconds",
    "number",
    "p_equals",
    "p_value",
    "percent",
    "signed",
    "size",
]
