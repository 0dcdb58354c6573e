"""The log as User Behavior Insights: pages as queries, closed pages as impressions and clicks.

UBI's `query_id` is the impression id that rank gave, so that whatever was collected elsewhere finds its page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

from rankloop.errors import DataError
from rankloop.live.events import ENDED, Clicks, Closing, Event, Impression, Kind, Late, decode
from rankloop.live.loading import UNREADABLE, settings_of
from rankloop.live.settings import CLICK
from rankloop.live.stores import Reader, each_event
from rankloop.ubi import Click, ShownPage, UbiEvent, UbiQuery, events_of_page, query_of_page

CHUNK = 16
"""Impressions are read a few at a time: each has all its candidates' features."""
CLOSINGS = 500
NO_ACTIONS: Mapping[str, float] = MappingProxyType({})

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
    store: Reader,
    sign: Sign,
    model: str,
    event: Event,
    times: dict[tuple[int, ...], int],
    worth: Mapping[str, float] = NO_ACTIONS,
) -> list[UbiEvent]:
    """A closed page's impressions and clicks, or what came late to one; nothing if nobody saw it, or it was erased or
    compacted away. `worth` are the model's actions, where it names them."""
    closing: Closing | Late = _read(event)
    shown = store.event(closing.shown)
    if shown is None or shown.kind != Kind.SHOWN or (isinstance(closing, Closing) and closing.why == "void"):
        return []
    page = shown_page(sign, model, shown)
    clicks = [
        Click(query_id=page.query_id, document=page.documents[rank], value=value, action=action,
              at=_time(times.get((event.number, rank, *place), event.at)))
        for rank, value, action, *place in _happened(closing, worth)
    ]  # fmt: skip
    return list(events_of_page(page, clicks, impressions=isinstance(closing, Closing)))


def _happened(closing: Closing | Late, worth: Mapping[str, float]) -> Iterator[tuple[Any, ...]]:
    """(rank, value, name) of each click; or of each action that is new, with its place among the model's."""
    if not closing.actions:
        yield from ((rank, value, CLICK) for rank, value in enumerate(closing.clicks) if value > 0)
        return
    before = closing.actions_before if isinstance(closing, Late) else [0] * len(closing.actions)
    for rank, (known, now) in enumerate(zip(before, closing.actions, strict=True)):
        for place, (name, value) in enumerate(worth.items()):
            if (now & ~known) >> place & 1:
                yield rank, value, name, place


def click_times(store: Reader, model: int, closings: Sequence[Event]) -> dict[tuple[int, ...], int]:
    """When each (impression, rank) was first clicked, or each (impression, rank, action) happened: a closing says how
    much, not when."""
    if not closings:
        return {}
    numbers = {event.number for event in closings}
    times: dict[tuple[int, ...], int] = {}
    first = closings[0].offset
    for event in closings:
        with suppress(DataError):
            first = min(first, _read(event).shown)
    for event in each_event(store, first, kinds=(Kind.CLICKED,), model=model, at_once=1_000):
        if event.offset > closings[-1].offset:
            break
        if event.number in numbers:
            with suppress(DataError):
                clicks: Clicks = _read(event)
                for what in zip(clicks.ranks, clicks.actions, strict=True) if clicks.actions else zip(clicks.ranks):
                    times.setdefault((event.number, *what), event.at)
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
    """Every page of a model that was closed beyond an offset, as impressions and clicks; and what came late."""
    worth = next((settings_of(known).actions for known in store.models() if known.id == model), NO_ACTIONS)
    while closings := store.events(after, at_once, kinds=ENDED, model=model):
        times = click_times(store, model, closings)
        for event in closings:
            after = event.offset
            try:
                yield after, events_of_closing(store, sign, name, event, times, worth)
            except DataError:
                yield after, None


def _read(event: Event) -> Any:
    try:
        return decode(event.kind, event.body)
    except UNREADABLE:
        raise DataError(f"event {event.offset} of the log cannot be read; see rankloop log verify") from None


def _time(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
