"""From HTTP to a call and back: read the body within its limits, decode it, answer in the same format, and turn every
error into one JSON shape: `{"error": {"code": …, "message": …}}`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError, StoreError
from rankloop.live.http.metrics import Metrics
from rankloop.live.http.statuses import status_of
from rankloop.live.keys import Keyring
from rankloop.live.requests import Limits
from rankloop.live.service import Service

log = logging.getLogger("rankloop.http")

MSGPACK = "application/msgpack"
JSON = "application/json"
MESSAGE_LENGTH = 1_000
"""Of an error's sentence, at most: it quotes what was sent, and that can be megabytes."""

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]
Headers = tuple[tuple[bytes, bytes], ...]

GUARDS: Headers = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""On every answer: it is for whoever asked, now, and it is what its media type says."""
HEADERS: dict[int, Headers] = {
    401: ((b"www-authenticate", b"Bearer"),),
    408: ((b"connection", b"close"),),
    413: ((b"connection", b"close"),),
    429: ((b"retry-after", b"1"),),
    503: ((b"retry-after", b"1"),),
}

_json_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_msgpack_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


class Call(NamedTuple):
    """One request, as an endpoint sees it: let in already, for the scope of its address."""

    service: Service
    keys: Keyring
    metrics: Metrics
    headers: dict[bytes, bytes]
    path: dict[str, str]
    query: dict[str, str]
    body: bytes

    def allows(self, scope: str) -> bool:
        """Whether the key may do more than its address asks for."""
        return self.keys.allows(self.headers, scope)

    def decode(self, type: Any) -> Any:
        """The body as what it should be. An empty body stands for an empty object."""
        media_type = _media_type(self.headers)
        try:
            if media_type == MSGPACK:
                packed = _msgpack_decoders.setdefault(type, msgspec.msgpack.Decoder(type))
                return packed.decode(self.body or b"\x80")
            if media_type != JSON:
                raise RequestError(
                    "unsupported_media_type", f"send {JSON} or {MSGPACK}; got content-type {media_type[:80]!r}"
                )
            return _json_decoders.setdefault(type, msgspec.json.Decoder(type)).decode(self.body or b"{}")
        except msgspec.ValidationError as error:
            raise RequestError("invalid_request", str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError("malformed_body", f"the body cannot be read: {error}") from None

    @property
    def speaks_msgpack(self) -> bool:
        """Whether the body is MessagePack; the answer then is, too."""
        return _media_type(self.headers) == MSGPACK

    def takes(self, *names: str) -> None:
        """Refuse what the address does not know: `?dryrun=true` must not do what a dry run would not."""
        for name in self.query:
            if name not in names:
                known = ", ".join(names)
                raise RequestError("invalid_request", f"there is no parameter {name[:40]!r} here, only {known}")

    def whole_number(self, name: str, *, default: int | None = None, at_least: int = 0, at_most: int = 2**53) -> int:
        """A number in the address."""
        text = self.path.get(name, self.query.get(name))
        if text is None and default is not None:
            return default
        if text is None:
            raise RequestError("invalid_request", f"{name} is missing; send ?{name}=… with a whole number")
        if not (text.isascii() and text.isdigit() and len(text) <= 16 and at_least <= int(text) <= at_most):
            raise RequestError(
                "invalid_request", f"{name} must be a whole number from {at_least} to {at_most}; got {text[:40]!r}"
            )
        return int(text)

    def flag(self, name: str) -> bool:
        """A yes or no in the address."""
        text = self.query.get(name, "false")
        if text not in ("true", "false"):
            raise RequestError("invalid_request", f"{name} must be true or false; got {text[:40]!r}")
        return text == "true"


def _media_type(headers: dict[bytes, bytes]) -> str:
    told = headers.get(b"content-type", b"application/json")
    if told == b"application/json":
        return JSON
    media_type = told.partition(b";")[0].strip().lower().decode("latin-1")
    return {"application/x-msgpack": MSGPACK, "application/vnd.msgpack": MSGPACK}.get(media_type, media_type)


class Answer(NamedTuple):
    """What goes back."""

    status: int
    content: Any
    type: str | None = None
    headers: Headers = ()

    def encoded(self, call_speaks_msgpack: bool) -> tuple[str, bytes]:
        """(media type, body)."""
        if self.type is not None:
            return self.type, self.content
        if call_speaks_msgpack and self.status < 400:
            return MSGPACK, _to_msgpack(self.content)
        return JSON, _to_json(self.content)


Endpoint = Callable[[Call], Awaitable[Answer]]


def attachment(name: str) -> Headers:
    """Headers that make a browser save the answer under a name (of letters, digits, dots, dashes, underscores)."""
    return ((b"content-disposition", f'attachment; filename="{name}"'.encode("ascii")),)


def error_answer(error: Exception) -> Answer:
    """What to tell about an error: ours as they are, anything else as a fault of ours."""
    match error:
        case RequestError():
            refusal = error
        case StoreError():
            # Where the store lies, and what it said, is for the operator.
            log.warning("the store is unavailable: %s", error)
            # What was given up on may still reach the log: nothing is said about it, and trying again does no harm.
            refusal = RequestError(
                "store_unavailable", "the store cannot be used at the moment; try again, what arrives twice counts once"
            )
        case RankloopError():
            refusal = RequestError("invalid_request", str(error))
        case _:
            log.error("an error of ours", exc_info=error)
            refusal = RequestError("internal", "something went wrong on our side; the service's log has the details")
    status, message = status_of(refusal), str(refusal)
    if len(message) > MESSAGE_LENGTH:
        message = message[:MESSAGE_LENGTH] + " …"
    return Answer(status, {"error": {"code": refusal.code, "message": message}}, headers=HEADERS.get(status, ()))


async def read_body(receive: Receive, headers: dict[bytes, bytes], limits: Limits) -> bytes:
    """The whole body, unless it is larger than allowed or takes too long."""
    declared = headers.get(b"content-length", b"0")
    if len(declared) > 18 or (declared.isdigit() and int(declared) > limits.body_bytes):
        raise _too_large(limits)
    if getattr(getattr(receive, "__self__", None), "more_body", True):
        message = await _within(limits, receive())
    else:
        # uvicorn has all of it already: what cannot take long needs no clock.
        message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        # What nearly always happens: the body came in one piece.
        body: bytes = message.get("body", b"")
        if len(body) > limits.body_bytes:
            raise _too_large(limits)
        return body
    return await _within(limits, _rest(message, receive, limits))


async def _within(limits: Limits, arriving: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await arriving
    except TimeoutError:
        raise RequestError("body_too_slow", f"the body did not arrive within {limits.body_seconds:g} s") from None


async def _rest(message: Any, receive: Receive, limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise RequestError("malformed_body", "the connection ended before the body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limits.body_bytes:
            raise _too_large(limits)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _too_large(limits: Limits) -> RequestError:
    return RequestError("body_too_large", f"a body may have {limits.body_bytes:,} bytes; this one has more")
