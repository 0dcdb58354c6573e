"""The log as User Behavior Insights: pages as queries, closed pages as impressions and clicks.

UBI's `query_id` is the impression id that rank gave, so that whatever was collected elsewhere finds its page.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from rankloop.errors import DataError
from rankloop.live.events import Closing, Event, Impression, Kind, decode
from rankloop.live.learning import UNREADABLE
from rankloop.live.stores import Reader, each_event
from rankloop.ubi import Click, ShownPage, UbiEvent, UbiQuery, events_of_page, query_of_page

CHUNK = 16
"""Impressions are read a few at a time: each has all its candidates' features."""
CLOSINGS = 500

Sign = Callable[[int, int, int], str]
"""Gives the id of an impression: (model, number, when it was shown)."""
T = TypeVar("T")
Pages = Iterator[tuple[int, list[T] | None]]
"""Pages of the log: (offset, what UBI says about it), or None for what UBI cannot say."""


def shown_page(sign: Sign, model: str, event: Event) -> ShownPage:
    """A page of the log; its client is the keyed hash that is all we have."""
    impression: Impression = _read(event)
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
    closing: Closing = _read(event)
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
    first = closings[0].offset
    for event in closings:
        with suppress(DataError):
            first = min(first, _read(event).shown)
    for event in each_event(store, first, kinds=(Kind.CLICKED,), model=model, at_once=1_000):
        if event.offset > closings[-1].offset:
            break
        if event.number in numbers:
            with suppress(DataError):
                for rank in _read(event).ranks:
                    times.setdefault((event.number, rank), event.at)
    return times


def all_queries(store: Reader, sign: Sign, model: int, name: str, after: int = 0) -> Pages[UbiQuery]:
    """Every page that a model showed beyond an offset, as a query."""
    for event in each_event(store, after, kinds=(Kind.SHOWN,), model=model, at_once=CHUNK):
        try:
            yield event.offset, [query_of_page(shown_page(sign, name, event))]
        except DataError:
            yield event.offset, None


def all_events(
    store: Reader, sign: Sign, model: int, name: str, after: int = 0, at_once: int = CLOSINGS
) -> Pages[UbiEvent]:
    """Every page of a model that was closed beyond an offset, as impressions and clicks."""
    while closings := store.events(after, at_once, kinds=(Kind.CLOSED,), model=model):
        times = click_times(store, model, closings)
        for event in closings:
            after = event.offset
            try:
                yield after, events_of_closing(store, sign, name, event, times)
            except DataError:
                yield after, None


def _read(event: Event) -> Any:
    try:
        return decode(event.kind, event.body)
    except UNREADABLE:
        raise DataError(f"event {event.offset} of the log cannot be read; rankloop log verify tells more") from None


def _time(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
