"""The OpenAPI document: bodies as msgspec describes them, answers and errors with their shapes."""

import inspect
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from rankloop.live.http.calls import JSON, MSGPACK
from rankloop.live.http.routes import Route
from rankloop.live.requests import ClicksBody, CloseBody, RankBody, RollBackBody
from rankloop.live.service import Clicked, Ranked
from rankloop.live.settings import ModelSettings

BODIES: dict[str, Any] = {
    "rank": RankBody,
    "clicks": ClicksBody,
    "close": CloseBody,
    "create_model": ModelSettings,
    "roll_back": RollBackBody,
}
ANSWERS: dict[str, Any] = {"rank": Ranked}
SCHEMAS, COMPONENTS = msgspec.json.schema_components(
    [*BODIES.values(), Ranked, Clicked], ref_template="#/components/schemas/{name}"
)
ERRORS = {
    400: "The body or an impression id cannot be read.",
    401: "No valid API key.",
    403: "The key lacks the scope.",
    404: "No such model or snapshot.",
    408: "The body came too slowly.",
    409: "It conflicts with what is there.",
    410: "Expired or deleted.",
    413: "The body is too large.",
    422: "A rule is broken; the message says which.",
    429: "Too many requests.",
    503: "The store or the learner is down.",
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


def describe(route: Route) -> dict[str, Any]:
    """What FastAPI should say about an address."""
    name = route.endpoint.__name__
    told = inspect.getdoc(route.endpoint) or ""
    success = 201 if name == "create_model" else 200
    answer: dict[str, Any] = {"description": "Done."}
    if name == "metrics":
        answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
    else:
        schema = {"$ref": f"#/components/schemas/{ANSWERS[name].__name__}"} if name in ANSWERS else {"type": "object"}
        answer["content"] = {JSON: {"schema": schema}, MSGPACK: {"schema": schema}}
    extra: dict[str, Any] = {"responses": {str(success): answer} | _errors()}
    if name == "create_model":
        extra["responses"]["200"] = answer
        extra["parameters"] = [_parameter("dry_run", {"type": "boolean"}, required=False)]
    if name == "compare":
        whole = {"type": "integer", "minimum": 0}
        extra["parameters"] = [_parameter("from", whole), _parameter("to", whole)]
    if name in BODIES:
        schema = {"$ref": f"#/components/schemas/{BODIES[name].__name__}"}
        extra["requestBody"] = {"required": name != "close", "content": {JSON: {"schema": schema}}}
    return {"summary": told.split(".")[0], "description": told, "openapi_extra": extra, "status_code": success,
            "response_model": None}  # fmt: skip


def _parameter(name: str, schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _errors() -> dict[str, Any]:
    return {
        str(status): {"description": told, "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
        for status, told in ERRORS.items()
    }


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(COMPONENTS | {"Error": ERROR})
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}, {}]
        app.openapi_schema = made
    return app.openapi_schema
