"""The demo's pages: a search, results that move when they are clicked, and visitors who come while one watches.

What somebody sees here is made as a customer's page would make it: candidates from an engine, a page from the service,
clicks back to the service, all over its public API.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from rankloop.client import AsyncClient, RefusedError, ServiceError
from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError
from rankloop.live.http.statuses import status_of
from rankloop.mistakes import explained
from rankloop.web.demo.comparison import RIVALS, Belief, Comparison, DrawnPage, Rules
from rankloop.web.demo.crowd import Crowd
from rankloop.web.demo.curve import curve_of, percent
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.explaining import Lesson, bars_of, before_of, is_current, lesson_of, results_of
from rankloop.web.demo.features import results_with
from rankloop.web.demo.snippets import Snippet
from rankloop.web.demo.tastes import TASTES
from rankloop.web.demo.visitors import HELD_OUT, VISITED
from rankloop.web.site import Site

ADDRESS = "/demo"
LONGEST_QUERY = 1000
"""Letters of a query that count; the engine looks at no more."""
VISITORS = 1000
EXAMPLES = ("parse json", "read csv file", "split string", "sort list", "http request", "current time")
"""What the page suggests; the first is searched for as long as nothing else is."""
_REMEMBERED = 500  # pages that can still be clicked
_CARES = 6  # of the things that a model cares for, those that are shown
_SOON = 100  # visits
_WHO = "rankloop_demo"

Handler = Callable[..., Awaitable[Response]]
Change = Callable[[dict[str, str]], Awaitable[None]]

TIMEOUT = 10.0
"""Seconds a search waits for the service: the machine that serves it also plays its visitors."""


class Demo:
    """The pages of one demo.

    Args:
        site: where they are shown.
        engine: what is searched with.
        url: where the service itself listens.
        seed: of models and visitors.
    """

    def __init__(self, site: Site, engine: Engine, url: str, seed: int) -> None:
        self._site = site
        self._engine = engine
        self._comparison = Comparison(AsyncClient(url, timeout=TIMEOUT), seed)
        self._crowd = Crowd(self._comparison, engine, seed)
        self._starting = asyncio.Lock()
        """Held while models are made anew: whoever watches meanwhile waits, and does not ask for one that is gone."""
        self._beginning = asyncio.Lock()
        self._begun = False
        self._shown: OrderedDict[str, DrawnPage] = OrderedDict()
        self._lesson: Lesson | None = None
        self._clicks = 0
        self._visits_then = 0
        site.filters.update(pieces=pieces, percent=percent, ordinal=ordinal, dotted=dotted, count_more=count_more)
        for path, show in (("", self._search), ("/crowd", self._watch), ("/curve.json", self._curve)):
            site.get(f"{ADDRESS}{path}", self._answering(show))
        site.get(ADDRESS + "/documents/{id}", self._answering(self._document))
        for name, act in (("click", self._click), ("reset", self._reset)):
            site.post(f"{ADDRESS}/{name}", self._answering(act))
        changes: dict[str, Change] = {
            "visitors": lambda _: self._crowd.send(VISITORS),
            "stop": lambda _: self._crowd.stop(),
            "taste": lambda fields: self._crowd.switch(fields.get("taste", "")),
        }
        for name, change in changes.items():
            site.post(f"{ADDRESS}/{name}", self._answering(partial(self._change, change)))

    def _answering(self, handler: Handler) -> Handler:
        """A handler for a demo that has begun, whose errors are sentences."""

        async def answer(request: Request, *rest: Any) -> Response:
            try:
                await self._begin()
                return await handler(request, *rest)
            except RankloopError as error:
                status = 503 if isinstance(error, ServiceError) else status_of(error)
                status = error.status if isinstance(error, RefusedError) else status
                words = {"title": "Something went wrong", "message": str(error)}
                return self._site.page(request, "demo/trouble.html", status=status, **words)

        return answer

    async def _begin(self) -> None:
        """Make the models with the first page: only then does the service listen."""
        async with self._beginning:
            if not self._begun:
                await self._crowd.begin(Rules())
                self._begun = True

    # Search, look, click

    async def _search(self, request: Request) -> Response:
        typed = request.query_params.get("q", "")
        query = typed[:LONGEST_QUERY].strip() or EXAMPLES[0]
        who = request.cookies.get(_WHO) or secrets.token_urlsafe(12)
        found = await self._results(query, who)
        response = self._page(
            request, "demo/search.html", title=query[:60], cut=len(typed) > LONGEST_QUERY, typed=len(typed), **found
        )
        response.set_cookie(_WHO, who, httponly=True, samesite="strict")
        return response

    async def _results(self, query: str, who: str) -> dict[str, Any]:
        """What a page shows of a search: a page that the service has just drawn, beside the engine's own."""
        candidates = await asyncio.to_thread(self._engine.search, query)
        shown = await self._comparison.show(candidates, who[:64]) if len(candidates) else None
        belief = await self._comparison.belief()
        if shown is not None and shown.impression is not None:
            self._shown[shown.impression] = shown
            if len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)
        return {
            "query": query,
            "found": len(candidates),
            "shown": shown,
            "results": results_of(shown, belief) if shown else [],
            "before": before_of(shown) if shown else [],
            "belief": belief,
        }

    async def _click(self, request: Request, fields: dict[str, str]) -> Response:
        """Learn from a click; then the results as they stand now, or the whole page for a browser without scripts."""
        shown = self._shown.get(fields.get("impression", ""))
        document = fields.get("document", "")
        if shown is None or document not in shown.ranking:
            raise RequestError("page_gone", "this result page has expired; search again")
        before = await self._comparison.belief()
        busy = self._crowd.running
        learned = await self._comparison.teach(shown, [document])
        after = await self._comparison.belief()
        self._lesson = lesson_of(shown, document, before, after, learned=learned, others=busy)
        self._clicks += self._lesson.learned
        self._visits_then = self._crowd.visits
        query = shown.candidates.query
        if "hx-request" in request.headers:
            return await self._live(request, await self._results(query, request.cookies.get(_WHO, "")))
        return RedirectResponse(f"{ADDRESS}?{urlencode({'q': query})}", 303)

    async def _document(self, request: Request) -> Response:
        id = request.path_params["id"]
        document = await asyncio.to_thread(self._engine.document, id)
        if document is None:
            raise RequestError("no_such_document", f"this Python's library has no {id[:80]!r}")
        query = request.query_params.get("q", "")[:LONGEST_QUERY]
        belief = await self._comparison.belief()
        return self._page(request, "demo/document.html", title=id, document=document, query=query, belief=belief)

    # Visitors

    async def _watch(self, request: Request, fields: Mapping[str, str] | None = None) -> Response:
        """How the crowd fares, and the results that somebody is looking at, if they stand otherwise by now."""
        fields = request.query_params if fields is None else fields
        async with self._starting:
            shown = self._shown.get(fields.get("impression", ""))
            belief = await self._comparison.belief()
            values = {"belief": belief, "results": None, "watching": shown is not None}
            if shown is not None and "hold" not in fields and not is_current(shown, belief):
                values = await self._results(shown.candidates.query, request.cookies.get(_WHO, ""))
        return await self._live(request, values)

    async def _live(self, request: Request, values: dict[str, Any]) -> Response:
        """The parts of the page that change while one looks at it."""
        return self._page(request, "demo/live.html", live=True, **values)

    async def _curve(self, request: Request) -> Response:
        points = [point._asdict() for point in self._crowd.points]
        return JSONResponse({"points": points}, headers={"cache-control": "no-store"})

    async def _change(self, change: Change, request: Request, fields: dict[str, str]) -> Response:
        """Change the crowd; then the part of the page that changed, or the whole page for a browser without scripts."""
        await change(fields)
        if "hx-request" in request.headers:
            return await self._watch(request, fields)
        return RedirectResponse(ADDRESS, 303)

    async def _reset(self, request: Request, fields: dict[str, str]) -> Response:
        query = fields.pop("q", "")
        try:
            rules = msgspec.convert(fields, Rules, strict=False)
        except msgspec.ValidationError as error:
            raise RequestError("invalid_rules", f"start over: {explained(error, Rules, fields)}") from None
        async with self._starting:
            await self._crowd.begin(rules)
            self._lesson, self._clicks = None, 0
            self._shown.clear()
        return RedirectResponse(f"{ADDRESS}?{urlencode({'q': query})}" if query else ADDRESS, 303)

    def _page(self, request: Request, template: str, *, belief: Belief, **values: Any) -> Response:
        crowd, lesson = self._crowd, self._lesson
        # What a click did is told until the visitors have done more.
        recent = lesson is not None and crowd.visits - self._visits_then < _SOON
        common = {
            "crowd": crowd,
            "now": crowd.points[-1] if crowd.points else None,
            "curve": curve_of(crowd.points, crowd.sent),
            "tastes": TASTES,
            "rivals": RIVALS,
            "rival": RIVALS[self._comparison.rules.rival],
            "lesson": lesson,
            "recent": recent,
            "clicks": self._clicks,
            "cares": bars_of(belief.weights, _CARES, lesson.more + lesson.less if lesson and recent else ()),
            "bars": bars_of(belief.weights),
            "visitors": VISITORS,
            "documents": self._engine.size,
            "examples": EXAMPLES,
            "searches": VISITED,
            "held_out": HELD_OUT,
            "query": "",
            "live": False,
        }
        return self._site.page(request, template, **(common | values))


def dotted(name: str) -> Markup:
    """A name that may be broken after its dots.

    >>> dotted("os.path")
    Markup('os.<wbr>path')
    """
    return Markup(".<wbr>").join(name.split("."))


def count_more(labels: list[str]) -> str:
    """Which results count more than before: those with the two things whose weights rose most.

    >>> count_more(["a long explanation", "a class", "an example"])
    'with a long explanation and those that are classes'
    """
    first, *more = [results_with(label) for label in labels[:2]]
    return first + "".join(f" and those {one}" for one in more)


def ordinal(number: int) -> str:
    """A place in words that fit beside a name.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number // 10 % 10 != 1 else "th"
    return f"{number}{ending}"


def pieces(snippet: Snippet) -> list[tuple[str, bool]]:
    """A snippet's text in stretches, and whether each is to be marked.

    >>> pieces(Snippet("open a file", ((0, 4), (7, 11))))
    [('open', True), (' a ', False), ('file', True)]
    """
    parts: list[tuple[str, bool]] = []
    end = 0
    for start, stop in snippet.marks:
        parts += [(snippet.text[end:start], False), (snippet.text[start:stop], True)]
        end = stop
    return [(text, marked) for text, marked in [*parts, (snippet.text[end:], False)] if text]
