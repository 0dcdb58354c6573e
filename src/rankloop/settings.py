"""Checks for settings, in one place: each failure is a sentence with the name, the value and what is allowed.

The client checks its settings here too, so NumPy is loaded only by what needs it. A struct of settings says what each
of them may be in its annotation, once:

    discount: Annotated[float, number(at_least=0, at_most=1)] = 0.0

and `check_settings(self)` in its `__post_init__` holds it to that.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from rankloop.errors import SettingsError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a live model or an API key may be called: it is part of addresses."""


def require_number(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """The value as a float; refuse anything but a finite number within the bounds.

    >>> require_number("ROLTR", "discount", 1.5, at_least=0, at_most=1)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: ROLTR: discount must be a number, at least 0 and at most 1; got 1.5
    """
    if not (is_finite(value) and above < value and at_least <= value <= at_most):
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (("above", above), ("at least", at_least), ("at most", at_most))
            if math.isfinite(bound)
        ]
        allowed = f"a number, {' and '.join(bounds)}" if bounds else "a finite number"
        raise SettingsError(f"{owner}: {name} must be {allowed}; got {value!r}")
    return float(value)


def require_whole_number(owner: str, name: str, value: Any, *, at_least: int = 0, at_most: int | None = None) -> int:
    """The value as an int; refuse anything but a whole number within the bounds.

    >>> require_whole_number("simulate", "impressions", 0.5)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: simulate: impressions must be a whole number, at least 0; got 0.5
    """
    if not (is_whole(value) and value >= at_least):
        raise SettingsError(f"{owner}: {name} must be a whole number, at least {at_least}; got {value!r}")
    if at_most is not None and value > at_most:
        raise SettingsError(f"{owner}: {name} must be at most {at_most}; got {counted(value)}")
    return int(value)


def require_seed(owner: str, value: Any) -> int:
    """The value as an int; refuse anything but a whole number that fits 64 bits.

    >>> require_seed("simulate", -1)
    Traceback (most recent call last):
    rankloop.errors.SettingsError: simulate: seed must be a whole number from 0 to 2^64 − 1; got -1
    """
    if not (is_whole(value) and 0 <= value < 2**64):
        raise SettingsError(f"{owner}: seed must be a whole number from 0 to 2^64 − 1; got {value!r}")
    return int(value)


def require_flag(owner: str, name: str, value: Any) -> bool:
    """The value as a bool; refuse anything but True and False."""
    import numpy as np

    if not isinstance(value, (bool, np.bool_)):
        raise SettingsError(f"{owner}: {name} must be True or False; got {value!r}")
    return bool(value)


def require_choice(owner: str, name: str, value: Any, choices: Iterable[str]) -> str:
    """The value; refuse anything that is not one of the named choices.

    >>> require_choice("ROLTR", "reward", "ips", ["ips+", "ips-"])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: ROLTR: reward must be one of 'ips+', 'ips-'; got 'ips'
    """
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise SettingsError(f"{owner}: {name} must be one of {listed}; got {value!r}")
    return str(value)


def require_probabilities(owner: str, name: str, values: Any) -> tuple[float, ...]:
    """The values as a tuple of floats in [0, 1]; refuse an empty or impossible list.

    >>> require_probabilities("PositionBased", "attraction", [0.1, 2.0])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: PositionBased: attraction[1] must be a probability in [0, 1]; got 2.0
    """
    for index, value in enumerate(_listed(owner, name, values, "probabilities")):
        if not (is_number(value) and 0 <= value <= 1):
            raise SettingsError(f"{owner}: {name}[{index}] must be a probability in [0, 1]; got {value!r}")
    return tuple(float(value) for value in values)


def require_numbers(owner: str, name: str, values: Any) -> tuple[float, ...]:
    """The values as a tuple of floats; refuse an empty list and anything that is not a finite number.

    >>> require_numbers("FixedWeights", "weights", [1.0, math.nan])
    Traceback (most recent call last):
    rankloop.errors.SettingsError: FixedWeights: weights[1] must be a finite number; got nan in [1.0, nan]
    """
    for index, value in enumerate(_listed(owner, name, values, "numbers")):
        if not is_finite(value):
            raise SettingsError(f"{owner}: {name}[{index}] must be a finite number; got {value!r} in {values!r}")
    return tuple(float(value) for value in values)


def parse_value(text: str) -> Any:
    """A value from the command line, as TOML writes it; a bare word is text, so that nobody has to quote it.

    >>> parse_value("0.5"), parse_value("[1, 2]"), parse_value("ips+")
    (0.5, [1, 2], 'ips+')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse_setting(text: str) -> Any:
    """A value of a setting as JSON writes it, or TOML; a bare word is text, so that nobody has to quote it.

    >>> parse_setting("0.03"), parse_setting("naive+-"), parse_setting("null")
    (0.03, 'naive+-', None)
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return parse_value(text)


class Rule(NamedTuple):
    """What a setting may be: `check(owner, name, value)` gives the plain value, or refuses it with a sentence."""

    check: Callable[[str, str, Any], Any]
    usable: tuple[float, float] | None = None
    """The range beyond which a possible number has no meaning, only overflow: a service refuses it."""
    optional: bool = False
    """Whether None is a value, too."""


def number(*, usable: tuple[float, float] | None = None, optional: bool = False, **bounds: float) -> Rule:
    """A finite number within bounds (`above`, `at_least`, `at_most`)."""
    return Rule(lambda owner, name, value: require_number(owner, name, value, **bounds), usable, optional)


def whole_number(*, at_least: int = 0, at_most: int | None = None) -> Rule:
    """A whole number within bounds."""
    return Rule(lambda owner, name, value: require_whole_number(owner, name, value, at_least=at_least, at_most=at_most))


def choice(choices: Iterable[str]) -> Rule:
    """One of the named choices."""
    return Rule(lambda owner, name, value: require_choice(owner, name, value, choices))


FLAG = Rule(require_flag)


@cache
def rules_of(kind: type) -> dict[str, Rule]:
    """The rules that a struct's annotations state, by setting; a plain `bool` must be one."""
    rules: dict[str, Rule] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is Annotated:
            for rule in get_args(hint)[1:]:
                if isinstance(rule, Rule):
                    rules[name] = rule
        elif hint is bool:
            rules[name] = FLAG
    return rules


def check_settings(settings: msgspec.Struct, owner: str) -> None:
    """Hold a struct to the rules of its annotations, and keep the values as plain Python values."""
    for name, rule in rules_of(type(settings)).items():
        value = getattr(settings, name)
        if value is not None or not rule.optional:
            settle(settings, **{name: rule.check(owner, name, value)})


def require_usable(settings: msgspec.Struct, owner: str) -> None:
    """Refuse numbers that are possible, but beyond what arithmetic can do with them."""
    for name, rule in rules_of(type(settings)).items():
        if rule.usable is not None:
            low, high = rule.usable
            require_number(owner, name, getattr(settings, name), at_least=low, at_most=high)


def counted(count: int) -> str:
    """A count for a sentence, however absurd.

    >>> counted(12_000), counted(10**30)
    ('12,000', 'far more')
    """
    return f"{count:,}" if count < 10**18 else "far more"


def settle(settings: msgspec.Struct, /, **checked: Any) -> None:
    """Put checked values, as plain Python values, in the place of those that a struct was made with.

    What equals a default becomes the default itself, so that it is left out of the struct's repr.
    """
    fields, defaults = settings.__struct_fields__, settings.__struct_defaults__
    default_of = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
    for name, value in checked.items():
        default = default_of.get(name)
        same = type(default) is type(value) and default == value
        msgspec.structs.force_setattr(settings, name, default if same else value)


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names.

    >>> flat({"learner": "ROLTR", "propensities": {"eta": 1.0}})
    {'learner': 'ROLTR', 'propensities.eta': 1.0}
    """
    made: dict[str, Any] = {}
    for key, value in settings.items():
        made |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return made


def varying(several: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings in which several differ.

    >>> varying([{"learner": "ROLTR", "discount": 0.0}, {"learner": "ROLTR", "discount": 0.5}])
    ['discount']
    """
    settings = list(several)
    keys = dict.fromkeys(key for one in settings for key in one)
    return [key for key in keys if len({str(one.get(key)) for one in settings}) > 1]


def is_number(value: Any) -> bool:
    """Whether it is a real number, Python's or NumPy's (which registers its own with Python's); True is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether it is a number that a float can hold: neither infinite, nor an int beyond all floats."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, Python's or NumPy's; True is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _listed(owner: str, name: str, values: Any, kind: str) -> Any:
    import numpy as np

    listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))
    if not listed or len(values) == 0:
        raise SettingsError(f"{owner}: {name} must be a list of {kind}, at least one; got {values!r}")
    return values
