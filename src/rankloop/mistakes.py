"""What is wrong with a value that somebody sent or wrote, in words: msgspec finds it; here is what to send instead.

A field's `msgspec.Meta(examples=[…])` is quoted to whoever sends another shape; `/openapi.json` has it too.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec


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
    >>> from typing import Annotated
    >>> class Basket(msgspec.Struct):
    ...     fruit: Annotated[list[str], msgspec.Meta(examples=[["pear"]])]
    >>> explained(msgspec.ValidationError("Expected `array`, got `str` - at `$.fruit`"), Basket)
    'fruit must be a list; got text; send ["pear"]'
    """
    message, _, place = str(error).partition(" - at `")
    steps = re.findall(r"[^.\[\]$`]+", place)
    kinds = _kinds_at(kind, steps, given)
    structs = [kind for kind in kinds if hasattr(kind, "fields")]
    where = place.removesuffix("`").removeprefix("$").removeprefix(".").replace("[...]", "[…]")
    if unknown := re.fullmatch("Object contains unknown field `(.*)`", message, re.DOTALL):
        return f"{where}{': ' if where else ''}unknown field `{unknown[1]}`; use {' or '.join(map(_fields, structs))}"
    if wrong := re.fullmatch("Invalid (?:enum )?value (.*)", message, re.DOTALL):
        words = [repr(word) for kind in kinds for word in getattr(kind, "values", ())]
        words += [repr(kind.tag) for kind in _kinds_at(kind, steps[:-1], None) if not kinds and hasattr(kind, "tag")]
        objects = [f"{_tagged(one) or 'an object'} with {_fields(one)}" for one in structs if one.fields]
        allowed = " or ".join(["one of " + ", ".join(words)] * bool(words) + objects)
        return f"{where} must be {allowed}; got {wrong[1]}"
    tagged = list(filter(None, map(_tagged, structs)))
    if tagged and message == "Expected `object`, got `str`":
        return f"{where} must be an object such as {tagged[0]}; got text"
    if missing := re.fullmatch("Object missing required field `(.*)`", message):
        tags = [repr(kind.tag) for kind in structs if kind.tag_field == missing[1]]
        return in_words(str(error)) + (f"; use one of {', '.join(tags)}" if tags else "")
    return in_words(str(error)) + _example(kind, place, steps)


def _fields(kind: Any) -> str:
    return ", ".join(field.encode_name for field in kind.fields)


def _tagged(kind: Any) -> str:
    return f'{{"{kind.tag_field}": "{kind.tag}"}}' if getattr(kind, "tag", None) else ""


def _example(kind: Any, place: str, steps: Sequence[str]) -> str:
    """What to send at a place whose own shape is wrong, if its field has an example."""
    if not steps or place.endswith("]`") or "key" in place:
        return ""
    owners = _kinds_at(kind, steps[:-1], None)
    fields = (field for one in owners for field in getattr(one, "fields", ()) if field.encode_name == steps[-1])
    for field in fields:
        if examples := (getattr(field.type, "extra_json_schema", None) or {}).get("examples"):
            return f"; send {msgspec.json.encode(examples[0]).decode().replace(':', ': ').replace(',', ', ')}"
    return ""


_TYPES = {"array": "a list", "object": "an object", "str": "text", "int": "a whole number", "float": "a number",
          "bool": "true or false", "null": "nothing", "bytes": "bytes in base64"}  # fmt: skip
_AT = r"(?: - at (`key` in )?`\$\.?([^`]*)`)?"
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?(?=$|\n| - at)" + _AT)
_WRONG_SIZE = re.compile(r"Expected `(\w+)` (of length )?([<>]=?) ([\d.e+-]+)" + _AT)
_NO_BASE64 = re.compile("Invalid base64 encoded string" + _AT)
_TOO_LARGE = re.compile("(?:Number|Integer value) out of range" + _AT)
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
    message = _TOO_LARGE.sub(lambda found: f"{_place(found)} is too large a number", message)
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
    if isinstance(info, msgspec.inspect.Metadata):
        return _meant(info.type, given)
    if inner := getattr(info, "item_type", None) or getattr(info, "value_type", None):
        return _meant(inner, None)
    kinds = [kind for one in info.types for kind in _meant(one, given)] if hasattr(info, "types") else [info]
    named = next((kind.tag_field for kind in kinds if getattr(kind, "tag_field", None)), None)
    tag = given.get(named) if isinstance(given, dict) and named else None
    return [kind for kind in kinds if tag is not None and getattr(kind, "tag", None) == tag] or kinds
