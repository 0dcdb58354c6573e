"""What msgspec finds wrong, in words that say what to send instead."""

from typing import Annotated, Literal

import msgspec
import pytest

from rankloop.mistakes import explained


class Round(msgspec.Struct, tag_field="shape", tag="round", forbid_unknown_fields=True):
    radius: float = 1.0


class Square(msgspec.Struct, tag_field="shape", tag="square", forbid_unknown_fields=True):
    side: float = 1.0


class Table(msgspec.Struct, forbid_unknown_fields=True):
    top: Round | Square | Literal["any"] = "any"
    legs: Annotated[list[str] | None, msgspec.Meta(examples=[["oak", "pine"]])] = None
    prices: Annotated[dict[str, float], msgspec.Meta(examples=[{"oak": 120}])] = {}
    more: list["Table"] = []


SHAPES = '{"shape": "round"} with radius or {"shape": "square"} with side'


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"top": {}}, "top: `shape` is missing; use one of 'round', 'square'"),
        ({"top": "flat"}, f"top must be one of 'any' or {SHAPES}; got 'flat'"),
        ({"top": {"shape": "round", "side": 2}}, "top: unknown field `side`; use radius"),
        ({"legs": "oak"}, 'legs must be a list or nothing; got text; send ["oak", "pine"]'),
        ({"legs": [1]}, "legs[0] must be text; got a whole number"),
        ({"prices": ["oak"]}, 'prices must be an object; got a list; send {"oak": 120}'),
        ({"prices": {"oak": "cheap"}}, "prices[…] must be a number; got text"),
        ({"more": [{"colour": "red"}]}, "more[0]: unknown field `colour`; use top, legs, prices, more"),
        ({"colour": "red"}, "unknown field `colour`; use top, legs, prices, more"),
    ],
)
def test_a_mistake_says_what_to_send_instead(sent, said):
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(sent, Table)
    assert explained(refused.value, Table, sent) == said


def test_a_number_beyond_all_floats_is_too_large():
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(b'{"prices": {"oak": 1e999}}', type=Table)
    assert explained(refused.value, Table) == "prices[…] is too large a number"
