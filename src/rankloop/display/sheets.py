"""A small table: plain values to compute with, and a text that people read, in a terminal or a notebook."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rankloop.errors import SettingsError

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]


class Sheet(Sequence[Row]):
    """Rows of plain values. `columns` says what is shown of them: a heading, and the text of a row below it.

    >>> columns = {"": lambda row: row["name"], "x": lambda row: f"{row['value']:.2f}"}
    >>> sheet = Sheet([{"name": "a", "value": 1 / 3}], columns)
    >>> print(sheet)
          x
    a  0.33
    >>> sheet[0]["value"]
    0.3333333333333333
    """

    def __init__(self, rows: Sequence[Row], columns: Mapping[str, Callable[[Row], str]], note: str = "") -> None:
        self.rows = list(rows)
        self.note = note
        self._columns = dict(columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        texts = [list(self._columns), *([column(row) for column in self._columns.values()] for row in self.rows)]
        numeric = self._numeric()
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, numeric, strict=True)
            ).rstrip()
            for line in texts
        ]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        sides = ["right" if right else "left" for right in self._numeric()]

        def line(kind: str, texts: list[str]) -> str:
            cells = (
                f'<{kind} style="text-align:{side};padding:0.15em 0.8em 0.15em 0">{escape(text)}</{kind}>'
                for side, text in zip(sides, texts, strict=True)
            )
            return f"<tr>{''.join(cells)}</tr>"

        body = "".join(line("td", [column(row) for column in self._columns.values()]) for row in self.rows)
        note = f'<p style="font-size:0.85em;opacity:0.75">{escape(self.note)}</p>' if self.note else ""
        return f"<table><thead>{line('th', list(self._columns))}</thead><tbody>{body}</tbody></table>{note}"

    def to_arrow(self) -> "pa.Table":
        """The plain values as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in self.rows])

    def to_pandas(self) -> Any:
        """The plain values as a pandas frame."""
        return as_frame(self.to_arrow())

    def _numeric(self) -> list[bool]:
        """Which columns are numbers, by their texts: they stand to the right."""
        return [
            any(text[:1].isdigit() or text[:1] in "+−–" for row in self.rows if (text := column(row)))
            for column in self._columns.values()
        ]


def as_frame(table: "pa.Table") -> Any:
    """An Arrow table as a pandas frame, where there is pandas."""
    if find_spec("pandas") is None:
        raise SettingsError(
            "to_pandas needs pandas, which is not installed: pip install pandas. to_arrow gives the same table to "
            "polars, DuckDB and pyarrow without it"
        )
    return table.to_pandas()
