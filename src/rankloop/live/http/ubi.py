"""User Behavior Insights over HTTP. What names a page is the same in both worlds: UBI's `query_id` is the impression id
that rank gave. So events that a UBI collector has anyway become clicks, and the log can be read out as UBI.

Collectors pass on what browsers send, so `rankloop_reward`, which says what a click is worth, counts only from a key
with the scope `admin`; from others the action alone decides.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from rankloop.errors import DataError
from rankloop.live.errors import RequestError
from rankloop.live.events import Kind
from rankloop.live.http.calls import Answer, Call
from rankloop.live.http.statuses import status_of
from rankloop.live.registry import LiveModel
from rankloop.live.requests import ClickBody
from rankloop.live.service import Service
from rankloop.live.ubi import CHUNK, click_times, events_of_closing, shown_page
from rankloop.ubi import REWARDS, UbiEvent, UbiQuery, click_of_event, query_of_page
from rankloop.ubi import Fate as UbiFate

MAX_PAGES = 1_000
MAX_EVENTS = 20_000
"""In one answer, at least if its pages are not larger than that themselves."""

WORDS = {
    UbiFate.NO_QUERY_ID: "no_query_id",
    UbiFate.OTHER_ACTION: "other_action",
    UbiFate.NO_OBJECT: "no_object",
    UbiFate.UNKNOWN_QUERY: "not_ours",
    UbiFate.NOT_SHOWN: "not_shown",
    UbiFate.BAD_REWARD: "bad_reward",
}


async def take_queries(call: Call) -> Answer:
    """UBI queries, one or a list. Our pages are in the log already, so a query is only recognised, or not."""
    queries = _listed(call, call.decode(list[UbiQuery] | UbiQuery))
    fates = [_query_fate(call.service, query) for query in queries]
    return _told(call.service, "ubi_queries", [query.query_id for query in queries], fates)


async def take_events(call: Call) -> Answer:
    """UBI events, one or a list: those that are clicks on our pages are learned from. Each is told its fate."""
    events = _listed(call, call.decode(list[UbiEvent] | UbiEvent))
    if not call.allows("admin"):
        events = [_without_reward(event) for event in events]
    wanted = dict.fromkeys(event.query_id for event in events if event.query_id and event.action_name in REWARDS)
    found = await asyncio.gather(*(_page(call.service, query_id) for query_id in wanted))
    fates, pages = {}, {}
    for query_id, page in zip(wanted, found, strict=True):
        if isinstance(page, str):
            fates[query_id] = page
        else:
            pages[query_id] = page
    results: list[str | None] = []
    reports = []
    for event in events:
        fate, click = click_of_event(event, pages.get)
        if click is not None:
            reports.append(ClickBody(click.query_id, {click.document: click.value}))
            results.append(None)
        else:
            known = fates.get(event.query_id or "") if fate is UbiFate.UNKNOWN_QUERY else None
            results.append(known or WORDS[fate])
    clicked = iter(await call.service.click(reports))
    told = [fate if fate is not None else _click_fate(next(clicked)) for fate in results]
    return _told(call.service, "ubi_events", [event.query_id for event in events], told)


def _listed(call: Call, given: Any) -> list[Any]:
    things = given if isinstance(given, list) else [given]
    if len(things) > call.service.limits.items:
        raise RequestError(
            "invalid_request", f"at most {call.service.limits.items:,} objects at once; got {len(things):,}"
        )
    return things


def _query_fate(service: Service, query: UbiQuery) -> str:
    if not query.query_id:
        return "no_query_id"
    try:
        service.verify(query.query_id)
    except RequestError as error:
        return _refusal(error)
    return "ours"


async def _page(service: Service, query_id: str) -> list[str] | str:
    """The documents of a page, or why its clicks cannot count."""
    try:
        shown = await service.page(query_id)
    except RequestError as error:
        return _refusal(error)
    return "late" if shown is None else shown


def _refusal(error: RequestError) -> str:
    return "expired" if status_of(error) == 410 else "not_ours"


def _without_reward(event: UbiEvent) -> UbiEvent:
    attributes = event.event_attributes
    if attributes is None or attributes.rankloop_reward is None:
        return event
    plain = msgspec.structs.replace(attributes, rankloop_reward=None)
    return msgspec.structs.replace(event, event_attributes=plain)


def _click_fate(clicked: Any) -> str:
    counts = {word: getattr(clicked, word) for word in ("accepted", "duplicate", "contradictory", "late")}
    return next((word for word, count in counts.items() if count), "late")


def _told(service: Service, what: str, ids: Sequence[str | None], fates: Sequence[str]) -> Answer:
    counts = Counter(fates)
    for fate, count in counts.items():
        service.counts[what, fate] += count
    results = [{"query_id": query_id, "fate": fate} for query_id, fate in zip(ids, fates, strict=True)]
    return Answer(200, {"results": results, "counts": dict(counts)})


# Out


async def read_queries(call: Call) -> Answer:
    """Pages that a model showed, as UBI queries, in the order of the log: `?model=…&after=…&limit=…`.

    Go on with `after` = the answer's `next` while `more` is true.
    """
    model, after, limit = _window(call)
    return Answer(200, await asyncio.to_thread(_queries, call.service, model, after, limit))


async def read_events(call: Call) -> Answer:
    """Impressions and clicks of pages that are closed, as UBI events, in the order of the log.

    `limit` counts pages, so there are several events for each. Go on with `after` = the answer's `next` while `more`
    is true.
    """
    model, after, limit = _window(call)
    return Answer(200, await asyncio.to_thread(_events, call.service, model, after, limit))


def _window(call: Call) -> tuple[LiveModel, int, int]:
    call.takes("model", "after", "limit")
    if "model" not in call.query:
        raise RequestError("invalid_request", "say which model: ?model=…")
    model = call.service.registry.get(call.query["model"])
    after = call.whole_number("after", default=0)
    return model, after, call.whole_number("limit", default=100, at_least=1, at_most=MAX_PAGES)


def _queries(service: Service, model: LiveModel, after: int, limit: int) -> dict[str, Any]:
    found: list[UbiQuery] = []
    left_out = 0
    more = True
    while more and len(found) + left_out < limit:
        size = min(CHUNK, limit - len(found) - left_out)
        events = service.store.events(after, size, kinds=(Kind.SHOWN,), model=model.id)
        more = len(events) == size
        for event in events:
            after = event.offset
            try:
                found.append(query_of_page(shown_page(service.impression_id, model.settings.name, event)))
            except DataError:
                left_out += 1
    return {"queries": found, "next": after, "more": more, "left_out": left_out}


def _events(service: Service, model: LiveModel, after: int, limit: int) -> dict[str, Any]:
    closings = service.store.events(after, limit, kinds=(Kind.CLOSED,), model=model.id)
    times = click_times(service.store, model.id, closings)
    found: list[UbiEvent] = []
    left_out = 0
    more = len(closings) == limit
    for place, event in enumerate(closings):
        after = event.offset
        try:
            found += events_of_closing(service.store, service.impression_id, model.settings.name, event, times)
        except DataError:
            left_out += 1
        if len(found) >= MAX_EVENTS and place + 1 < len(closings):
            more = True
            break
    return {"events": found, "next": after, "more": more, "left_out": left_out}
