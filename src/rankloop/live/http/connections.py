"""Connections that cannot be used against the service: heads of limited size and time, and JSON errors even for what is
not HTTP. Everything before a request has an address happens here; everything after, in the application."""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rankloop.live.errors import RequestError
from rankloop.live.http.calls import GUARDS, JSON, Answer, error_answer

HEAD_BYTES = 64 << 10
"""Of a request line and headers together, give or take one read from the socket."""
HEAD_SECONDS = 10.0
"""From a request's first byte until its headers are complete."""
SPARE_FILES = 128
"""Files that are kept from connections: for the store, and for what the interpreter opens."""

NOT_HTTP = RequestError("malformed_request", "this is not an HTTP/1.1 request that can be read; send a proper one")
HEAD_TOO_LARGE = RequestError(
    "head_too_large", f"the address and the headers may have {HEAD_BYTES:,} bytes together; these have more"
)
HEAD_TOO_SLOW = RequestError("head_too_slow", f"the headers did not arrive within {HEAD_SECONDS:g} s")
TOO_MANY = RequestError("busy", "too many connections are open; try again in a second")


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits on what comes before a request."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._in_head = False
        self._advanced = False
        self._held_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._most = max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES)

    def connection_made(self, transport: Any) -> None:
        """Somebody is there; who then says nothing is not waited for forever."""
        super().connection_made(transport)
        patience = self.timeout_keep_alive if len(self.connections) <= self._most else HEAD_SECONDS
        self.timeout_keep_alive_task = self.loop.call_later(patience, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes, of a head or a body or both."""
        self._advanced = False
        super().data_received(data)
        # Bytes that complete nothing are held by the parser: they are part of a head, or of headers after a body.
        self._held_bytes = 0 if self._advanced else self._held_bytes + len(data)
        if self._held_bytes > HEAD_BYTES:
            self._refuse(HEAD_TOO_LARGE)
        elif self._in_head and self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse, HEAD_TOO_SLOW)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """The application takes over, unless the head was too large or too many are there."""
        self._head_arrived()
        self._advanced = True
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            # An address of that length cannot be parsed, and need not be.
            self.url, self.app = b"/", refusing(HEAD_TOO_LARGE)
        elif len(self.connections) > self._most:
            self.app = refusing(TOO_MANY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """What could not be parsed is told so in the same shape as every other error."""
        self._refuse(NOT_HTTP)

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade that is not known is no upgrade: the request is answered as what it is (RFC 9110, 7.8)."""

    def _head_arrived(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, error: RequestError) -> None:
        """Answer before there is a request, and hang up."""
        self._head_arrived()
        if self.transport.is_closing():
            return
        answer, body = refusal(error)
        lines = [STATUS_LINE[answer.status]]
        lines += [name + b": " + value + b"\r\n" for name, value in answer.headers]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self.transport.close()


def refusal(error: RequestError) -> tuple[Answer, bytes]:
    """An error with all its headers, after which the connection ends; and its body."""
    answer = error_answer(error)
    body = answer.encoded(False)[1]
    ends = (
        (b"content-type", JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        *GUARDS,
        *(header for header in answer.headers if header[0] != b"connection"),
        (b"connection", b"close"),
    )
    return answer._replace(headers=ends), body


def refusing(error: RequestError) -> Any:
    """An application that answers everything with one error."""
    answer, body = refusal(error)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": body})

    return application
