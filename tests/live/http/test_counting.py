"""Values are counted as they are, whatever they are, and nothing that is not MessagePack is walked out of."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.live.http.counting import packed_values, written_values

MOST = 1 << 40

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=40,
)


def count(value):
    if isinstance(value, list):
        return 1 + sum(map(count, value))
    if isinstance(value, dict):
        return 1 + sum(1 + count(one) for one in value.values())
    return 1


@settings(database=None, deadline=None)
@given(value=anything)
def test_every_value_counts_once(value):
    assert packed_values(msgspec.msgpack.encode(value), MOST) == count(value)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 255, 256, 65_535, 65_536, 70_000])
def test_lengths_of_every_size_are_understood(size):
    values = [
        "a" * size,
        b"a" * size,
        [1] * size,
        msgspec.msgpack.Ext(5, b"a" * size),
        {str(i): i for i in range(size)},
    ]
    wanted = 1 + 1 + 1 + (1 + size) + 1 + (1 + 2 * size)
    assert packed_values(msgspec.msgpack.encode(values), MOST) == wanted


@settings(database=None, deadline=None)
@given(body=st.binary(max_size=200))
def test_any_bytes_have_an_end(body):
    assert 0 <= packed_values(body, MOST) <= len(body)


def test_it_stops_at_what_is_too_much():
    assert packed_values(b"\x01" * 1_000_000, 10) == 11


def test_of_json_commas_are_counted():
    assert written_values(b"[1, 2, 3]") == 3
    assert written_values(b'["a,b"]') == 2
