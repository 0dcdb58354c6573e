"""Addresses and what answers them: FastAPI routes and documents all of them; those that live traffic uses are
recognised before it, because routing and request objects cost more than ranking does."""

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from rankloop.live.errors import RequestError
from rankloop.live.http.calls import GUARDS, Answer, Call, error_answer, read_body
from rankloop.live.http.metrics import Metrics
from rankloop.live.http.openapi import document
from rankloop.live.http.routes import ROUTES, Route
from rankloop.live.keys import Keyring
from rankloop.live.service import Service

BUSY = RequestError("busy", "too many requests are being answered; try again in a second")
NOWHERE = error_answer(
    RequestError("no_such_address", "there is nothing at this address; /openapi.json lists what there is")
)
OTHER_METHOD = RequestError(
    "method_not_allowed", "this address does not answer that method; the header allow says which it does"
)
GUARDED = frozenset(name for name, _ in GUARDS)
PROBE = "/healthz"
"""Answered however busy the service is: it is alive."""


class Application:
    """The ASGI application: hot addresses first, FastAPI for the rest."""

    def __init__(self, service: Service, keys: Keyring) -> None:
        self.service = service
        self.keys = keys
        self.metrics = Metrics(service)
        self._answering = 0
        self._hot = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)), route) for route in ROUTES if route.hot
        ]
        self.pages = FastAPI(
            title="rankloop", lifespan=self._lifespan, docs_url=None, redoc_url=None, openapi_url="/openapi.json",
            description="A re-ranking service that learns from clicks.", version="1", redirect_slashes=False,
        )  # fmt: skip
        for route in ROUTES:
            self.add(route)
        self.pages.add_exception_handler(HTTPException, _routing_error)
        self.pages.add_exception_handler(Exception, _fault)
        about = self.pages.title, self.pages.version, self.pages.description
        described = document(*about, ROUTES, service.limits)
        self.pages.openapi = lambda: described  # type: ignore[method-assign]
        service.refreshers.append(keys.refresh)

    def add(self, route: Route) -> None:
        """Let an endpoint answer an address."""

        async def handle(request: HttpRequest) -> Response:
            answer, media_type, body = await self._answer(
                route, dict(request.scope["headers"]), dict(request.path_params), dict(request.query_params),
                request.receive,
            )  # fmt: skip
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
            return Response(body, answer.status, headers | {"content-type": media_type})

        name = route.endpoint.__name__
        self.pages.add_api_route(route.path, handle, methods=[route.method], name=name, response_model=None)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self.service.start()
        yield
        await self.service.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.pages(scope, receive, send)
            return
        if self._answering >= self.service.limits.concurrent and scope["path"] != PROBE:
            answer = error_answer(BUSY)
            self.metrics.answered("busy", answer.status, 0.0)
            await _send(send, answer, *answer.encoded(False))
            return
        self._answering += 1
        try:
            await self._respond(scope, receive, send)
        finally:
            self._answering -= 1

    async def _respond(self, scope: Any, receive: Any, send: Any) -> None:
        if _has_hidden_slash(scope):
            await _send(send, NOWHERE, *NOWHERE.encoded(False))
            return
        if scope["method"] == "POST":
            for pattern, route in self._hot:
                match = pattern.fullmatch(scope["path"])
                if match:
                    answer = await self._answer(route, dict(scope["headers"]), match.groupdict(), {}, receive)
                    await _send(send, *answer)
                    return
        if scope["method"] == "HEAD":
            await self.pages(scope | {"method": "GET"}, receive, _guarded(_without_body(send)))
        else:
            await self.pages(scope, receive, _guarded(send))

    async def _answer(
        self, route: Route, headers: dict[bytes, bytes], path: dict[str, str], query: dict[str, str], receive: Any
    ) -> tuple[Answer, str, bytes]:
        began = time.perf_counter()
        call = Call(self.service, self.keys, self.metrics, headers, path, query, b"")
        try:
            if route.scope is not None:
                # Before the body: who may not ask is not listened to.
                self.keys.authorize(headers, route.scope)
            if route.method == "POST":
                call = call._replace(body=await read_body(receive, headers, self.service.limits))
            answer = await route.endpoint(call)
        except Exception as error:
            answer = error_answer(error)
        self.metrics.answered(route.endpoint.__name__, answer.status, time.perf_counter() - began)
        return answer, *answer.encoded(call.speaks_msgpack)


async def _send(send: Any, answer: Answer, media_type: str, body: bytes) -> None:
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        *GUARDS,
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _guarded(send: Any) -> Any:
    """Adds to every answer the headers that it does not set itself."""

    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            told = message.get("headers", ())
            own = GUARDED & {name.lower() for name, _ in told}
            message = message | {"headers": [*told, *(guard for guard in GUARDS if guard[0] not in own)]}
        await send(message)

    return guarded


def _without_body(send: Any) -> Any:
    """HEAD is GET without what GET is about."""

    async def bodiless(message: Any) -> None:
        await send(message | {"body": b""} if message["type"] == "http.response.body" else message)

    return bodiless


def _has_hidden_slash(scope: Any) -> bool:
    """Whether the address of an API call contains an encoded slash.

    No name in it has one, and what stands in front of the service may read it differently than the service would.
    """
    raw = scope.get("raw_path") or b""
    return b"%" in raw and b"%2f" in raw.lower() and scope["path"].startswith(("/v1/", "/ubi/"))


async def _routing_error(request: HttpRequest, error: Any) -> Response:
    """No such address, or not with this method; to OPTIONS, with which."""
    if error.status_code == 404:
        answer = NOWHERE
    elif error.status_code == 405:
        allowed = {"allow": ", ".join(sorted(_methods(request)))}
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allowed)
        answer = error_answer(OTHER_METHOD)
        return Response(answer.encoded(False)[1], 405, allowed, "application/json")
    else:
        answer = error_answer(error)
    return Response(answer.encoded(False)[1], answer.status, media_type="application/json")


def _methods(request: HttpRequest) -> set[str]:
    """Every method that the address answers, by whichever route."""
    found = {"OPTIONS"}
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return found | {"HEAD"} if "GET" in found else found


async def _fault(_: HttpRequest, error: Exception) -> Response:
    answer = error_answer(error)
    return Response(answer.encoded(False)[1], answer.status, media_type="application/json")


def create_app(service: Service, keys: Keyring | None = None) -> Application:
    """The application of a service."""
    return Application(service, keys or Keyring(service.store, service.limits.rate))
