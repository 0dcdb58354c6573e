"""A sheet shows texts, keeps numbers, and escapes what a name may hold."""

from rankloop.display.sheets import Sheet

ROWS = [{"name": "<b>", "value": 1.25}, {"name": "long name", "value": -10.0}]
COLUMNS = {"method": lambda row: row["name"], "x": lambda row: f"{row['value']:.1f}".replace("-", "−")}
SHEET = Sheet(ROWS, COLUMNS, "A note & more.")


def test_names_stand_left_and_numbers_right():
    assert str(SHEET).splitlines() == ["method         x", "<b>          1.2", "long name  −10.0", "A note & more."]


def test_html_holds_no_markup_of_names():
    html = SHEET._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "A note &amp; more." in html
    assert "<script" not in html


def test_rows_are_plain_values():
    assert [row["value"] for row in SHEET] == [1.25, -10.0]
    assert (len(SHEET), SHEET[1]["name"]) == (2, "long name")
    assert SHEET.to_arrow().to_pylist() == ROWS


def test_an_empty_sheet_has_its_headings():
    assert str(Sheet([], COLUMNS)) == "method  x"
