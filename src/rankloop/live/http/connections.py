"""Connections that cannot be used against the service: every read and every write has a clock, heads have a size, few
requests wait behind another, and who has not shown a key yet holds few connections. Everything before a request has an
address happens here; everything after, in the application.

uvicorn has no public way to do this, so its connection is extended, by names that it may change with any version. This
is the only place that uses them: uvicorn is pinned to the minor version they were tested with, and a test says which
of them are gone when another one is tried.
"""

import asyncio
import logging
import math
import resource
from contextlib import suppress
from http import HTTPStatus
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankloop.live.errors import RequestError
from rankloop.live.http.calls import Encoded, error_answer
from rankloop.live.log_lines import Sparing

_sparing = Sparing(logging.getLogger("rankloop.http"))

HEAD_BYTES = 64 << 10
"""Of a request line and headers together, give or take one read from the socket."""
HEAD_SECONDS = 10.0
"""From a request's first byte until its headers are complete."""
BODY_SECONDS = 30.0
"""From there until its body is."""
UNREAD_SECONDS = 30.0
"""Within which somebody who is sent more than the system takes must have read some `UNREAD_BYTES` of it."""
UNREAD_BYTES = 32 << 10
UNHEARD_BYTES = 1 << 20
"""Of a body that nobody wants any more, because its request was answered: so many are let through, to whoever reads the
answer only after it has sent everything."""
PIPELINED = 8
"""Requests that may wait behind one that is being answered; what comes after them is not listened to."""
SPARE_FILES = 128
"""Files that are kept from connections: for the store, and for what the interpreter opens."""
NEWCOMERS = 256
"""Connections without a key, at most."""
SHOWED_A_KEY = "rankloop.showed_a_key"
"""In the scope: to be called when whoever asks is known."""


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
BODY_TOO_SLOW = _last_words(RequestError("body_too_slow", f"the body did not arrive within {BODY_SECONDS:g} s"))
TOO_MANY = _last_words(RequestError("busy", "too many connections are open; try again in a second"))


def most_connections() -> float:
    """As many as this process may open files, less those it needs itself."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return math.inf if files == resource.RLIM_INFINITY else max(16, files - SPARE_FILES)


class Newcomers:
    """Connections on which nobody has shown a key yet. Where there are too many, the oldest ends: whoever has a key
    shows it at once, and so always gets in."""

    def __init__(self, most: int = NEWCOMERS) -> None:
        self._most = most
        self._known: dict[Connection, None] = {}

    def add(self, connection: "Connection") -> None:
        """Somebody is there."""
        self._known[connection] = None
        if len(self._known) > self._most:
            oldest = next(iter(self._known))
            self.remove(oldest)
            oldest.refuse(TOO_MANY)

    def remove(self, connection: "Connection") -> None:
        """They have shown a key, or gone."""
        self._known.pop(connection, None)


class _EnoughError(Exception):
    """Nothing more is listened to on this connection."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits on what comes before a request and on how slowly anything comes or goes."""

    newcomers = Newcomers()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._awaits: tuple[float, Encoded] | None = None
        """How long what has begun to arrive may take, and what is said if it takes longer."""
        self._arriving: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._unread = 0
        self._advanced = False
        self._is_last = False
        """Whether the connection ends with the request that was heard last."""
        self._held_bytes = self._unheard = 0
        self._most = most_connections()

    def connection_made(self, transport: Any) -> None:
        """Somebody is there; who then says nothing is not waited for forever."""
        super().connection_made(transport)
        patience: float = self.timeout_keep_alive
        if len(self.connections) > self._most:
            patience = HEAD_SECONDS
            _sparing.say(
                "connections",
                f"more than {self._most:,} connections are open, so new ones are turned away; "
                "raise the limit of open files (ulimit -n)",
            )
        self.timeout_keep_alive_task = self.loop.call_later(patience, self.timeout_keep_alive_handler)
        self.newcomers.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self.newcomers.remove(self)
        self._arrived()
        self._has_read()
        super().connection_lost(exc)

    # What comes

    def data_received(self, data: bytes) -> None:
        """Some bytes, of a head or a body or both."""
        self._unset_keepalive_if_required()
        self._advanced = False
        try:
            with suppress(httptools.HttpParserUpgrade):  # one that is not known is none (RFC 9110, 7.8)
                self.parser.feed_data(data)
        except httptools.HttpParserError:
            if not self._is_last:
                self.refuse(NOT_HTTP)
            return
        # Bytes that complete nothing are held by the parser: they are part of a head, or of headers after a body.
        self._held_bytes = 0 if self._advanced else self._held_bytes + len(data)
        if self._held_bytes > HEAD_BYTES:
            self.refuse(HEAD_TOO_LARGE)
        elif self._awaits and self._arriving is None and not self.transport.is_closing():
            self._arriving = self.loop.call_later(self._awaits[0], self._is_too_slow)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if self._is_last:
            raise _EnoughError
        super().on_message_begin()
        self._awaits = HEAD_SECONDS, HEAD_TOO_SLOW
        cast(dict[str, Any], self.scope)[SHOWED_A_KEY] = self._is_known

    def on_headers_complete(self) -> None:
        """The application takes over, unless the head was too large or too many are there."""
        self._arrived()
        self._awaits = BODY_SECONDS, BODY_TOO_SLOW
        self._advanced = True
        self._unheard = 0
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            # An address of that length cannot be parsed, and need not be.
            self.url, self.app = b"/", HEAD_TOO_LARGE
        elif len(self.connections) > self._most:
            self.app = TOO_MANY
        super().on_headers_complete()
        if len(self.pipeline) >= PIPELINED:
            self._is_last, self.cycle.keep_alive = True, False

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        if self.cycle.response_complete:
            self._unheard += len(body)
            if self._unheard > UNHEARD_BYTES:
                self.transport.abort()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of a request is here."""
        self._arrived()
        super().on_message_complete()

    def _is_known(self) -> None:
        self.newcomers.remove(self)

    def _arrived(self) -> None:
        self._awaits = None
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _is_too_slow(self) -> None:
        self._arriving = None
        if self._awaits is None:
            return
        if self.flow.read_paused:
            # It is we who do not listen, because of what came before.
            self._arriving = self.loop.call_later(self._awaits[0], self._is_too_slow)
        else:
            self.refuse(self._awaits[1])

    # What goes

    def pause_writing(self) -> None:
        """More is to be sent than the system takes: somebody does not read."""
        super().pause_writing()
        self._must_read()

    def resume_writing(self) -> None:
        """They do."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._has_read()

    def on_response_complete(self) -> None:
        """An answer is on its way; after the last one they must read it before the connection can end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._must_read()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing more came."""
        super().timeout_keep_alive_handler()
        self._must_read()

    def _must_read(self) -> None:
        if self._leaving is None:
            self._unread = self.transport.get_write_buffer_size()
            self._leaving = self.loop.call_later(UNREAD_SECONDS, self._is_unread)

    def _has_read(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _is_unread(self) -> None:
        self._leaving = None
        if self.transport.get_write_buffer_size() > self._unread - UNREAD_BYTES:
            self.transport.abort()
        else:
            self._must_read()

    def refuse(self, refusal: Encoded) -> None:
        """Answer before there is a request, and hang up; without a word in the middle of another answer."""
        self._arrived()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            in_between = cycle.response_started or bool(self.pipeline)
            # What is being answered is told that nobody is there any more.
            cycle.disconnected = True
            cycle.message_event.set()
            if in_between:
                self.transport.abort()
                return
        status = f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}".encode()
        lines = [name + b": " + value for name, value in refusal.headers]
        self.transport.write(b"\r\n".join([status, *lines, b"", refusal.body]))
        self.transport.close()
        self._must_read()


def limited(newcomers: int) -> type[Connection]:
    """The connections of a server, of which so many may be without a key."""
    return type("LimitedConnection", (Connection,), {"newcomers": Newcomers(newcomers)})
