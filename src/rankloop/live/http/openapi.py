"""The OpenAPI document: every address with its parameters, bodies, answers and refusals, made from the same types that
decode and encode them."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from rankloop.interchange import EXPORT_FORMATS
from rankloop.live.http import answers
from rankloop.live.http.calls import JSON, MSGPACK
from rankloop.live.http.routes import Route
from rankloop.live.http.ubi import MAX_PAGES
from rankloop.live.models import ACTIONS
from rankloop.live.requests import ClicksBody, CloseBody, Limits, RankBody, RollBackBody
from rankloop.live.service import Clicked, Ranked
from rankloop.live.settings import ModelSettings
from rankloop.settings import NAME
from rankloop.ubi import UbiEvent, UbiQuery

Schema = dict[str, Any]

REFERENCE = "#/components/schemas/{name}"

VERSIONS: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53}
PATH: dict[str, Schema] = {
    "model": {"type": "string", "pattern": f"^{NAME.pattern}$"},
    "impression": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": 512},
    "version": VERSIONS,
}
WINDOW: dict[str, Schema] = {
    "model": PATH["model"],
    "after": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGES, "default": 100},
}
QUERY: dict[str, dict[str, Schema]] = {
    "create_model": {"dry_run": {"type": "boolean", "default": False}},
    "compare": {"from": VERSIONS, "to": VERSIONS},
    "export": {
        "format": {"type": "string", "enum": list(EXPORT_FORMATS), "default": "json"},
        "version": VERSIONS,
    },
    "read_queries": WINDOW,
    "read_events": WINDOW,
}
REQUIRED = {"compare": ("from", "to"), "read_queries": ("model",), "read_events": ("model",)}
"""Query parameters that have no default."""

BODIES: dict[str, Any] = {
    "rank": RankBody,
    "clicks": ClicksBody,
    "close": CloseBody,
    "create_model": ModelSettings,
    "roll_back": RollBackBody,
    "take_queries": list[UbiQuery] | UbiQuery,
    "take_events": list[UbiEvent] | UbiEvent,
}
ANSWERS: dict[str, Any] = {  # several: any of them
    "rank": Ranked,
    "clicks": (Clicked, answers.ManyClicked),
    "close": answers.Closed,
    "create_model": answers.NewModel,
    "list_models": answers.Models,
    "inspect_model": answers.Model,
    "delete_model": answers.Deleted,
    **{action.replace("-", "_"): answers.Model for action in ACTIONS},
    "list_snapshots": answers.Snapshots,
    "snapshot": answers.SnapshotDocument,
    "compare": answers.Comparison,
    "roll_back": answers.Model,
    "take_queries": answers.UbiTaken,
    "take_events": answers.UbiTaken,
    "read_queries": answers.UbiQueries,
    "read_events": answers.UbiEvents,
    "healthz": answers.Health,
    "readyz": answers.Readiness,
}


AGAIN: Schema = {"retry-after": {"schema": {"type": "integer"}, "required": True}}
HEADERS: dict[int, Schema] = {
    401: {"www-authenticate": {"schema": {"type": "string"}, "required": True}},
    429: AGAIN,
    503: AGAIN,
}
REFUSALS = {
    400: "The body or an impression id cannot be read.",
    401: "No valid API key.",
    403: "The key lacks the scope; or, without keys, another site's page asks.",
    404: "There is no such model, snapshot or address.",
    408: "The body came too slowly.",
    409: "It conflicts with what is there.",
    410: "The impression has expired, or its model was deleted.",
    413: "The body is too large.",
    415: "The body is neither JSON nor MessagePack.",
    422: "A rule is broken; the message says which.",
    429: "Too many requests with this key.",
    503: "The store is down, the learner is behind, or the service is busy; try again.",
}
CONFLICTS = ("create_model", "freeze_scaling", "export")


def document(title: str, version: str, description: str, routes: Iterable[Route], limits: Limits) -> Schema:
    """The whole document."""
    types = [*BODIES.values(), *(kind for given in ANSWERS.values() for kind in _each(given))]
    _, components = msgspec.json.schema_components([*types, answers.DryRun, answers.Error], ref_template=REFERENCE)
    _tell_together(components)
    _tell_limits(components, limits)
    paths: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": description},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, made with `rankloop keys create`. Until the first one is made, none is "
                    "needed, and the service listens on its own machine only.",
                }
            },
        },
    }


def _tell_together(components: Schema) -> None:
    """What a struct cannot say: fields that go together."""
    components["RankBody"]["oneOf"] = [{"required": ["candidates"]}, {"required": ["ids", "matrix"]}]
    components["ClicksBody"]["oneOf"] = [{"required": ["impression", "clicks"]}, {"required": ["reports"]}]


def _tell_limits(components: Schema, limits: Limits) -> None:
    """How long lists may be, which is this service's own setting."""
    lengths = (
        ("RankBody", "candidates", 1, limits.candidates),
        ("RankBody", "ids", 1, limits.candidates),
        ("ClicksBody", "reports", 0, limits.items),
        ("ClicksBody", "clicks", 0, limits.items),
        ("ClickBody", "clicks", 0, limits.items),
    )
    for name, field, least, most in lengths:
        for schema in components[name]["properties"][field]["anyOf"]:
            if schema["type"] == "array":
                schema |= {"minItems": least, "maxItems": most}


def operation(route: Route) -> Schema:
    """One address and method."""
    name = route.endpoint.__name__
    told = inspect.getdoc(route.endpoint) or ""
    made: Schema = {
        "operationId": name,
        "summary": re.split(r"[.:;](?=\s|$)", told)[0],
        "description": told,
        "parameters": _parameters(route, name),
        "responses": _answers(name) | {str(status): _refusal(status) for status in refusals(route)},
        "security": [{"key": [route.scope]}, {}] if route.scope else [],
    }
    if name == "readyz":
        made["responses"]["503"]["content"] = _content((answers.Readiness, answers.Error))
    if name in BODIES:
        made["requestBody"] = {"required": name != "close", "content": _content(BODIES[name], packed=True)}
    return made


def refusals(route: Route) -> list[int]:
    """Which errors an address can answer with."""
    name = route.endpoint.__name__
    possible = {401, 403, 429} if route.scope else set()
    if name != "healthz":
        possible.add(503)
    if route.method == "POST":
        possible |= {400, 408, 413}
    if name in BODIES:
        possible |= {415, 422}
    if name in QUERY or "{version}" in route.path:
        possible.add(422)
    if "{" in route.path or "model" in QUERY.get(name, ()):
        possible.add(404)
    if name in CONFLICTS:
        possible.add(409)
    if name in ("clicks", "close"):
        possible.add(410)
    return sorted(possible)


def _parameters(route: Route, name: str) -> list[Schema]:
    within = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found = [{"name": part, "in": "path", "required": True, "schema": PATH[part]} for part in within]
    for part, schema in QUERY.get(name, {}).items():
        found.append({"name": part, "in": "query", "required": part in REQUIRED.get(name, ()), "schema": schema})
    return found


def _answers(name: str) -> Schema:
    if name == "metrics":
        return {"200": {"description": "Done.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    if name == "export":
        return {"200": {"description": "The file.", "content": {media: {} for media in set(EXPORT_FORMATS.values())}}}
    done = {"description": "Done.", "content": _content(ANSWERS[name], packed=True)}
    if name != "create_model":
        return {"200": done}
    dry = {"description": "With `dry_run`: nothing was made.", "content": _content(answers.DryRun, packed=True)}
    return {"200": dry, "201": done}


def _refusal(status: int) -> Schema:
    told: Schema = {"description": REFUSALS[status], "content": _content(answers.Error)}
    return told | ({"headers": HEADERS[status]} if status in HEADERS else {})


def _content(type: Any, *, packed: bool = False) -> Schema:
    """A type in the formats it travels in: the answer to MessagePack is MessagePack, errors are always JSON."""
    schemas, _ = msgspec.json.schema_components(_each(type), ref_template=REFERENCE)
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {media: {"schema": schema} for media in ((JSON, MSGPACK) if packed else (JSON,))}


def _each(type: Any) -> tuple[Any, ...]:
    return type if isinstance(type, tuple) else (type,)
