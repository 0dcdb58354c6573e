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


def explained(error: msgspec.ValidationError, kind: Any, given: Any = None) -> str:
    """msgspec's sentence about a value of a kind; of a wrong word or key, with those that are allowed.

    `given` is the value: where there are several structs, its tag says which of them was meant.

    >>> class Page(msgspec.Struct, forbid_unknown_fields=True):
    ...     size: int = 10
    >>> explained(msgspec.ValidationError("Object contains unknown field `sise`"), Page)
    'unknown field `sise`; use size'
    >>> explained(msgspec.ValidationError("Expected `int`, got `str` - at `$.size`"), Page)
    'size must be a whole number; got text'
    >>> class Round(msgspec.Struct, tag_field="shape", tag="round"):
    ...     radius: float = 1.0
    >>> class Table(msgspec.Struct):
    ...     top: Round
    >>> explained(msgspec.ValidationError("Expected `object`, got `str` - at `$.top`"), Table)
    'top must be an object such as {"shape": "round"}; got text'
    """
    message, _, place = str(error).partition(" - at `")
    steps = re.findall(r"[^.\[\]$`]+", place)
    kinds = _kinds_at(kind, steps, given)
    objects = [", ".join(field.encode_name for field in kind.fields) for kind in kinds if hasattr(kind, "fields")]
    if unknown := re.fullmatch("Object contains unknown field `(.*)`", message, re.DOTALL):
        where = f"{'.'.join(steps)}: " if steps else ""
        return f"{where}unknown field `{unknown[1]}`; use {' or '.join(objects)}"
    if wrong := re.fullmatch("Invalid (?:enum )?value (.*)", message, re.DOTALL):
        words = [repr(word) for kind in kinds for word in getattr(kind, "values", ())]
        words += [repr(kind.tag) for kind in _kinds_at(kind, steps[:-1], None) if not kinds and hasattr(kind, "tag")]
        allowed = " or ".join(
            ["one of " + ", ".join(words)] * bool(words) + [f"an object with {o}" for o in objects if o]
        )
        return f"{'.'.join(steps)} must be {allowed}; got {wrong[1]}"
    tagged = [f'{{"{kind.tag_field}": "{kind.tag}"}}' for kind in kinds if getattr(kind, "tag", None)]
    if tagged and message == "Expected `object`, got `str`":
        return f"{'.'.join(steps)} must be an object such as {tagged[0]}; got text"
    return in_words(str(error))


_TYPES = {"array": "a list", "object": "an object", "str": "text", "int": "a whole number", "float": "a number",
          "bool": "true or false", "null": "nothing", "bytes": "bytes in base64"}  # fmt: skip
_AT = r"(?: - at (`key` in )?`\$\.?([^`]*)`)?"
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?(?=$|\n| - at)" + _AT)
_WRONG_SIZE = re.compile(r"Expected `(\w+)` (of length )?([<>]=?) ([\d.e+-]+)" + _AT)
_NO_BASE64 = re.compile("Invalid base64 encoded string" + _AT)
_MISSING = re.compile(r"Object missing required field `([^`]+)`" + _AT)
_ELSEWHERE = re.compile(r" - at (?:`key` in )?`\$\.?([^`]*)`")
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_UNITS = {"str": "characters", "array": "items", "object": "entries", "bytes": "bytes"}


def in_words(message: str) -> str:
    """A message with what msgspec says of a wrong type, a wrong size or a missing field in words of everyday use.

    >>> in_words("my.toml: Expected `array`, got `str` - at `$.grids[0].users`")
    'my.toml: grids[0].users must be a list; got text'
    >>> in_words("Expected `str` of length <= 512 - at `$.client`")
    'client must be text, at most 512 characters'
    >>> in_words("Object missing required field `id` - at `$.candidates[0]`")
    'candidates[0]: `id` is missing'
    >>> in_words("Posterior: memory must be a whole number, at least 0; got -3 - at `$.learner`")
    'Posterior: memory must be a whole number, at least 0; got -3 (in learner)'
    """
    message = _WRONG_TYPE.sub(_typed, message)
    message = _WRONG_SIZE.sub(_sized, message)
    message = _NO_BASE64.sub(lambda found: f"{_place(found)} must be bytes in base64", message)
    message = _MISSING.sub(
        lambda found: f"{found[3]}: `{found[1]}` is missing" if found[3] else f"`{found[1]}` is missing", message
    )
    return _ELSEWHERE.sub(lambda found: f" (in {found[1]})" if found[1] else "", message)


def _typed(found: re.Match[str]) -> str:
    wanted, given = (
        " or ".join(_TYPES.get(name, name) for name in (one or "").split(" | ")) for one in found.group(1, 2)
    )
    return f"{_place(found)} must be {wanted}" + (f"; got {given}" if given else "")


def _sized(found: re.Match[str]) -> str:
    bound = float(found[4])
    limit = f"{int(bound):,}" if bound.is_integer() else found[4]
    size = f"{_BOUNDS[found[3]]} {limit}" + (f" {_UNITS.get(found[1], '')}" if found[2] else "")
    if found[2] and found.group(3, 4) == (">=", "1"):
        size = "not empty"
    return f"{_place(found)} must be {_TYPES.get(found[1], found[1])}, {size}"


def _place(found: re.Match[str]) -> str:
    key, place = found.groups()[-2:]
    return f"a key of {place or 'it'}" if key else (place or "it").replace("[...]", "[…]")


def _kinds_at(kind: Any, steps: Sequence[str], given: Any) -> list[Any]:
    """The types that a value may have at a place, as `msgspec.inspect` describes them."""
    kinds = _meant(msgspec.inspect.type_info(kind), given)
    for step in (step for step in steps if not step.isdigit()):
        given = given.get(step) if isinstance(given, dict) else None
        fields = [field for kind in kinds for field in getattr(kind, "fields", ()) if field.encode_name == step]
        kinds = [kind for field in fields for kind in _meant(field.type, given)]
    return kinds


def _meant(info: Any, given: Any) -> list[Any]:
    """A type, those of a union or of a container's items; of structs the one that the value's tag names."""
    if inner := getattr(info, "item_type", None) or getattr(info, "value_type", None):
        return _meant(inner, None)
    kinds = [kind for one in info.types for kind in _meant(one, given)] if hasattr(info, "types") else [info]
    named = next((kind.tag_field for kind in kinds if getattr(kind, "tag_field", None)), None)
    tag = given.get(named) if isinstance(given, dict) and named else None
    return [kind for kind in kinds if tag is not None and getattr(kind, "tag", None) == tag] or kinds


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
