"""The log as User Behavior Insights: pages as queries, closed pages as impressions and clicks.

UBI's `query_id` is the impression id that rank gave, so that whatever was collected elsewhere finds its page.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from rankloop.errors import DataError
from rankloop.live.events import Closing, Event, Impression, Kind, decode
from rankloop.live.stores import Reader, each_event
from rankloop.live.tokens import Signer
from rankloop.ubi import Click, ShownPage, UbiEvent, UbiQuery, events_of_page, query_of_page

CHUNK = 16
"""Impressions are read a few at a time: each has all its candidates' features."""
CLOSINGS = 500

Sign = Callable[[int, int, int], str]
"""Gives the id of an impression: (model, number, when it was shown)."""


def shown_page(sign: Sign, model: str, event: Event) -> ShownPage:
    """A page of the log; its client is the keyed hash that is all we have."""
    impression: Impression = decode(event.kind, event.body)
    return ShownPage(
        query_id=sign(event.model, event.number, event.at),
        query=impression.query,
        documents=tuple(impression.shown()),
        at=_time(event.at),
        client=event.client.hex(),
        model=model,
    )


def events_of_closing(
    store: Reader, sign: Sign, model: str, event: Event, times: dict[tuple[int, int], int]
) -> list[UbiEvent]:
    """A closed page's impressions and clicks; nothing if nobody saw it, or it was erased or compacted away."""
    closing: Closing = decode(event.kind, event.body)
    shown = store.event(closing.shown)
    if closing.why == "void" or shown is None or shown.kind != Kind.SHOWN:
        return []
    page = shown_page(sign, model, shown)
    clicks = [
        Click(query_id=page.query_id, document=page.documents[rank], value=value,
              at=_time(times.get((event.number, rank), event.at)))
        for rank, value in enumerate(closing.clicks) if value > 0
    ]  # fmt: skip
    return list(events_of_page(page, clicks))


def click_times(store: Reader, model: int, closings: Sequence[Event]) -> dict[tuple[int, int], int]:
    """When each (impression, rank) was first clicked: a closing says how much, not when."""
    if not closings:
        return {}
    numbers = {event.number for event in closings}
    times: dict[tuple[int, int], int] = {}
    first = min(decode(event.kind, event.body).shown for event in closings)
    for event in each_event(store, first, kinds=(Kind.CLICKED,), model=model, at_once=1_000):
        if event.offset > closings[-1].offset:
            break
        if event.number in numbers:
            for rank in decode(event.kind, event.body).ranks:
                times.setdefault((event.number, rank), event.at)
    return times


def all_queries(store: Reader, model: int, name: str) -> Iterator[tuple[int, UbiQuery | None]]:
    """(offset, query) of every page that a model showed; None for what UBI cannot say."""
    sign = Signer(store.secrets()).sign
    for event in each_event(store, kinds=(Kind.SHOWN,), model=model, at_once=CHUNK):
        try:
            yield event.offset, query_of_page(shown_page(sign, name, event))
        except DataError:
            yield event.offset, None


def all_events(store: Reader, model: int, name: str) -> Iterator[tuple[int, list[UbiEvent] | None]]:
    """(offset, impressions and clicks) of every page of a model that is closed; None for what UBI cannot say."""
    sign, after = Signer(store.secrets()).sign, 0
    while closings := store.events(after, CLOSINGS, kinds=(Kind.CLOSED,), model=model):
        times = click_times(store, model, closings)
        for event in closings:
            after = event.offset
            try:
                yield after, events_of_closing(store, sign, name, event, times)
            except DataError:
                yield after, None


def _time(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
