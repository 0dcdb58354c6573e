"""The compiled scanner and the plain reading of a line agree on every text, right or wrong."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.data.svmlight import reader as svmlight
from rankloop.data.svmlight.grammar import Location, Row, read_line
from rankloop.errors import DataError

GOOD = (
    b"2 qid:13 1:0.5 2:-3 17:1e-3 # docid = 7\r\n"
    b"0.0 qid:13 3:12345678.87654321 1:+.5\t2:00001\n"
    b"\n# between\n"
    b"4 qid:123456789012 5:1.7976931348623157e308 2:1e22 6:5.\n"
    b"1 qid:-3 1:0.1234567890123456789\n"
)
LETTERS = b"0123456789.:-+eE qid#\t\r\n\0a\xff"

mutation = st.tuples(
    st.integers(0, len(GOOD) - 1),
    st.sampled_from(["replace", "insert", "delete"]),
    st.sampled_from([bytes([c]) for c in LETTERS]),
)


def mutated(changes: list[tuple[int, str, bytes]]) -> bytes:
    text = bytearray(GOOD)
    for at, kind, letter in changes:
        end = at if kind == "insert" else at + 1
        text[at:end] = b"" if kind == "delete" else letter
    return bytes(text)


def slowly(text: bytes, path: str) -> list[Row] | str:
    rows = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            row = read_line(line, Location(path, number))
        except DataError as error:
            return str(error)
        if row is not None:
            rows.append(row)
    return rows


def quickly(path: Path) -> list[tuple] | str:
    reader = svmlight._Reader(path, None, False, None)
    rows = []
    try:
        for offsets in reader.queries():
            values = reader.values[: offsets[-1], : reader.widest].copy()
            rows += zip(values, reader.grades.tolist(), reader.query_ids.tolist(), strict=False)
    except DataError as error:
        return str(error)
    return rows


@pytest.mark.slow
@examples(600)
@given(st.lists(mutation, max_size=4))
@example([])
def test_scanner_and_grammar_agree(tmp_path_factory, changes):
    path = tmp_path_factory.getbasetemp() / "mutated.txt"
    text = mutated(changes)
    path.write_bytes(text)
    expected = slowly(text, str(path))
    got = quickly(path)
    if isinstance(got, str):
        assert got == expected or "not adjacent" in got
        return
    assert not isinstance(expected, str)
    assert len(got) == len(expected)
    for (values, grade, query), row in zip(got, expected, strict=True):
        dense = np.zeros(max(len(values), max(row.features, default=0)))
        for feature, value in row.features.items():
            dense[feature - 1] = value
        assert np.array_equal(values, dense)
        assert (grade, query) == (row.grade, row.query)
