"""Columns of files that others read: a name that changes breaks somebody's notebook."""

from rankloop.studies.columns import CURVE, QUERIES, SCHEMA
from rankloop.studies.records import Record


def test_a_record_holds_whatever_its_file_does():
    # `clicks_per_page` and all others: what is read back becomes a record, its place in the study beside it.
    assert set(SCHEMA.names) <= set(Record.__struct_fields__)


def test_what_queries_got_does_not_stand_among_what_is_always_read():
    assert not set(QUERIES.names) & set(SCHEMA.names)


def test_a_curves_row_begins_with_the_place_of_its_run():
    assert set(CURVE[:-3]) <= set(Record.__struct_fields__)
    assert CURVE[-3:] == ("impression", "offline_ndcg", "online_ndcg")
