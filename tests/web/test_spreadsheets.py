"""A table that is taken away from a page is a file."""

from rankloop.web.spreadsheets import csv_file


def test_a_file_has_a_name_and_is_not_kept_by_caches():
    answer = csv_file("a\r\n", "mine.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="mine.csv"'
    assert answer.headers["cache-control"] == "no-store"
