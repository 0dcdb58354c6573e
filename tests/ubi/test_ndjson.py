"""Files are read line by line, and what is wrong is named with its line."""

import pytest

from rankloop.errors import DataError
from rankloop.ubi import (
    UbiQuery,
    encode,
    read_bulk,
    read_events,
    read_queries,
    write_ndjson,
)

from .shown import QUERY, event


def test_a_bad_line_is_named_and_what_came_before_it_is_read(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_bytes(encode(event()) + b"\r\n\n" + b'{"action_name": "click"}\n')
    events = read_events(path)
    assert next(events) == event()
    with pytest.raises(DataError, match=r"events.ndjson, line 3: not a UBI 1.3 event: .*timestamp"):
        next(events)


def test_a_file_without_a_last_line_end_is_read_whole(tmp_path):
    path = tmp_path / "queries.ndjson"
    path.write_bytes(encode(QUERY) + b"\n" + encode(QUERY))
    assert list(read_queries(path)) == [QUERY, QUERY]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('{"index": {"_index": "logs"}}\n{}', "line 1: in a bulk body"),
        ('{"user_query": "a"}', "line 1: in a bulk body"),
        ("7", "line 1: in a bulk body"),
        ('{"create": {"_index": "ubi_events"}}\n{}', "line 2: not a UBI 1.3 event"),
        ('{"index": {"_index": "ubi_queries"}}\n', "none follows"),
    ],
)
def test_a_bulk_body_says_where_each_object_goes(tmp_path, body, sentence):
    path = tmp_path / "bulk.ndjson"
    path.write_text(body)
    with pytest.raises(DataError, match=sentence):
        list(read_bulk(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nowhere\.ndjson"):
        list(read_queries(tmp_path / "nowhere.ndjson"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "queries.ndjson"
    with pytest.raises(DataError, match="cannot write"):
        write_ndjson(path, [QUERY, UbiQuery(user_query="\udc80")])
    assert list(tmp_path.iterdir()) == []
