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

from rankloop.live.errors import RequestError
from rankloop.live.http import endpoints
from rankloop.live.http.calls import Answer, Call, Endpoint, error_answer, read_body
from rankloop.live.http.metrics import Metrics
from rankloop.live.http.openapi import describe, document
from rankloop.live.keys import Keyring
from rankloop.live.models import ACTIONS
from rankloop.live.service import Service

HOT = (
    (re.compile(r"/v1/models/([^/]+)/rank"), "model", endpoints.rank),
    (re.compile(r"/v1/clicks"), "", endpoints.clicks),
    (re.compile(r"/v1/impressions/([^/]+)/close"), "impression", endpoints.close),
)

ROUTES: tuple[tuple[str, str, Endpoint], ...] = (
    ("POST", "/v1/models/{model}/rank", endpoints.rank),
    ("POST", "/v1/clicks", endpoints.clicks),
    ("POST", "/v1/impressions/{impression}/close", endpoints.close),
    ("POST", "/v1/models", endpoints.create_model),
    ("GET", "/v1/models", endpoints.list_models),
    ("GET", "/v1/models/{model}", endpoints.inspect_model),
    ("DELETE", "/v1/models/{model}", endpoints.delete_model),
    *(("POST", f"/v1/models/{{model}}/{action}", endpoints.act(action)) for action in ACTIONS),
    ("GET", "/v1/models/{model}/snapshots", endpoints.list_snapshots),
    ("GET", "/v1/models/{model}/snapshots/{version}", endpoints.snapshot),
    ("GET", "/v1/models/{model}/compare", endpoints.compare),
    ("POST", "/v1/models/{model}/roll-back", endpoints.roll_back),
    ("GET", "/healthz", endpoints.healthz),
    ("GET", "/readyz", endpoints.readyz),
    ("GET", "/metrics", endpoints.metrics),
)


class Application:
    """The ASGI application: hot addresses first, FastAPI for the rest."""

    def __init__(self, service: Service, keys: Keyring) -> None:
        self.service = service
        self.keys = keys
        self.metrics = Metrics(service)
        self.pages = FastAPI(
            title="rankloop", lifespan=self._lifespan, docs_url=None, redoc_url=None, openapi_url="/openapi.json",
            description="A re-ranking service that learns from clicks.", version="1",
        )  # fmt: skip
        for method, path, endpoint in ROUTES:
            self.add(method, path, endpoint)
        self.pages.add_exception_handler(HTTPException, _routing_error)
        self.pages.openapi = lambda: document(self.pages)  # type: ignore[method-assign]

    def add(self, method: str, path: str, endpoint: Endpoint) -> None:
        """Let an endpoint answer an address."""

        async def handle(request: HttpRequest) -> Response:
            answer, media_type, body = await self._answer(
                endpoint, dict(request.scope["headers"]), dict(request.path_params), dict(request.query_params),
                request.receive,
            )  # fmt: skip
            headers = {name.decode(): value.decode() for name, value in answer.headers}
            return Response(body, answer.status, headers | {"content-type": media_type})

        self.pages.add_api_route(path, handle, methods=[method], name=endpoint.__name__, **describe(endpoint))

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self.service.start()
        yield
        await self.service.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            for pattern, name, endpoint in HOT:
                match = pattern.fullmatch(scope["path"])
                if match:
                    path = {name: match[1]} if name else {}
                    answer, media_type, body = await self._answer(endpoint, dict(scope["headers"]), path, {}, receive)
                    await _send(send, answer, media_type, body)
                    return
        await self.pages(scope, receive, send)

    async def _answer(
        self, endpoint: Endpoint, headers: dict[bytes, bytes], path: dict[str, str], query: dict[str, str], receive: Any
    ) -> tuple[Answer, str, bytes]:
        began = time.perf_counter()
        call = Call(self.service, self.keys, self.metrics, headers, path, query, b"")
        try:
            call = call._replace(body=await read_body(receive, headers, self.service.limits.body_bytes))
            answer = await endpoint(call)
        except Exception as error:
            answer = error_answer(error)
        self.metrics.answered(endpoint.__name__, answer.status, time.perf_counter() - began)
        return answer, *answer.encoded(call.speaks_msgpack)


async def _send(send: Any, answer: Answer, media_type: str, body: bytes) -> None:
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _routing_error(_: HttpRequest, error: Any) -> Response:
    """No such address, or not with this method."""
    words = {
        404: ("no_such_address", "there is nothing at this address; /openapi.json lists what there is"),
        405: ("method_not_allowed", "this address does not answer that method; /openapi.json says which it does"),
    }
    code, message = words.get(error.status_code, ("refused", str(error.detail)))
    answer = error_answer(RequestError(error.status_code, code, message))
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return Response(answer.encoded(False)[1], error.status_code, headers, "application/json")


def create_app(service: Service, keys: Keyring | None = None) -> Application:
    """The application of a service."""
    return Application(service, keys or Keyring(service.store, service.limits.rate))
