"""Click logs of other systems: what was shown at which rank, and what was clicked. No scores, no probabilities;
features, and propensities where somebody knows them, are read if they are there.

table     CSV, TSV or Parquet with query, document, rank (from 1) and click, one row per document shown; also page,
          propensity, and a column feature.NAME for each feature (docs/click-logs.md)
sessions  session<TAB>query<TAB>[documents]<TAB>[verticals]<TAB>[clicks], one line per page (TianGong-ST)
others    see `rankloop.logs.public_clicks`
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.settings import counted

COLUMNS = ("query", "document", "rank", "click")
FEATURE = "feature."
ACTION = "action."
PARQUET = b"PAR1"
MARK = {b"rankloop-click-log": b"1"}
"""In the file's own metadata: which schema it has."""
NO_FEATURES: Mapping[str, float] = MappingProxyType({})
TRUTH = {"true": 1.0, "false": 0.0}
MOST_RANKS = 1_000
"""Every rank is compared with every other."""


class ClickLog(NamedTuple):
    """One entry for each document that was shown, ranks from 1; and how many pages there were."""

    queries: list[str]
    documents: list[str]
    ranks: list[int]
    clicks: list[float]
    pages: int
    page: list[int]
    """The number of the page, from 0, that each entry belongs to: entries of a page follow each other."""
    feature_names: tuple[str, ...] = ()
    features: NDArray[np.float32] | None = None
    propensities: list[float] | None = None
    """How likely each document was to stand where it stood, where that is known."""

    def each_page(self) -> Iterator[slice]:
        """The entries of one page after the other."""
        starts = [place for place in range(len(self.page)) if place == 0 or self.page[place] != self.page[place - 1]]
        return map(slice, starts, [*starts[1:], len(self.page)])


def read_clicks(path: Path) -> ClickLog:
    """A log of any kind; which one it is, its beginning tells."""
    from rankloop.logs.public_clicks import reader_of

    with path.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            return checked(path, _rows_of_parquet(path))
    try:
        # Lines end where a spreadsheet ends them: other characters that separate lines may stand in a query.
        lines = io.StringIO(path.read_text(encoding="utf-8-sig"), newline="").readlines()
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not text; a click log is Parquet, CSV, TSV, or lines of sessions") from None
    if not lines:
        raise DataError(f"{path}: is empty")
    try:
        bare = [line.removesuffix("\n") for line in lines]
        reader = reader_of(bare[0]) or _reader_of(bare[0])
        return checked(path, reader(path, lines if reader is _table else bare))
    except csv.Error as error:
        raise DataError(f"{path}: is not a readable table ({error})") from None


def _reader_of(first: str) -> Any:
    return _sessions if "\t[" in first else _table


class Row(NamedTuple):
    """A document that was shown. `page`: what names its page; None: a page begins wherever ranks do."""

    query: str
    document: str
    rank: int
    click: float
    page: str | None = None
    propensity: float | None = None
    features: Mapping[str, float] = NO_FEATURES
    place: str = ""
    """Where in the file it is, for a sentence."""


def checked(path: Path, rows: Iterable[Row]) -> ClickLog:
    """The log that these rows are, each within what ranks and clicks can be."""
    log = ClickLog([], [], [], [], 0, [])
    values: list[list[float]] = []
    propensities: list[float | None] = []
    names: tuple[str, ...] | None = None
    last: Row | None = None
    for row in rows:
        _check(path, row)
        names = tuple(row.features) if names is None else names
        if tuple(row.features) != names:
            raise DataError(f"{path}, {row.place}: has the features {', '.join(row.features)}; others have {names}")
        if last is None or _begins(row, last):
            log = log._replace(pages=log.pages + 1)
        log.queries.append(row.query)
        log.documents.append(row.document)
        log.ranks.append(row.rank)
        log.clicks.append(row.click)
        log.page.append(log.pages - 1)
        values.append(list(row.features.values()))
        propensities.append(row.propensity)
        last = row
    if last is None:
        raise DataError(f"{path}: no document was shown; there must be at least one line of them")
    known = [value for value in propensities if value is not None]
    return log._replace(
        feature_names=names or (),
        features=np.array(values, np.float32) if names else None,
        propensities=known if len(known) == len(propensities) else None,
    )


def _begins(row: Row, last: Row) -> bool:
    """Whether a row is the first of another page than the last one's."""
    if row.page is not None or last.page is not None:
        return row.page != last.page
    return row.query != last.query or row.rank <= last.rank


def _check(path: Path, row: Row) -> None:
    if row.rank < 1 or not 0 <= row.click <= 1:
        raise DataError(
            f"{path}, {row.place}: ranks begin at 1 and clicks lie in [0, 1]; got {row.rank} and {row.click}"
        )
    if row.rank > MOST_RANKS:
        raise DataError(f"{path}, {row.place}: a page has at most {MOST_RANKS:,} ranks; got {counted(row.rank)}")
    if row.propensity is not None and not 0 < row.propensity <= 1:
        raise DataError(f"{path}, {row.place}: a propensity is a probability above 0; got {row.propensity}")
    wrong = [name for name, value in row.features.items() if not np.isfinite(np.float32(value))]
    if wrong:
        raise DataError(f"{path}, {row.place}: feature {wrong[0]!r} must be a finite number")


def _table(path: Path, lines: list[str]) -> Iterator[Row]:
    rows = csv.DictReader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    _require_columns(path, rows.fieldnames or ())
    for row in rows:
        place = f"line {rows.line_num}"
        if None in row.values():
            raise DataError(f"{path}, {place}: must have {', '.join(rows.fieldnames or ())}; got {row}")
        yield _row(path, place, row)


def _row(path: Path, place: str, row: dict[str, Any]) -> Row:
    propensity = row.get("propensity")
    try:
        return Row(
            str(row["query"]), str(row["document"]), _whole(row, "rank"), _number(row, "click"),
            None if row.get("page") is None else str(row["page"]),
            None if propensity in (None, "") else _number(row, "propensity"),
            {name[len(FEATURE) :]: _number(row, name) for name in row if name.startswith(FEATURE)}, place,
        )  # fmt: skip
    except ValueError as error:
        raise DataError(f"{path}, {place}: {error}") from None


def _number(row: dict[str, Any], name: str) -> float:
    """A number as any tool writes it; what is true or false is 1 or 0."""
    value = row[name]
    try:
        return float(TRUTH.get(value.strip().lower(), value) if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number; got {value!r:.60}") from None


def _whole(row: dict[str, Any], name: str) -> int:
    value = _number(row, name)
    if not value.is_integer():
        raise ValueError(f"{name} must be a whole number; got {row[name]!r:.60}")
    return int(value)


def _require_columns(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        shown = f"{', '.join(names):.100}" or "nothing"
        raise DataError(
            f"{path}: the first line must name the columns {', '.join(COLUMNS)}, with commas or tabs between them; "
            f"{missing[0]!r} is missing among {shown}"
        )


def _sessions(path: Path, lines: list[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        try:
            query, documents, clicks = fields[1], json.loads(fields[2]), json.loads(fields[4])
            pairs = [(str(document), float(click)) for document, click in zip(documents, clicks, strict=True)]
        except (IndexError, TypeError, ValueError, RecursionError):
            raise DataError(
                f"{path}, line {number}: must be session, query, [documents], [verticals], [clicks], with tabs between"
            ) from None
        for rank, (document, click) in enumerate(pairs, start=1):
            yield Row(query, document, rank, click, str(number), place=f"line {number}")


def _rows_of_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        _require_columns(path, file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield _row(path, f"row {number}", row)
    except pa.ArrowException as error:
        raise DataError(f"{path}: is not a readable Parquet file ({error})") from None


def with_features(log: ClickLog, path: Path) -> ClickLog:
    """The log with features from a table of their own: by query and document, or by document alone."""
    rows, names = _feature_rows(path)
    by_query = bool(rows) and "query" in rows[0]
    known = {((str(row["query"]), str(row["document"])) if by_query else str(row["document"])): row for row in rows}
    values = []
    for query, document in zip(log.queries, log.documents, strict=True):
        row = known.get((query, document) if by_query else document)
        if row is None:
            where = f"{document!r} for {query!r}" if by_query else repr(document)
            raise DataError(f"{path}: there are no features of document {where}, which was shown")
        values.append([row[FEATURE + name] for name in names])
    try:
        matrix = np.array(values, np.float32)
    except (TypeError, ValueError):
        raise DataError(f"{path}: features must be numbers") from None
    if not np.isfinite(matrix).all():
        raise DataError(f"{path}: features must be finite numbers")
    return log._replace(feature_names=names, features=matrix)


def _feature_rows(path: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    from pyarrow import ArrowException, csv, parquet, string

    names_as_text = csv.ConvertOptions(column_types={"document": string(), "query": string()})  # 007 is not 7
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(PARQUET)) == PARQUET
        table = parquet.read_table(path) if is_parquet else csv.read_csv(path, convert_options=names_as_text)
    except ArrowException as error:
        raise DataError(f"{path}: is not a readable table of features ({error})") from None
    names = tuple(name[len(FEATURE) :] for name in table.column_names if name.startswith(FEATURE))
    if "document" not in table.column_names or not names:
        raise DataError(f"{path}: must have a column document, and {FEATURE}NAME for each feature")
    return table.to_pylist(), names


def write_clicks(path: Path, log: ClickLog, actions: Mapping[str, Sequence[bool]] | None = None) -> None:
    """The log as Parquet, one row per document shown, whole or not at all; with what happened to each, by action."""
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {
        "page": pa.array(map(str, log.page), pa.string()),
        "query": pa.array(log.queries, pa.string()),
        "document": pa.array(log.documents, pa.string()),
        "rank": pa.array(log.ranks, pa.int32()),
        "click": pa.array(log.clicks, pa.float32()),
    }
    if log.propensities is not None:
        columns["propensity"] = pa.array(log.propensities, pa.float64())
    columns |= {ACTION + name: pa.array(happened, pa.bool_()) for name, happened in (actions or {}).items()}
    for place, name in enumerate(log.feature_names):
        assert log.features is not None
        columns[FEATURE + name] = pa.array(log.features[:, place], pa.float32())
    with written_whole(path) as partial:
        parquet.write_table(pa.table(columns).replace_schema_metadata(MARK), partial, compression="zstd")
