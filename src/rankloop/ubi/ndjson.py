"""UBI in files, one object a line: plain, as exported from the indices, or as the body of the engines' `_bulk` API.

In a bulk body each object follows a line that says where it goes, `{"index": {"_index": "ubi_queries"}}`. Files are
read and written line by line, whatever their size; the first line that cannot be read is named.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from rankloop.errors import DataError
from rankloop.files import write_text
from rankloop.ubi.schema import EVENTS_INDEX, QUERIES_INDEX, UbiEvent, UbiQuery, decode_event, decode_query, encode

Source = str | os.PathLike[str]
T = TypeVar("T")


class _Place(msgspec.Struct):
    index: str | None = msgspec.field(default=None, name="_index")


class _Action(msgspec.Struct):
    index: _Place | None = None
    create: _Place | None = None


_ACTION = msgspec.json.Decoder(_Action)
_DECODERS: dict[str, Callable[[bytes], UbiQuery | UbiEvent]] = {
    QUERIES_INDEX: decode_query,
    EVENTS_INDEX: decode_event,
}


def write_ndjson(path: Source, objects: Iterable[UbiQuery | UbiEvent], *, bulk: bool = False) -> Path:
    """Write queries, or events, or with `bulk` both, one object a line; whole or not at all."""
    return write_text(path, (line.decode() for line in ndjson_lines(objects, bulk=bulk)))


def ndjson_lines(objects: Iterable[UbiQuery | UbiEvent], *, bulk: bool = False) -> Iterator[bytes]:
    """The lines of such a file; with `bulk` each after the line that says which index it goes to.

    A query is indexed under its query id, so that sending it twice does not double it.

    >>> query = UbiQuery(user_query="lamp", query_id="q1")
    >>> print(*(line.decode() for line in ndjson_lines([query], bulk=True)), sep="", end="")
    {"index":{"_index":"ubi_queries","_id":"q1"}}
    {"user_query":"lamp","query_id":"q1"}
    """
    for thing in objects:
        if bulk:
            place = {"_index": QUERIES_INDEX if isinstance(thing, UbiQuery) else EVENTS_INDEX}
            if isinstance(thing, UbiQuery) and thing.query_id:
                place["_id"] = thing.query_id
            yield msgspec.json.encode({"index": place}) + b"\n"
        yield encode(thing) + b"\n"


def read_queries(path: Source) -> Iterator[UbiQuery]:
    """The queries of a file, one a line."""
    return _read(path, decode_query)


def read_events(path: Source) -> Iterator[UbiEvent]:
    """The events of a file, one a line."""
    return _read(path, decode_event)


def read_bulk(path: Source) -> Iterator[UbiQuery | UbiEvent]:
    """The queries and events of a bulk body, in its order."""
    decoder: Callable[[bytes], UbiQuery | UbiEvent] | None = None
    for number, line in _lines(path):
        if decoder is None:
            decoder = _DECODERS[_index(path, number, line)]
        else:
            yield _decoded(path, number, line, decoder)
            decoder = None
    if decoder is not None:
        raise DataError(f"{path}: the last line announces an object, but none follows")


def _read(path: Source, decoder: Callable[[bytes], T]) -> Iterator[T]:
    for number, line in _lines(path):
        yield _decoded(path, number, line, decoder)


def _lines(path: Source) -> Iterator[tuple[int, bytes]]:
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if text := line.strip():
                    yield number, text
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _decoded(path: Source, number: int, line: bytes, decoder: Callable[[bytes], T]) -> T:
    try:
        return decoder(line)
    except DataError as error:
        raise DataError(f"{path}, line {number}: {error}") from None


def _index(path: Source, number: int, line: bytes) -> str:
    try:
        action = _ACTION.decode(line)
        place = action.index or action.create
    except (msgspec.DecodeError, UnicodeError):
        place = None
    if place is None or place.index not in _DECODERS:
        raise DataError(
            f"{path}, line {number}: in a bulk body this line must say where the next one goes, "
            f'such as {{"index": {{"_index": "{QUERIES_INDEX}"}}}} or the same with "{EVENTS_INDEX}"'
        )
    return place.index
