"""Connections that cannot be used against the service: heads of limited size and time, and JSON errors even for what is
not HTTP. Everything before a request has an address happens here; everything after, in the application.

uvicorn has no public way to do this, so its connection is extended, by names that it may change with any version. This
is the only place that uses them: uvicorn is pinned to the minor version they were tested with, and a test says which
of them are gone when another one is tried.
"""

import asyncio
import resource
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankloop.live.errors import RequestError
from rankloop.live.http.calls import Encoded, error_answer

HEAD_BYTES = 64 << 10
"""Of a request line and headers together, give or take one read from the socket."""
HEAD_SECONDS = 10.0
"""From a request's first byte until its headers are complete."""
SPARE_FILES = 128
"""Files that are kept from connections: for the store, and for what the interpreter opens."""
BODY_ARRIVED = "rankloop.body_arrived"
"""In the scope of a request whose body is here as a whole."""


def _last_words(error: RequestError) -> Encoded:
    """An error after which the connection ends."""
    encoded = error_answer(error).encoded()
    kept = tuple(header for header in encoded.headers if header[0] != b"connection")
    return encoded._replace(headers=(*kept, (b"connection", b"close")))


NOT_HTTP = _last_words(RequestError("malformed_request", "this is not a readable HTTP/1.1 request"))
HEAD_TOO_LARGE = _last_words(
    RequestError("head_too_large", f"the address and the headers together may have at most {HEAD_BYTES:,} bytes")
)
HEAD_TOO_SLOW = _last_words(RequestError("head_too_slow", f"the headers did not arrive within {HEAD_SECONDS:g} s"))
TOO_MANY = _last_words(RequestError("busy", "too many connections are open; try again in a second"))


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
            self.url, self.app = b"/", HEAD_TOO_LARGE
        elif len(self.connections) > self._most:
            self.app = TOO_MANY
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of a request is here."""
        cast(dict[str, Any], self.scope)[BODY_ARRIVED] = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What cannot be parsed is refused in the same shape as every other error."""
        self._refuse(NOT_HTTP)

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade that is not known is no upgrade: the request is answered as what it is (RFC 9110, 7.8)."""

    def _head_arrived(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, refusal: Encoded) -> None:
        """Answer before there is a request, and hang up."""
        self._head_arrived()
        if self.transport.is_closing():
            return
        status = f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}".encode()
        lines = [name + b": " + value for name, value in refusal.headers]
        self.transport.write(b"\r\n".join([status, *lines, b"", refusal.body]))
        self.transport.close()
