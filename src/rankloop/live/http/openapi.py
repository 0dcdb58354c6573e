"""The OpenAPI document: every address with its parameters, bodies, answers and refusals, as its endpoint declares."""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from rankloop.live.http.answers import Error
from rankloop.live.http.calls import HEADERS, JSON, MSGPACK
from rankloop.live.http.declaration import Endpoint, Parameter, Reply
from rankloop.live.http.statuses import STATUSES
from rankloop.live.requests import Limits

Schema = dict[str, Any]

REFERENCE = "#/components/schemas/{name}"

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


def document(endpoints: Iterable[Endpoint], limits: Limits) -> Schema:
    """The whole document."""
    paths: dict[str, Schema] = {}
    types: list[Any] = [Error]
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint)
        types += [kind for kind in (endpoint.body, *(reply.type for reply in endpoint.replies)) if kind is not None]
    _, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    _add_alternatives(components)
    _add_limits(components, limits)
    return {
        "openapi": "3.1.0",
        "info": {"title": "rankloop", "version": "1", "description": "A re-ranking service that learns from clicks."},
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


def _add_alternatives(components: Schema) -> None:
    """What a struct cannot express: fields that go together."""
    components["RankBody"]["oneOf"] = [{"required": ["candidates"]}, {"required": ["ids", "matrix"]}]
    components["RescoreBody"]["oneOf"] = [{"required": ["hits"]}, {"required": ["documents"]}]
    components["ClicksBody"]["oneOf"] = [{"required": ["impression", "clicks"]}, {"required": ["reports"]}]


def _add_limits(components: Schema, limits: Limits) -> None:
    """How long lists may be, which is this service's own setting."""
    lengths = (
        ("RankBody", "candidates", 0, limits.candidates),
        ("RankBody", "ids", 0, limits.candidates),
        ("RescoreBody", "hits", 0, limits.candidates),
        ("ClicksBody", "reports", 0, limits.items),
        ("ClicksBody", "clicks", 0, limits.items),
        ("ClickBody", "clicks", 0, limits.items),
    )
    for name, field, least, most in lengths:
        for schema in components[name]["properties"][field]["anyOf"]:
            if schema["type"] == "array":
                schema |= {"minItems": least, "maxItems": most}


def operation(endpoint: Endpoint) -> Schema:
    """One address and method."""
    description = inspect.getdoc(endpoint.handler) or ""
    in_path = [_parameter(parameter, "path") for parameter in endpoint.in_path]
    in_query = [_parameter(parameter, "query") for parameter in endpoint.query.values()]
    described: Schema = {
        "operationId": endpoint.name,
        "summary": re.split(r"[.:;](?=\s|$)", description)[0],
        "description": description,
        "parameters": in_path + in_query,
        "responses": _responses(endpoint),
        "security": [{"key": [endpoint.scope]}, {}] if endpoint.scope else [],
    }
    if endpoint.body is not None:
        described["requestBody"] = {
            "required": endpoint.needs_body,
            "content": _content([endpoint.body], JSON, MSGPACK),
        }
    return described


def refusals(endpoint: Endpoint) -> set[int]:
    """The statuses of the errors that an address can answer with."""
    possible = {STATUSES[code] for code in endpoint.refuses}
    if endpoint.scope:
        possible |= {401, 403, 429}
    if not endpoint.always:
        possible.add(503)
    if endpoint.method == "POST":
        possible |= {400, 408, 413}
    if endpoint.body is not None:
        possible |= {415, 422}
    if endpoint.query or any(parameter.schema["type"] != "string" for parameter in endpoint.in_path):
        possible.add(422)
    if endpoint.in_path or "model" in endpoint.query:
        possible.add(404)
    return possible


def _parameter(parameter: Parameter, place: str) -> Schema:
    return {"name": parameter.name, "in": place, "required": parameter.required, "schema": parameter.schema}


def _responses(endpoint: Endpoint) -> Schema:
    by_status: dict[int, list[Reply]] = defaultdict(list)
    for reply in endpoint.replies:
        by_status[reply.status].append(reply)
    responses: Schema = {}
    for status in sorted(by_status.keys() | refusals(endpoint)):
        replies = by_status[status]
        types = [reply.type for reply in replies]
        if status not in REFUSALS:
            media = replies[0].media or (JSON, MSGPACK)
            responses[str(status)] = {"description": replies[0].description, "content": _content(types, *media)}
            continue
        # Errors are always JSON; everything else comes in the format of the request.
        refusal: Schema = {"description": REFUSALS[status], "content": _content([*types, Error], JSON)}
        if headers := _headers(status):
            refusal["headers"] = headers
        responses[str(status)] = refusal
    return responses


def _headers(status: int) -> Schema:
    """What comes with an error, but for what concerns the connection alone."""
    return {
        name.decode(): {"schema": {"type": "integer" if value.isdigit() else "string"}, "required": True}
        for name, value in HEADERS.get(status, ())
        if name != b"connection"
    }


def _content(types: list[Any], *media: str) -> Schema:
    """Any of some types, in the formats it travels in; what has no type is described by its format alone."""
    if types == [None]:
        return {name: {} for name in media}
    schemas, _ = msgspec.json.schema_components(types, ref_template=REFERENCE)
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {name: {"schema": schema} for name in media}
