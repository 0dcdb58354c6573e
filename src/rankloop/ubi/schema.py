"""Queries and events of User Behavior Insights 1.3, the open standard for what people do with search results.

The structs follow https://o19s.github.io/ubi/schema/1.3.0/query.request.schema.json and event.schema.json: the same
names, types, required fields and lengths. Fields beyond the schema are allowed, and left out when written again.
Where an edition says `oneOf` for alternatives that overlap (a UUID is also a short text, "click" also a text), any of
them is meant, and taken.

Reading is a little more generous than the schema, because the standard's own clients are: null is taken as absent,
`position` may be missing, and a time may be a number of milliseconds since 1970, as the `ubi_events` index allows.
Writing is exact.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from rankloop.errors import DataError

QUERIES_INDEX = "ubi_queries"
EVENTS_INDEX = "ubi_events"
MAX_NAME, MAX_OBJECT_ID, MAX_MESSAGE = 100, 256, 1024

T = TypeVar("T")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UbiQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query that somebody made, with the documents that came back, best first."""

    user_query: str
    application: str | None = None
    query_id: str | None = None
    client_id: str | None = None
    query_attributes: dict[str, Any] | None = None
    object_id_field: str | None = None
    timestamp: str | int | None = None
    query_response_id: str | None = None
    query_response_hit_ids: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _require_lengths(self, MAX_NAME, "application", "query_id", "client_id", "object_id_field")
        if self.timestamp is not None:
            instant(self.timestamp)

    @property
    def at(self) -> datetime | None:
        """When the query was made, if it says so."""
        return None if self.timestamp is None else instant(self.timestamp)


class EventObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody did something with: a product, a page, a post."""

    object_id: str | int | None = None
    object_id_type: str | None = None
    object_id_field: str | None = None
    internal_id: str | int | None = None

    def __post_init__(self) -> None:
        _require_lengths(self, MAX_OBJECT_ID, "object_id", "internal_id")
        _require_lengths(self, MAX_NAME, "object_id_type", "object_id_field")


class Coordinates(msgspec.Struct, frozen=True, kw_only=True):
    """A place on the screen."""

    x: float
    y: float


class Position(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where it happened: the rank on the result page, from 1, or a place on the screen."""

    ordinal: int | None = None
    xy: Coordinates | None = None


class EventAttributes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The details of an event. `rankloop_reward` is ours, an additional property as the schema allows."""

    object: EventObject | None = None
    position: Position | None = None
    rankloop_reward: float | None = None


class UbiEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that somebody did after a query."""

    action_name: str
    timestamp: str | int
    application: str | None = None
    query_id: str | None = None
    session_id: str | None = None
    client_id: str | None = None
    user_id: str | None = None
    message_type: str | None = None
    message: str | None = None
    user_query: str | None = None
    event_attributes: EventAttributes | None = None

    def __post_init__(self) -> None:
        _require_lengths(self, MAX_NAME, "action_name", "application", "query_id", "session_id", "client_id", "user_id")
        _require_lengths(self, MAX_NAME, "message_type")
        _require_lengths(self, MAX_MESSAGE, "message")
        instant(self.timestamp)

    @property
    def at(self) -> datetime:
        """When it happened."""
        return instant(self.timestamp)


def instant(timestamp: str | int) -> datetime:
    """A UBI timestamp as a time in UTC: ISO 8601, without an offset meaning UTC, or milliseconds since 1970.

    >>> instant("2018-11-13T20:20:39+01:00").isoformat(), instant(1542136839000).isoformat()
    ('2018-11-13T19:20:39+00:00', '2018-11-13T19:20:39+00:00')
    """
    try:
        if isinstance(timestamp, int):
            return _EPOCH + timedelta(milliseconds=timestamp)
        if _TIME.fullmatch(timestamp):
            at = datetime.fromisoformat(timestamp)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise DataError(f"timestamp must be a time such as '2018-11-13T20:20:39Z'; got {timestamp!r}")


def stamp(at: datetime) -> str:
    """A time as UBI writes it: in UTC, with `Z`, which OpenSearch asks for, and at least milliseconds.

    The `ubi_events` index drops times of another form (`strict_date_time`, `ignore_malformed`) without a word.

    >>> stamp(datetime(2018, 11, 13, 20, 20, 39, tzinfo=UTC))
    '2018-11-13T20:20:39.000Z'
    """
    if at.tzinfo is None:
        raise DataError(f"a time needs its offset from UTC; got {at.isoformat()}")
    digits = "microseconds" if at.microsecond % 1000 else "milliseconds"
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=digits) + "Z"


def decode_query(data: bytes | str) -> UbiQuery:
    """One query from JSON.

    >>> decode_query('{"user_query": "lamp", "query_id": "q1", "query_response_hit_ids": ["a", "b"]}').query_id
    'q1'
    """
    return _decode(UbiQuery, data, "query")


def decode_event(data: bytes | str) -> UbiEvent:
    """One event from JSON.

    >>> decode_event('{"action_name": "click"}')
    Traceback (most recent call last):
    rankloop.errors.DataError: not a UBI 1.3 event: Object missing required field `timestamp`
    """
    return _decode(UbiEvent, data, "event")


def decode_queries(data: bytes | str) -> list[UbiQuery]:
    """One query or a list of them, as clients send them."""
    return _decode(list[UbiQuery], data, "query") if _is_list(data) else [decode_query(data)]


def decode_events(data: bytes | str) -> list[UbiEvent]:
    """One event or a list of them, as clients send them.

    >>> len(decode_events('[{"action_name": "login", "timestamp": "2024-01-01T00:00:00Z"}]'))
    1
    """
    return _decode(list[UbiEvent], data, "event") if _is_list(data) else [decode_event(data)]


def encode(thing: UbiQuery | UbiEvent) -> bytes:
    """One query or event as JSON on one line; what the schema would refuse is not written."""
    if isinstance(thing, UbiEvent):
        _require_written(thing)
    elif thing.timestamp is not None and not isinstance(thing.timestamp, str):
        raise DataError(f"a UBI query's timestamp is written as text; got {thing.timestamp!r}")
    try:
        return msgspec.json.encode(thing)
    except (UnicodeEncodeError, TypeError, ValueError) as error:
        raise DataError(f"cannot write a UBI object as JSON: {error}") from None


def _decode(kind: type[T], data: bytes | str, what: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DataError(f"not a UBI 1.3 {what}: {error}") from None


def _is_list(data: bytes | str) -> bool:
    return data.lstrip()[:1] in (b"[", "[")


def _require_lengths(thing: msgspec.Struct, longest: int, *names: str) -> None:
    for name in names:
        value = getattr(thing, name)
        if isinstance(value, str) and len(value) > longest:
            raise DataError(f"{name} must have at most {longest} characters; got {len(value)}")


def _require_written(event: UbiEvent) -> None:
    attributes = event.event_attributes
    if not isinstance(event.timestamp, str):
        raise DataError(f"a UBI event's timestamp is written as text; got {event.timestamp!r}")
    if attributes is None:
        return
    if attributes.object is not None and attributes.object.object_id is None:
        raise DataError("a UBI event's object needs an object_id")
    position = attributes.position
    if position is None or (position.ordinal is None) == (position.xy is None):
        raise DataError("a UBI event's attributes need a position, which is either an ordinal or xy")
