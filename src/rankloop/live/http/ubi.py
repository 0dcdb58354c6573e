"""User Behavior Insights over HTTP. What names a page is the same in both worlds: UBI's `query_id` is the impression id
that rank gave. So events that a UBI collector has anyway become clicks, and the log can be read out as UBI.

Collectors pass on what browsers send, so `rankloop_reward`, which says what a click is worth, counts only from a key
with the scope `admin`; from others the action alone decides. Where a model names its actions, it always does.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from rankloop.live.errors import RequestError
from rankloop.live.http.answers import UbiEvents, UbiQueries, UbiResult, UbiTaken
from rankloop.live.http.calls import Call
from rankloop.live.http.declaration import MODEL, NUMBER, Endpoint, Parameter
from rankloop.live.http.statuses import status_of
from rankloop.live.requests import Action, ClickBody
from rankloop.live.service import Service
from rankloop.live.settings import ModelSettings
from rankloop.live.ubi import Pages, T, all_events, all_queries
from rankloop.ubi import REWARDS, UbiEvent, UbiQuery, click_of_event
from rankloop.ubi import Fate as UbiFate

MAX_PAGES = 1_000
MAX_EVENTS = 20_000
"""In one answer, at least if its pages are not larger than that themselves."""


@Endpoint("POST", "/ubi/queries", "click", UbiTaken, body=list[UbiQuery] | UbiQuery)
async def take_queries(call: Call) -> UbiTaken:
    """UBI queries, one or a list. Our pages are in the log already, so a query is only recognised, or not."""
    queries = _listed(call)
    fates = [await _query_fate(call.service, query) for query in queries]
    return _counted(call.service, "ubi_queries", queries, fates)


@Endpoint("POST", "/ubi/events", "click", UbiTaken, body=list[UbiEvent] | UbiEvent)
async def take_events(call: Call) -> UbiTaken:
    """UBI events, one or a list: those that are clicks on our pages are learned from. Each is told its fate."""
    events = _listed(call)
    if not call.allows("admin"):
        events = [_without_reward(event) for event in events]
    ids = dict.fromkeys(event.query_id for event in events if event.query_id)
    pages = dict(zip(ids, await asyncio.gather(*(_page(call.service, query_id) for query_id in ids)), strict=True))
    fates: list[str | None] = []
    reports = []
    for event in events:
        report = _report(event, pages.get(event.query_id or "", ClickedPage("not_ours")))
        if isinstance(report, ClickBody):
            reports.append(report)
        fates.append(report if isinstance(report, str) else None)
    clicked = iter(await call.service.click(reports))
    return _counted(call.service, "ubi_events", events, [fate or _click_fate(next(clicked)) for fate in fates])


class ClickedPage(NamedTuple):
    """A page that events are about: its documents, or why they cannot count; and what its model calls what happens."""

    shown: list[str] | str
    settings: ModelSettings | None = None


def _report(event: UbiEvent, page: ClickedPage) -> ClickBody | str:
    """What an event reports, or its fate if that is nothing. Where a model names its actions, they decide."""
    named = page.settings is not None and page.settings.has_actions
    worth = page.settings.actions if named and page.settings else REWARDS
    shown = None if isinstance(page.shown, str) else page.shown
    fate, click = click_of_event(_without_reward(event) if named else event, lambda _: shown, worth)
    if click is None:
        return str(page.shown) if fate is UbiFate.UNKNOWN_QUERY else fate.name.lower()
    if named:
        return ClickBody(click.query_id, actions=[Action(click.document, event.action_name)])
    return ClickBody(click.query_id, {click.document: click.value})


def _listed(call: Call) -> list[Any]:
    things = call.body if isinstance(call.body, list) else [call.body]
    if len(things) > call.service.limits.items:
        raise RequestError(
            "invalid_request", f"at most {call.service.limits.items:,} objects at once; got {len(things):,}"
        )
    return things


async def _query_fate(service: Service, query: UbiQuery) -> str:
    if not query.query_id:
        return "no_query_id"
    try:
        await service.verify(query.query_id)
    except RequestError as error:
        return _refusal(error)
    return "ours"


async def _page(service: Service, query_id: str) -> ClickedPage:
    """The page of a query id."""
    try:
        settings, shown = await service.page(query_id)
    except RequestError as error:
        return ClickedPage(_refusal(error))
    return ClickedPage("late" if shown is None else shown, settings)


def _refusal(error: RequestError) -> str:
    return "expired" if status_of(error) == 410 else "not_ours"


def _without_reward(event: UbiEvent) -> UbiEvent:
    attributes = event.event_attributes
    if attributes is None or attributes.rankloop_reward is None:
        return event
    plain = msgspec.structs.replace(attributes, rankloop_reward=None)
    return msgspec.structs.replace(event, event_attributes=plain)


def _click_fate(clicked: Any) -> str:
    return next((fate for fate in ("accepted", "duplicate", "contradictory") if getattr(clicked, fate)), "late")


def _counted(service: Service, what: str, things: Sequence[UbiQuery | UbiEvent], fates: Sequence[str]) -> UbiTaken:
    counts = Counter(fates)
    for fate, count in counts.items():
        service.counts[what, fate] += count
    results = [UbiResult(thing.query_id, fate) for thing, fate in zip(things, fates, strict=True)]
    return UbiTaken(results, dict(counts))


# Out


WINDOW = (
    MODEL,
    Parameter("after", NUMBER | {"default": 0}),
    Parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGES, "default": 100}),
)


@Endpoint("GET", "/ubi/queries", "admin", UbiQueries, query=WINDOW)
async def read_queries(call: Call) -> UbiQueries:
    """Pages that a model showed, as UBI queries, in the order of the log: `?model=…&after=…&limit=…`.

    Go on with `after` = the answer's `next` while `more` is true.
    """
    service, model = call.service, call.model
    pages = all_queries(service.store, service.impression_id, model.id, model.settings.name, call["after"])
    return UbiQueries(*await asyncio.to_thread(_read, pages, call))


@Endpoint("GET", "/ubi/events", "admin", UbiEvents, query=WINDOW)
async def read_events(call: Call) -> UbiEvents:
    """Impressions and clicks of pages that are closed, as UBI events, in the order of the log.

    `limit` counts pages, so there are several events for each. Go on with `after` = the answer's `next` while `more`
    is true.
    """
    service, model = call.service, call.model
    where = service.store, service.impression_id, model.id, model.settings.name
    return UbiEvents(*await asyncio.to_thread(_read, all_events(*where, call["after"], call["limit"]), call))


def _read(pages: Pages[T], call: Call) -> tuple[list[T], int, bool, int]:
    """What UBI says about so many pages, where to go on, whether there may be more, and how many it cannot say."""
    objects: list[T] = []
    after, left_out = call["after"], 0
    for taken, (after, page) in enumerate(islice(pages, call["limit"]), 1):
        objects += page or []
        left_out += page is None
        if taken == call["limit"] or len(objects) >= MAX_EVENTS:
            return objects, after, True, left_out
    return objects, after, False, left_out
