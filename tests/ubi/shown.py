"""One page that was shown, and events about it."""

from rankloop.ubi import (
    EventAttributes,
    EventObject,
    Position,
    ShownPage,
    UbiEvent,
    query_of_page,
)

from .strategies import NOON

PAGE = ShownPage(query_id="q1", query="lamp", documents=("a", "b", "7"), at=NOON, client="c1", model="shop@3")


def event(action="click", document="b", **fields):
    given = {"query_id": "q1", "timestamp": "2024-05-01T12:00:05Z"} | fields
    return UbiEvent(
        action_name=action,
        event_attributes=EventAttributes(object=EventObject(object_id=document), position=Position(ordinal=2)),
        **given,
    )


QUERY = query_of_page(PAGE)
