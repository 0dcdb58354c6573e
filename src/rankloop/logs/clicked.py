"""Click logs of other systems: what was shown at which rank, and what was clicked. No scores, no probabilities.

table     CSV or TSV with a header that has query, document, rank (from 1) and click, one line per document shown
sessions  session<TAB>query<TAB>[documents]<TAB>[verticals]<TAB>[clicks], one line per page (TianGong-ST)
"""

import csv
import json
from pathlib import Path
from typing import NamedTuple

from rankloop.errors import DataError
from rankloop.settings import counted

COLUMNS = ("query", "document", "rank", "click")
MOST_RANKS = 1_000
"""Every rank is compared with every other."""


class ClickLog(NamedTuple):
    """One entry for each document that was shown, ranks from 1; and how many pages there were."""

    queries: list[str]
    documents: list[str]
    ranks: list[int]
    clicks: list[float]
    pages: int


def read_clicks(path: Path) -> ClickLog:
    """A log of either kind; which one it is, its first line tells."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path}: is no text; a click log is CSV, TSV, or lines of sessions") from None
    if not lines:
        raise DataError(f"{path}: is empty")
    try:
        log = _sessions(path, lines) if "\t[" in lines[0] else _table(path, lines)
    except csv.Error as error:
        raise DataError(f"{path}: is no table that can be read ({error})") from None
    if not log.ranks:
        raise DataError(f"{path}: no document was shown; there must be at least one line of them")
    return log


def _table(path: Path, lines: list[str]) -> ClickLog:
    rows = csv.DictReader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise DataError(f"{path}: the first line must name the columns {', '.join(COLUMNS)}; {missing[0]!r} is missing")
    log = ClickLog([], [], [], [], 0)
    for number, row in enumerate(rows, start=2):
        try:
            rank, click = int(row["rank"]), float(row["click"])
        except (TypeError, ValueError):
            raise DataError(f"{path}, line {number}: rank and click must be numbers; got {row}") from None
        if row["query"] is None or row["document"] is None:
            raise DataError(f"{path}, line {number}: must have {', '.join(COLUMNS)}; got {row}")
        _take(log, path, number, row["query"], row["document"], rank, click)
    return log._replace(pages=sum(rank == 1 for rank in log.ranks))


def _sessions(path: Path, lines: list[str]) -> ClickLog:
    log = ClickLog([], [], [], [], len(lines))
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        try:
            query, documents, clicks = fields[1], json.loads(fields[2]), json.loads(fields[4])
            pairs = [(str(document), float(click)) for document, click in zip(documents, clicks, strict=True)]
        except (IndexError, TypeError, ValueError, RecursionError):
            raise DataError(
                f"{path}, line {number}: must be session, query, [documents], [verticals], [clicks], with tabs between"
            ) from None
        for place, (document, click) in enumerate(pairs):
            _take(log, path, number, query, document, place + 1, click)
    return log


def _take(log: ClickLog, path: Path, number: int, query: str, document: str, rank: int, click: float) -> None:
    if rank < 1 or not 0 <= click <= 1:
        raise DataError(f"{path}, line {number}: ranks begin at 1 and clicks lie in [0, 1]; got {rank} and {click}")
    if rank > MOST_RANKS:
        raise DataError(f"{path}, line {number}: a page has at most {MOST_RANKS:,} ranks; got {counted(rank)}")
    log.queries.append(query)
    log.documents.append(document)
    log.ranks.append(rank)
    log.clicks.append(click)
