"""Every rule of the format has a malformed example that gives file, line and reason."""

import gzip
import os

import pytest

from rankloop import data
from rankloop.data.svmlight import chunks
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError

GOOD = b"1 qid:1 1:0.5\n"
NEWLINE = b"\n"

BROKEN_LINES = {
    "grade missing": (b"qid:1 1:0.5", "grade is missing"),
    "grade not a number": (b"good qid:1 1:0.5", "grade is not a whole number"),
    "grade with a fraction": (b"1.5 qid:1 1:0.5", "grade is not a whole number"),
    "grade nan": (b"nan qid:1 1:0.5", "grade is not a whole number"),
    "grade negative": (b"-1 qid:1 1:0.5", "grade is negative"),
    "grade too high": (b"31 qid:1 1:0.5", "grade is above 30"),
    "grade absurd": (b"1e999 qid:1 1:0.5", "grade is above 30"),
    "grade alone": (b"1", "query is missing"),
    "query missing": (b"1 1:0.5 2:3", "query is missing"),
    "query behind features": (b"1 1:0.5 qid:1", "query is missing"),
    "query empty": (b"1 qid: 1:0.5", "query is not an integer"),
    "query not a number": (b"1 qid:abc 1:0.5", "query is not an integer"),
    "query with a fraction": (b"1 qid:1.5 1:0.5", "query is not an integer"),
    "query beyond 64 bits": (b"1 qid:9223372036854775808 1:1", "does not fit 64 bits"),
    "two queries": (b"1 qid:1 1:0.5 qid:2", "second query"),
    "token without colon": (b"1 qid:1 0.5", "not 'feature:value'"),
    "token with space": (b"1 qid:1 1: 0.5", "value is not a number"),
    "feature 0": (b"1 qid:1 0:0.5", "feature numbers start at 1"),
    "feature negative": (b"1 qid:1 -3:0.5", "feature numbers start at 1"),
    "feature not an integer": (b"1 qid:1 a:0.5", "feature number is not an integer"),
    "feature with a fraction": (b"1 qid:1 1.0:0.5", "feature number is not an integer"),
    "feature absurd": (b"1 qid:1 1000001:0.5", "above 1,000,000"),
    "feature beyond 64 bits": (b"1 qid:1 99999999999999999999999:0.5", "above 1,000,000"),
    "feature twice": (b"1 qid:1 1:0.5 2:3 1:0.5", "feature 1 comes twice"),
    "value not a number": (b"1 qid:1 1:abc", "value is not a number"),
    "value missing": (b"1 qid:1 1:", "value is not a number"),
    "value hexadecimal": (b"1 qid:1 1:0x10", "value is not a number"),
    "value with underscores": (b"1 qid:1 1:1_000", "value is not a number"),
    "value with two points": (b"1 qid:1 1:1.2.3", "value is not a number"),
    "value with a decimal comma": (b"1 qid:1 1:0,5", "value is not a number"),
    "value nan": (b"1 qid:1 1:nan", "value is not finite"),
    "value infinite": (b"1 qid:1 1:-inf", "value is not finite"),
    "value overflowing": (b"1 qid:1 1:1e400", "too large for a float64"),
    "value beyond float32": (b"1 qid:1 1:1e39", "Turn normalisation on"),
    "NUL": (b"1 qid:1 1:0\x00.5", "NUL"),
    "NUL in a comment": (b"1 qid:1 1:0.5 # a\x00b", "NUL"),
    "NUL in a comment line": (b"# a\x00b", "NUL"),
    "binary": (b"\x89PNG\x1a\xff\xfe 3", "not text"),
    "undecodable": (b"1 qid:1 1:0.5\xff", "not text"),
}


@pytest.mark.parametrize("case", BROKEN_LINES)
@pytest.mark.parametrize("before", [b"", b"0 qid:0 1:0.25\n\n"], ids=["first", "later"])
def test_a_broken_line_is_named_and_nothing_is_kept(tmp_path, monkeypatch, case, before):
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    text, reason = BROKEN_LINES[case]
    path = tmp_path / "some.txt"
    path.write_bytes(before + text + b"\n1 qid:77 1:0.5\n")
    with pytest.raises(DataError) as caught:
        data.load(path, normalise=False)
    assert list((tmp_path / "home" / "collections").glob("*/*")) == []
    message = str(caught.value)
    assert message.startswith(f"{path}, line {1 + before.count(NEWLINE)}: ")
    assert reason in message
    assert "; got " in message
    assert message.endswith(".")


def test_a_query_that_comes_back_is_refused(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1 1:1\n1 qid:9 1:1\n\n1 qid:9 1:1\n1 qid:1 1:1\n1 qid:7 1:1\n")
    with pytest.raises(DataError, match=r"line 5: the rows of query 1 are not adjacent; got"):
        svmlight.read(path)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n   \n"])
def test_a_file_without_documents_is_refused(tmp_path, content):
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.txt: it contains no documents"):
        svmlight.read(path)


def test_documents_without_any_feature_are_refused(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1\n0 qid:2\n")
    with pytest.raises(DataError, match="no feature in any document"):
        svmlight.read(path)


def test_broken_gzip_is_refused(tmp_path):
    packed = gzip.compress(b"".join(b"1 qid:%d 1:0.%d\n" % (i, i) for i in range(9999)))
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0xFF
    for name, content in {"cut": packed[:-20], "flipped": bytes(flipped)}.items():
        path = tmp_path / f"{name}.gz"
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"{name}.gz"):
            svmlight.read(path)
    path = tmp_path / "plain.gz"
    path.write_bytes(GOOD)
    with pytest.raises(DataError, match="is not gzip"):
        svmlight.read(path)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        svmlight.read(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        svmlight.read(tmp_path / "absent.txt")
    locked = tmp_path / "locked.txt"
    locked.write_bytes(GOOD)
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        return  # the superuser may read everything
    with pytest.raises(DataError, match="cannot be read"):
        svmlight.read(locked)


def test_one_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "CHUNK", 1000)
    monkeypatch.setattr(chunks, "LONGEST_LINE", 10_000)
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1" + b" 1:1" * 10_000)
    with pytest.raises(DataError, match="no line break"):
        svmlight.read(path)


def test_a_query_too_large_to_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "LARGEST_QUERY", 1 << 20)
    monkeypatch.setattr(svmlight, "_ROOM", 1 << 16)
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:5 1000:1\n" * 2000)
    with pytest.raises(DataError, match=r"line \d+: query 5 is too large"):
        svmlight.read(path)


def test_the_number_of_features_may_be_fixed(tmp_path):
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1 3:0.5\n")
    with pytest.raises(DataError, match="line 1: the feature number is above 2"):
        svmlight.read(path, features=2)
    with pytest.raises(DataError, match="features must be between"):
        svmlight.read(path, features=0)
