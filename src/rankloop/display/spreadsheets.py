"""Tables to take away: CSV as spreadsheets read it."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any


def csv_text(headings: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV; a heading may hold anything, so none is taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([harmless(heading) for heading in headings])
    writer.writerows(rows)
    return text.getvalue()


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> harmless("=HYPERLINK(…)"), harmless("price")
    ("'=HYPERLINK(…)", 'price')
    """
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text
