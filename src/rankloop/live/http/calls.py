"""From HTTP to a call and back: decode the body, answer in the same format, and turn every error into one JSON shape:
`{"error": {"code": …, "message": …}}`."""

import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import msgspec

from rankloop.live.errors import RequestError
from rankloop.live.http.answers import Error, ErrorDetail
from rankloop.live.http.metrics import Metrics
from rankloop.live.http.statuses import STATUSES, code_of
from rankloop.live.keys import Keyring
from rankloop.live.log_lines import Sparing
from rankloop.live.registry import LiveModel
from rankloop.live.service import Service
from rankloop.live.settings import NewModelSettings, where_from
from rankloop.mistakes import explained

log = logging.getLogger("rankloop.http")
sparing = Sparing(log)

MSGPACK = "application/msgpack"
JSON = "application/json"
UNNUMBERED = re.compile(rb"-?(NaN|Infinity)\b")
NO_NUMBERS = (
    "; JSON has no NaN and no Infinity: leave a feature that is not known out, and make the model with a value for "
    "those that are missing"
)
MESSAGE_LENGTH = 1_000
"""Of an error's sentence, at most: it quotes what was sent, and that can be megabytes."""

Headers = tuple[tuple[bytes, bytes], ...]

GUARDS: Headers = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""On every answer: it is for whoever asked, now, and it is what its media type says. Pages have them of their own."""
HEADERS: dict[int, Headers] = {
    401: ((b"www-authenticate", b"Bearer"),),
    408: ((b"connection", b"close"),),
    413: ((b"connection", b"close"),),
    429: ((b"retry-after", b"1"),),
    503: ((b"retry-after", b"1"),),
}

_json_decoder = cache(msgspec.json.Decoder)
_msgpack_decoder = cache(msgspec.msgpack.Decoder)
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


@dataclass(slots=True)
class Call:
    """One request, as an endpoint sees it: let in, checked and decoded, as the endpoint declares."""

    service: Service
    keys: Keyring
    metrics: Metrics
    headers: dict[bytes, bytes]
    values: dict[str, Any]
    body: Any

    def __getitem__(self, name: str) -> Any:
        """A value of the address."""
        return self.values[name]

    @property
    def model(self) -> LiveModel:
        """The model that the address names."""
        return self.service.registry.get(self.values["model"])

    def allows(self, scope: str) -> bool:
        """Whether the key may do more than its address asks for."""
        return self.keys.allows(self.headers, scope)


def decoded(type: Any, body: bytes, media_type: str) -> Any:
    """A body as what it should be. An empty body stands for an empty object."""
    try:
        if media_type == JSON:
            return _json_decoder(type).decode(body or b"{}")
        if media_type == MSGPACK:
            return _msgpack_decoder(type).decode(body or b"\x80")
    except msgspec.ValidationError as error:
        plain = None
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # A second look, for the sentence; nobody gets a large body read twice with a mistake in it.
            plain = (msgspec.json if media_type == JSON else msgspec.msgpack).decode(body[:65_536])
        message = re.sub("^it must be", "the body must be", explained(error, type, plain))
        hint = where_from(plain) if type is NewModelSettings else ""
        raise RequestError("invalid_request", message + hint) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = NO_NUMBERS if media_type == JSON and UNNUMBERED.match(body, _byte(error)) else ""
        raise RequestError("malformed_body", f"the body cannot be read: {error}{hint}") from None
    raise RequestError("unsupported_media_type", f"send {JSON} or {MSGPACK}; got content-type {media_type[:80]!r}")


def _byte(error: Exception) -> int:
    """Where msgspec says that JSON ends to be JSON."""
    found = re.search(r"\(byte (\d+)\)$", str(error))
    return int(found[1]) if found else 0


def media_type_of(headers: dict[bytes, bytes]) -> str:
    """What the body claims to be; the answer to MessagePack is MessagePack, too."""
    content_type = headers.get(b"content-type", b"application/json")
    if content_type == b"application/json":
        return JSON
    media_type = content_type.partition(b";")[0].strip().lower().decode("latin-1")
    return {"application/x-msgpack": MSGPACK, "application/vnd.msgpack": MSGPACK}.get(media_type, media_type)


class Encoded(NamedTuple):
    """An answer as it is sent; as an ASGI application it sends itself, whatever was asked."""

    status: int
    headers: Headers
    body: bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class Answer(NamedTuple):
    """What goes back: a struct, or, of a type of its own, bytes."""

    content: Any
    status: int = 200
    type: str | None = None
    headers: Headers = ()

    def encoded(self, media_type: str = JSON) -> Encoded:
        """The answer in the format of the request; errors are always JSON."""
        if self.type is not None:
            media_type, body = self.type, self.content
        elif media_type == MSGPACK and self.status < 400:
            body = _to_msgpack(self.content)
        else:
            media_type, body = JSON, _to_json(self.content)
        written = (b"content-type", media_type.encode()), (b"content-length", b"%d" % len(body))
        return Encoded(self.status, (*written, *GUARDS, *self.headers), body)


def attachment(name: str) -> Headers:
    """Headers that make a browser save the answer under a name (of letters, digits, dots, dashes, underscores)."""
    return ((b"content-disposition", f'attachment; filename="{name}"'.encode("ascii")),)


def note_refusal(code: str) -> None:
    """Tell the operator that requests are refused, and why: by the code, for what was sent is nobody's business."""
    if code not in ("store_unavailable", "internal"):  # which were told in full
        sparing.say(code, f"a request was refused: {code}")


def error_answer(error: Exception) -> Answer:
    """How to answer an error: ours as they are, anything else as a fault of ours."""
    code, message = code_of(error), str(error)
    if code == "store_unavailable":
        # Where the store lies, and what it said, is for the operator. What was given up on may still reach the log:
        # nothing is said about it, and trying again does no harm.
        sparing.say(code, f"the store is unavailable: {error}")
        message = "the store cannot be used at the moment; try again, what arrives twice counts once"
    elif code == "internal":
        log.error("an error of ours", exc_info=error)
        message = "something went wrong on our side; the service's log has the details"
    if len(message) > MESSAGE_LENGTH:
        message = message[:MESSAGE_LENGTH] + " …"
    status = STATUSES[code]
    return Answer(Error(ErrorDetail(code, message)), status, headers=HEADERS.get(status, ()))
