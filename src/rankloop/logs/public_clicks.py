"""Loaders for public click logs, each known by its first line.

OpenBandit   CSV: one position of one impression per line, with the logging policy's propensity and the affinity of this
             visitor to each item, of which the shown item's is the feature `affinity`
Yandex       tab-separated records of sessions: queries (Q) with ten documents, clicks (C). Both challenges, relevance
             prediction (2011) and personalised search (2014). Written from their documentation, without the data.
UBI          queries and events of User Behavior Insights, as the body of `_bulk`
AOL4FOLTR    its metadata.csv: twenty candidates and the one that was clicked. Their order is not what people saw, so
             ranks mean nothing. Written from the code that makes it, without the data.
"""

import ast
import csv
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rankloop.errors import DataError

if TYPE_CHECKING:
    from rankloop.logs.clicked import Row

AFFINITY = "user-item_affinity_"
YANDEX = re.compile(r"\d+\t(M\t\d+\t\d+|\d+\t[QCT]\t.*)$")
Reader = Callable[[Path, list[str]], Iterator["Row"]]


def reader_of(first: str) -> Reader | None:
    """The loader of a log that begins like this; None if it is none of these."""
    header = set(first.split(","))
    if {"item_id", "position", "click", "propensity_score"} <= header:
        return open_bandit
    if {"target_doc_id", "candidate_doc_ids"} <= header:
        return aol4foltr
    if first.startswith("{"):
        return ubi
    return yandex if YANDEX.match(first) else None


def open_bandit(path: Path, lines: list[str]) -> Iterator["Row"]:
    """One line is one position: what stood beside it is not said, so each is a page of its own."""
    from rankloop.logs.clicked import Row

    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            item = row["item_id"]
            features = {"affinity": float(row[AFFINITY + item])} if AFFINITY + item in row else {}
            rank, click, propensity = int(row["position"]), float(row["click"]), float(row["propensity_score"])
        except (TypeError, ValueError):
            raise DataError(f"{path}, line {number}: is not a line of Open Bandit Data; got {row}") from None
        yield Row("", item, rank, click, str(number), propensity, features, f"line {number}")


class _Shown(NamedTuple):
    line: int
    query: str
    documents: list[str]
    clicked: set[str]


def yandex(path: Path, lines: list[str]) -> Iterator["Row"]:
    """A click belongs to the newest page of its session that shows the document, or to the page that it names."""
    pages: list[_Shown] = []
    session, opened = "", list[_Shown]()
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        if fields[0] != session:
            session, opened = fields[0], []
        try:
            if fields[2] in ("Q", "T"):
                opened.append(_page(number, fields))
                pages.append(opened[-1])
            elif fields[2] == "C":
                _click(opened, fields[-1])
        except IndexError:
            raise DataError(f"{path}, line {number}: is not a record of a Yandex log; got {line[:80]!r}") from None
    yield from _rows(pages)


def _page(number: int, fields: list[str]) -> _Shown:
    """2014 has SERP and query ids, terms, then url,domain pairs; 2011 a query id, a region, then urls."""
    if any("," in field for field in fields[5:]):
        return _Shown(number, fields[4], [field.partition(",")[0] for field in fields[6:]], set())
    return _Shown(number, fields[3], fields[5:], set())


def _click(opened: list[_Shown], document: str) -> None:
    shown = next((page for page in reversed(opened) if document in page.documents), None)
    if shown is not None:
        shown.clicked.add(document)


def _rows(pages: list[_Shown]) -> Iterator["Row"]:
    from rankloop.logs.clicked import Row

    for page in pages:
        for rank, document in enumerate(page.documents, start=1):
            click = float(document in page.clicked)
            yield Row(page.query, document, rank, click, str(page.line), place=f"line {page.line}")


def ubi(path: Path, lines: list[str]) -> Iterator["Row"]:
    """Queries that say what came back, and the events that count as clicks; both as `Intake` takes them."""
    from rankloop.logs.clicked import Row
    from rankloop.ubi import Intake, UbiEvent, UbiQuery, read_bulk

    intake, events = Intake(), list[UbiEvent]()
    for thing in read_bulk(path):
        if isinstance(thing, UbiQuery):
            intake.query(thing, received=datetime.now(UTC))
        else:
            events.append(thing)
    clicks: dict[tuple[str, str], float] = {}
    for click in filter(None, map(intake.event, events)):
        key = click.query_id, click.document
        clicks[key] = max(click.value, clicks.get(key, 0.0))
    for page in intake.pages.values():
        for rank, document in enumerate(page.documents, start=1):
            value = clicks.get((page.query_id, document), 0.0)
            yield Row(page.query, document, rank, value, page.query_id, place=f"query {page.query_id}")


def aol4foltr(path: Path, lines: list[str]) -> Iterator["Row"]:
    """Its candidates are written as a Python set or list; the target is what was clicked."""
    pages = []
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            documents = sorted(ast.literal_eval(row["candidate_doc_ids"]))
        except (TypeError, ValueError, SyntaxError):
            raise DataError(f"{path}, line {number}: candidate_doc_ids is not a list of ids; got {row}") from None
        pages.append(_Shown(number, row["query"], list(map(str, documents)), {row["target_doc_id"]}))
    yield from _rows(pages)
