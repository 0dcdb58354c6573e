"""Bodies on their way in: each within a size, and the large ones within a number of bytes all together."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from rankloop.live.errors import RequestError
from rankloop.live.requests import Limits

Receive = Callable[[], Awaitable[Any]]

SMALL = 64 << 10
"""Bytes of a body that is always let in: so many as may be answered at a time take little."""
ORDINARY = 4 << 20
"""Bytes of a body that is no page's candidates and no model's settings, at most."""


class Room:
    """Where large bodies are held until they are answered. One key may fill half of it."""

    def __init__(self, limits: Limits) -> None:
        self._most = max(limits.bodies_bytes, 2 * limits.body_bytes)
        self._held: Counter[str] = Counter()

    def take(self, key: str, size: int) -> None:
        """Room for so many bytes more."""
        if self._held[key] + size > self._most / 2 or self._held.total() + size > self._most:
            raise RequestError("busy", "too many large bodies are arriving at once; try again in a second")
        self._held[key] += size

    def give_back(self, key: str, size: int) -> None:
        """They are not held any more."""
        self._held[key] -= size
        if not self._held[key]:
            del self._held[key]

    @property
    def held(self) -> int:
        """Bytes that are held now."""
        return self._held.total()


class Body:
    """One body, and the room that it takes."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._size = 0
        self.key = ""
        """Whose it is."""

    async def read(self, receive: Receive, headers: dict[bytes, bytes], most: int) -> bytes:
        """The whole of it, unless it is larger than allowed. How long it may take is the connection's concern."""
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit():
            if len(declared) > 18 or int(declared) > most:
                raise _too_large(most)
            self._hold(int(declared))
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError("malformed_body", "the connection ended before the body did")
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > most:
                raise _too_large(most)
            self._hold(size)
        return b"".join(parts)

    def _hold(self, size: int) -> None:
        if size > SMALL and size > self._size:
            self._room.take(self.key, size - self._size)
            self._size = size

    def leave(self) -> None:
        """It was answered, or given up."""
        if self._size:
            self._room.give_back(self.key, self._size)
            self._size = 0


def _too_large(most: int) -> RequestError:
    return RequestError("body_too_large", f"a body may have at most {most:,} bytes here")
