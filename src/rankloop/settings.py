"""Checks for settings, in one place: each failure is a sentence with the name, the value and what is allowed."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rankloop.errors import SettingsError


def require_number(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> None:
    """Refuse anything but a finite number within the bounds.

    >>> require_number("ROLTR", "discount", 1.5, at_least=0, at_most=1)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: ROLTR: discount must be a number, at least 0 and at most 1; got 1.5
    """
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value) and above < value and at_least <= value <= at_most):
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (("above", above), ("at least", at_least), ("at most", at_most))
            if math.isfinite(bound)
        ]
        allowed = f"a number, {' and '.join(bounds)}" if bounds else "a finite number"
        raise SettingsError(f"{owner}: {name} must be {allowed}; got {value!r}")


def require_whole_number(owner: str, name: str, value: Any, *, at_least: int = 0) -> None:
    """Refuse anything but a whole number that is large enough.

    >>> require_whole_number("simulate", "impressions", 0.5)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: simulate: impressions must be a whole number, at least 0; got 0.5
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not (is_whole and value >= at_least):
        raise SettingsError(
            f"{owner}: {name} must be a whole number, at least {at_least}; got {value!r}"
        )


def require_choice(owner: str, name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse anything that is not one of the named choices.

    >>> require_choice("ROLTR", "reward", "ips", ["ips+", "ips-"])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: ROLTR: reward must be one of 'ips+', 'ips-'; got 'ips'
    """
    choices = list(choices)
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise SettingsError(f"{owner}: {name} must be one of {listed}; got {value!r}")


def require_probabilities(
    owner: str, name: str, values: Any, *, zero_allowed: bool = True
) -> tuple[float, ...]:
    """The values as a tuple of floats in [0, 1] (or (0, 1]); refuse an empty or impossible one.

    >>> require_probabilities("PositionBased", "attraction", [0.1, 2.0])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: PositionBased: attraction[1] must be a probability in [0, 1]; got 2.0
    """
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or len(values) == 0:
        raise SettingsError(f"{owner}: {name} must be a list of probabilities; got {values!r}")
    for index, value in enumerate(values):
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not (0 <= value <= 1) or (value == 0 and not zero_allowed):
            interval = "[0, 1]" if zero_allowed else "(0, 1]"
            raise SettingsError(
                f"{owner}: {name}[{index}] must be a probability in {interval}; got {value!r}"
            )
    return tuple(float(value) for value in values)
