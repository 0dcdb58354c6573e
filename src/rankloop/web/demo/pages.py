"""The demo's pages: a search box, results that teach, and beside them what the model makes of it.

What somebody sees here is made as a customer's page would make it: candidates from an engine, a page from the service,
clicks back to the service, all over its public API.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from rankloop.client import AsyncClient, RefusedError, ServiceError
from rankloop.display import signed
from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError
from rankloop.live.http.statuses import status_of
from rankloop.rewards import REWARDS
from rankloop.settings import explained
from rankloop.web.demo.comparison import METHODS, RIVAL, STEPS, Comparison, Rules, Shown, words
from rankloop.web.demo.crowd import Crowd
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.explaining import Lesson, bars_of, lesson_of, results_of
from rankloop.web.demo.snippets import Snippet
from rankloop.web.demo.tastes import TASTES
from rankloop.web.site import Site

ADDRESS = "/demo"
LONGEST_QUERY = 1000
"""Letters of a query that count; the engine looks at no more."""
VISITORS = 1000
EXAMPLES = ("read csv file", "split string", "OrderedDict", "parse date", "temporary directory", "random choice")
_REMEMBERED = 500  # pages that can still be clicked
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
        self._beginning = asyncio.Lock()
        self._begun = False
        self._shown: OrderedDict[str, Shown] = OrderedDict()
        self._lesson: Lesson | None = None
        site.filters.update(pieces=pieces, signed=signed, words=words)
        for path, show in (("", self._search), ("/crowd", self._status), ("/curve.json", self._curve)):
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
        query = typed[:LONGEST_QUERY].strip()
        candidates = await asyncio.to_thread(self._engine.search, query)
        shown, results = None, []
        who = request.cookies.get(_WHO) or secrets.token_urlsafe(12)
        belief = await self._comparison.belief()
        if len(candidates):
            shown = await self._comparison.show(candidates, who[:64])
            belief = await self._comparison.belief()
            results = results_of(shown, belief)
            self._remember(shown)
        response = self._page(
            request, "demo/search.html", title=query[:60] or "Demo", query=query, cut=len(typed) > LONGEST_QUERY,
            typed=len(typed), found=len(candidates), shown=shown, results=results, examples=EXAMPLES, belief=belief,
        )  # fmt: skip
        response.set_cookie(_WHO, who, httponly=True, samesite="strict")
        return response

    def _remember(self, shown: Shown) -> None:
        if shown.impression is not None:
            self._shown[shown.impression] = shown
            if len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)

    async def _click(self, request: Request, fields: dict[str, str]) -> Response:
        shown = self._shown.get(fields.get("impression", ""))
        document = fields.get("document", "")
        if shown is None or document not in shown.ranking:
            raise RequestError("page_gone", "this result page has expired; search again")
        before = await self._comparison.belief()
        busy = self._crowd.running
        learned = await self._comparison.teach(shown, [document])
        after = await self._comparison.belief()
        self._lesson = lesson_of(shown, document, before, after, learned=learned, others=busy)
        where = f"{ADDRESS}/documents/{quote(document, safe='')}"
        return RedirectResponse(f"{where}?{urlencode({'q': shown.candidates.query})}", 303)

    async def _document(self, request: Request) -> Response:
        id = request.path_params["id"]
        document = await asyncio.to_thread(self._engine.document, id)
        if document is None:
            raise RequestError("no_such_document", f"this Python's library has no {id[:80]!r}")
        query = request.query_params.get("q", "")[:LONGEST_QUERY]
        belief = await self._comparison.belief()
        return self._page(
            request, "demo/document.html", title=id, document=document, query=query, belief=belief,
            taught=self._lesson is not None and self._lesson.document == id,
        )  # fmt: skip

    # Visitors

    async def _status(self, request: Request) -> Response:
        return self._page(request, "demo/status.html", belief=await self._comparison.belief(), live=True)

    async def _curve(self, request: Request) -> Response:
        return JSONResponse(self._crowd.chart(), headers={"cache-control": "no-store"})

    async def _change(self, change: Change, request: Request, fields: dict[str, str]) -> Response:
        """Change the crowd; then the part of the page that changed, or the whole page for a browser without scripts."""
        await change(fields)
        if "hx-request" in request.headers:
            return await self._status(request)
        return RedirectResponse(ADDRESS, 303)

    async def _reset(self, request: Request, fields: dict[str, str]) -> Response:
        try:
            rules = msgspec.convert(fields, Rules, strict=False)
        except msgspec.ValidationError as error:
            raise RequestError("invalid_rules", f"start over: {explained(error, Rules, fields)}") from None
        await self._crowd.begin(rules)
        self._lesson = None
        self._shown.clear()
        return RedirectResponse(ADDRESS, 303)

    def _page(self, request: Request, template: str, *, belief: Any, **values: Any) -> Response:
        crowd = self._crowd
        common = {
            "crowd": crowd,
            "now": crowd.points[-1] if crowd.points else None,
            "rules": self._comparison.rules,
            "tastes": TASTES,
            "rewards": REWARDS,
            "steps": STEPS,
            "methods": METHODS,
            "lesson": self._lesson,
            "bars": bars_of(belief.weights),
            "version_now": belief.version,
            "rival_model": RIVAL,
            "visitors": VISITORS,
            "documents": self._engine.size,
            "live": False,
        }
        return self._site.page(request, template, **(common | values))


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
