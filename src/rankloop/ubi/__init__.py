"""User Behavior Insights 1.3: pages and clicks to and from the open standard for search behaviour."""

from rankloop.ubi.incoming import REWARDS, Fate, Intake, click_of_event, page_of_query, require_rewards
from rankloop.ubi.ndjson import ndjson_lines, read_bulk, read_events, read_queries, write_ndjson
from rankloop.ubi.outgoing import events_of_page, query_of_page
from rankloop.ubi.pages import Click, ShownPage
from rankloop.ubi.schema import (
    Coordinates,
    EventAttributes,
    EventObject,
    Position,
    UbiEvent,
    UbiQuery,
    decode_event,
    decode_events,
    decode_queries,
    decode_query,
    encode,
    instant,
    stamp,
)

__all__ = [
    "REWARDS",
    "Click",
    "Coordinates",
    "EventAttributes",
    "EventObject",
    "Fate",
    "Intake",
    "Position",
    "ShownPage",
    "UbiEvent",
    "UbiQuery",
    "click_of_event",
    "decode_event",
    "decode_events",
    "decode_queries",
    "decode_query",
    "encode",
    "events_of_page",
    "instant",
    "ndjson_lines",
    "page_of_query",
    "query_of_page",
    "read_bulk",
    "read_events",
    "read_queries",
    "require_rewards",
    "stamp",
    "write_ndjson",
]
