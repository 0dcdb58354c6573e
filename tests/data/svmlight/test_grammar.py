"""What a line of SVMlight text says, read slowly; each mistake names its place and what would be right."""

import pytest

from rankloop.data.svmlight.grammar import Location, Row, read_line
from rankloop.errors import DataError

HERE = Location("some.txt", 7)


@pytest.mark.parametrize("line", [b"", b" \t\r", b"# 1 qid:1 1:0.5", b"  # only words"])
def test_a_line_without_a_document_is_no_row(line):
    assert read_line(line, HERE) is None


def test_a_document_may_have_no_features_and_a_comment_close_by():
    assert read_line(b"0 qid:-3#docid", HERE) == Row(0, -3, {})
    assert read_line(b"\t30.0\tqid:9223372036854775807 2:-.5e1\r", HERE) == Row(30, 2**63 - 1, {2: -5.0})


def test_features_are_numbered_from_one_whatever_the_file_does():
    assert read_line(b"1 qid:1 0:0.5 3:2", HERE, zero_based=True).features == {1: 0.5, 4: 2.0}
    with pytest.raises(DataError, match=r"feature 3 comes twice; got '3:1'"):
        read_line(b"1 qid:1 3:2 3:1", HERE, zero_based=True)


def test_the_last_feature_that_is_allowed_is_allowed():
    assert read_line(b"1 qid:1 5:1", HERE, features=5).features == {5: 1.0}
    assert read_line(b"1 qid:1 4:1", HERE, features=5, zero_based=True).features == {5: 1.0}
    with pytest.raises(DataError, match="the feature number is above 5; got '6:1'"):
        read_line(b"1 qid:1 6:1", HERE, features=5)
    with pytest.raises(DataError, match="the feature number is above 4; got '5:1'"):
        read_line(b"1 qid:1 5:1", HERE, features=5, zero_based=True)


def test_a_mistake_shows_the_beginning_of_what_is_wrong_in_ascii():
    with pytest.raises(DataError, match=r"^some\.txt, line 7: .*; got 'x{60}\.\.\.'\. "):
        read_line(b"1 qid:1 " + b"x" * 200, HERE)
    with pytest.raises(DataError, match=r"this is not text; got '1:\\xff'\."):
        read_line(b"1 qid:1 1:\xff", HERE)
