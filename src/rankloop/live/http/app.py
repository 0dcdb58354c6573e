"""Addresses and what answers them: Starlette routes all of them; those that live traffic uses are recognised before
it, because routing and request objects cost more than ranking does."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match, Route

from rankloop.live import tracing
from rankloop.live.errors import RequestError
from rankloop.live.http import (
    alerts,
    challengers,
    endpoints,
    evidence,
    experiments,
    exports,
    rescoring,
    ubi,
)
from rankloop.live.http.bodies import Body, Room
from rankloop.live.http.calls import (
    GUARDS,
    Answer,
    Call,
    Encoded,
    error_answer,
    media_type_of,
    note_refusal,
)
from rankloop.live.http.connections import SHOWED_A_KEY
from rankloop.live.http.declaration import Endpoint
from rankloop.live.http.large import decoded_body, most_bytes, prepare
from rankloop.live.http.metrics import Metrics
from rankloop.live.http.openapi import document
from rankloop.live.http.statuses import code_of
from rankloop.live.http.turns import Turns
from rankloop.live.keys import WHO, Keyring
from rankloop.live.log_lines import REQUEST
from rankloop.live.service import Service

ENDPOINTS = tuple(
    declared
    for module in (endpoints, evidence, experiments, challengers, alerts, exports, rescoring, ubi)
    for declared in vars(module).values()
    if isinstance(declared, Endpoint)
)
"""All that the API answers. What is not declared does not exist."""
BUSY = error_answer(RequestError("busy", "too many requests are being answered; try again in a second")).encoded()
NOWHERE = error_answer(
    RequestError("no_such_address", "there is nothing at this address; /openapi.json lists what there is")
).encoded()


class Application:
    """The ASGI application: hot addresses first, Starlette for the rest."""

    def __init__(self, service: Service, keys: Keyring) -> None:
        self.service = service
        self.keys = keys
        self.metrics = Metrics(service)
        self._answering = 0
        limits = service.limits
        self._turns = {always: Turns(limits.keyless_rate, limits.keyless_connections) for always in (False, True)}
        """Of those without a key; probes have their own, so that nobody else keeps them waiting."""
        self.recognise: list[Callable[[Any], bool]] = []
        """Who is known by something else than a key, such as a session: asked with a request's scope."""
        self.room = Room(limits)
        self._always = {endpoint.path for endpoint in ENDPOINTS if endpoint.always}
        self._hot = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", endpoint.path)), endpoint)
            for endpoint in ENDPOINTS
            if endpoint.hot
        ]
        described = Answer(document(ENDPOINTS, service.limits)).encoded()
        routes = [self._route(endpoint) for endpoint in ENDPOINTS]
        self.pages = Starlette(
            routes=[*routes, Route("/openapi.json", lambda _: described)],
            exception_handlers={HTTPException: _routing_error, Exception: _fault},
            lifespan=self._lifespan,
        )
        self.pages.router.redirect_slashes = False
        service.refreshers.append(keys.refresh)

    def _route(self, endpoint: Endpoint) -> Route:
        async def handle(request: Request) -> Encoded:
            return await self._answer(endpoint, request.scope, request.receive, request.path_params)

        return Route(endpoint.path, handle, methods=[endpoint.method])

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await self.service.start()
        preparing = asyncio.create_task(asyncio.to_thread(prepare))
        yield
        await preparing
        await self.service.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.pages(scope, receive, send)
            return
        REQUEST.set(scope)
        always = scope["path"] in self._always
        if not self._is_known(scope):
            if await self._turns[always].take((scope.get("client") or ("",))[0]):
                await self._respond(scope, receive, send)
            else:
                await self._refuse(scope, receive, send)
        elif self._answering >= self.service.limits.concurrent and not always:
            await self._refuse(scope, receive, send)
        else:
            self._answering += 1
            try:
                await self._respond(scope, receive, send)
            finally:
                self._answering -= 1

    def _is_known(self, scope: Any) -> bool:
        """Whether whoever asks has shown a key. Those who have not get a small share of the service, and never any of
        the places that those who have wait for."""
        known = self.keys.know(dict(scope["headers"])) or any(knows(scope) for knows in self.recognise)
        if known and SHOWED_A_KEY in scope:
            scope[SHOWED_A_KEY]()
        return known

    async def _refuse(self, scope: Any, receive: Any, send: Any) -> None:
        note_refusal("busy")
        self.metrics.recent.note("busy", BUSY.status, 0.0)
        await BUSY(scope, receive, send)

    async def _respond(self, scope: Any, receive: Any, send: Any) -> None:
        if _has_hidden_slash(scope):
            await NOWHERE(scope, receive, send)
            return
        if scope["method"] == "POST":
            for pattern, endpoint in self._hot:
                match = pattern.fullmatch(scope["path"])
                if match:
                    encoded = await self._answer(endpoint, scope, receive, match.groupdict())
                    await encoded(scope, receive, send)
                    return
        await self.pages(scope, receive, send)

    async def _answer(self, endpoint: Endpoint, scope: Any, receive: Any, path: dict[str, str]) -> Encoded:
        with tracing.request(endpoint.name, scope["headers"]):
            return await self._answered(endpoint, scope, receive, path)

    async def _answered(self, endpoint: Endpoint, scope: Any, receive: Any, path: dict[str, str]) -> Encoded:
        began = time.perf_counter()
        headers = dict(scope["headers"])
        media_type = media_type_of(headers)
        body = Body(self.room)
        try:
            if endpoint.scope is not None:
                # Before the body: who may not ask is not listened to.
                body.key = self.keys.authorize(headers, endpoint.scope)
                WHO.set(body.key)
            given = None
            if endpoint.method == "POST":
                given = await body.read(receive, headers, most_bytes(endpoint.body, self.service.limits))
            if "model" in path:
                # What does not exist is said first.
                self.service.registry.get(path["model"])
            values = endpoint.values(path, parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            if endpoint.body is not None:
                given = await decoded_body(endpoint.body, given or b"", media_type, self.service.limits)
            call = Call(self.service, self.keys, self.metrics, headers, values, given)
            content = await endpoint.handler(call)
            answer = content if isinstance(content, Answer) else Answer(content)
        except Exception as error:
            answer = error_answer(error)
            note_refusal(code_of(error))
        finally:
            body.leave()
        self.metrics.recent.note(endpoint.name, answer.status, time.perf_counter() - began)
        return answer.encoded(media_type)


def _has_hidden_slash(scope: Any) -> bool:
    """Whether the address of an API call contains an encoded slash.

    No name in it has one, and what stands in front of the service may read it differently than the service would.
    """
    raw = scope.get("raw_path") or b""
    return b"%" in raw and b"%2f" in raw.lower() and scope["path"].startswith(("/v1/", "/ubi/"))


async def _routing_error(request: Request, error: Any) -> Any:
    """No such address, or not with this method; to OPTIONS, with which."""
    if error.status_code != 405:
        return NOWHERE
    methods = ", ".join(sorted(_methods(request)))
    allow = (b"allow", methods.encode())
    if request.method == "OPTIONS":
        return Encoded(204, (allow, *GUARDS), b"")
    refusal = RequestError("method_not_allowed", f"this address does not support that method; use one of {methods}")
    return error_answer(refusal)._replace(headers=(allow,)).encoded()


def _methods(request: Request) -> set[str]:
    """Every method that the address answers, by whichever route."""
    matching = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return {"OPTIONS"}.union(*(route.methods for route in matching))


async def _fault(_: Request, error: Exception) -> Any:
    return error_answer(error).encoded()


def create_app(service: Service, keys: Keyring | None = None) -> Application:
    """The application of a service."""
    return Application(service, keys or Keyring(service.store, service.limits.rate))
