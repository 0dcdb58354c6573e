"""From HTTP to a call and back: read the body within its limit, decode it, answer in the same format, and turn every
error into one JSON shape: `{"error": {"code": …, "message": …}}`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError, StoreError
from rankloop.live.http.metrics import Metrics
from rankloop.live.keys import Keyring
from rankloop.live.service import Service

log = logging.getLogger("rankloop.http")

MSGPACK = "application/msgpack"
JSON = "application/json"
BODY_SECONDS = 30.0

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]

_json_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_msgpack_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


class Call(NamedTuple):
    """One request, as an endpoint sees it."""

    service: Service
    keys: Keyring
    metrics: Metrics
    headers: dict[bytes, bytes]
    path: dict[str, str]
    query: dict[str, str]
    body: bytes

    def authorize(self, scope: str) -> str:
        """Refuse unless the key may do this; the key's name."""
        return self.keys.authorize(self.headers.get(b"authorization", b"").decode("latin-1"), scope)

    def decode(self, type: type[T]) -> T:
        """The body as what it should be. An empty body stands for an empty object."""
        try:
            if self.speaks_msgpack:
                decoder = _msgpack_decoders.setdefault(type, msgspec.msgpack.Decoder(type))
                return decoder.decode(self.body or b"\x80")
            return _json_decoders.setdefault(type, msgspec.json.Decoder(type)).decode(self.body or b"{}")
        except (msgspec.ValidationError, RankloopError) as error:
            raise RequestError(422, "invalid_request", str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError(400, "malformed_body", f"the body cannot be read: {error}") from None

    @property
    def speaks_msgpack(self) -> bool:
        """Whether the body is MessagePack; the answer then is, too."""
        return self.headers.get(b"content-type", b"").startswith(b"application/msgpack")

    def whole_number(self, name: str, text: str) -> int:
        """A number in the address."""
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise RequestError(422, "invalid_request", f"{name} must be a whole number; got {text[:40]!r}")
        return int(text)


class Answer(NamedTuple):
    """What goes back."""

    status: int
    content: Any
    type: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def encoded(self, call_speaks_msgpack: bool) -> tuple[str, bytes]:
        """(media type, body)."""
        if self.type is not None:
            return self.type, self.content
        if call_speaks_msgpack and self.status < 400:
            return MSGPACK, _to_msgpack(self.content)
        return JSON, _to_json(self.content)


Endpoint = Callable[[Call], Awaitable[Answer]]


def error_answer(error: Exception) -> Answer:
    """What to tell about an error: ours as they are, anything else as a fault of ours."""
    match error:
        case RequestError():
            return _error(error.status, error.code, str(error))
        case StoreError():
            return _error(503, "store_unavailable", str(error), ((b"retry-after", b"1"),))
        case RankloopError():
            return _error(422, "invalid_request", str(error))
        case _:
            log.error("an error of ours", exc_info=error)
            return _error(500, "internal", "something went wrong on our side; the service's log has the details")


def _error(status: int, code: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    return Answer(status, {"error": {"code": code, "message": message}}, headers=headers)


async def read_body(receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes:
    """The whole body, unless it is larger than allowed or takes too long."""
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        raise RequestError(413, "body_too_large", f"a body may have {limit:,} bytes; got {int(declared):,}")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read(receive, limit)
    except TimeoutError:
        raise RequestError(408, "body_too_slow", f"the body did not arrive within {BODY_SECONDS:g} s") from None


async def _read(receive: Receive, limit: int) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return _within(body, limit)
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError(400, "malformed_body", "the connection ended before the body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise RequestError(413, "body_too_large", f"a body may have {limit:,} bytes")
    return b"".join(parts)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise RequestError(413, "body_too_large", f"a body may have {limit:,} bytes; got {len(body):,}")
    return body
