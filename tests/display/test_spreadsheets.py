"""A table that is taken away opens in a spreadsheet, and does nothing there."""

import csv
import io

from rankloop.display.spreadsheets import csv_text


def test_a_table_comes_back_as_it_was():
    rows = list(csv.reader(io.StringIO(csv_text(["a", "b"], [["x, y", 1.5], ['"q"', None]]))))
    assert rows == [["a", "b"], ["x, y", "1.5"], ['"q"', ""]]


def test_a_heading_is_never_a_formula():
    assert csv_text(["=1+1", "@x", "fine"], []) == "'=1+1,'@x,fine\r\n"
