"""What both clients are made of: where the service is, how long it is waited for, and what is kept while it is down."""

from collections.abc import Callable
from typing import Any

import httpx

from rankloop.client.conversation import MSGPACK, PATIENT, Ask, Conversation, Reply
from rankloop.errors import SettingsError
from rankloop.settings import require_number, require_whole_number

TIMEOUT = 2.0
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100)
"""A page that waited for a connection of our own would be a fallback for no fault of the service."""


class Connection:
    """The settings of a client, and its conversation with the service; `Client` says what the arguments mean."""

    _transport: Callable[..., Any]

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = TIMEOUT, page_size: int = 10, keep: int = 10_000
    ) -> None:
        if not url.startswith(("http://", "https://")) or not _is_address(url):
            raise SettingsError(f"client: url must be an address that begins with http:// or https://; got {url!r}")
        if key is not None and not (key.isascii() and key.isprintable()):
            # Not quoted: a key with a stray line break is a secret all the same.
            raise SettingsError("client: key has characters that no API key has; send it as it was printed")
        self._timeout = require_number("client", "timeout", timeout, above=0)
        self._conversation = Conversation(
            require_whole_number("client", "page_size", page_size, at_least=1),
            require_whole_number("client", "keep", keep),
        )
        self._manage = self._conversation.manage
        self._url = url.rstrip("/")
        headers = {"content-type": MSGPACK} | ({"authorization": f"Bearer {key}"} if key else {})
        self._http = self._transport(base_url=self._url, headers=headers, limits=LIMITS)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r}, kept={self.kept}, dropped={self.dropped})"

    @property
    def kept(self) -> int:
        """How many reports are waiting for the service to come back."""
        return len(self._conversation.kept)

    @property
    def dropped(self) -> int:
        """How many reports were given up: too many to keep, or too old when the service came back."""
        return self._conversation.kept.dropped

    def _arguments(self, ask: Ask) -> dict[str, Any]:
        seconds = max(self._timeout, PATIENT) if ask.patient else self._timeout
        return {"method": ask.method, "url": ask.path, "content": ask.body, "timeout": seconds}


def _is_address(url: str) -> bool:
    try:
        return bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False


def reply_of(response: httpx.Response) -> Reply:
    """What the service answered."""
    return Reply(response.status_code, response.content, response.headers.get("content-type", ""))


def trouble_of(error: httpx.HTTPError) -> Reply:
    """That it did not, and why."""
    what = "it did not answer in time" if isinstance(error, httpx.TimeoutException) else str(error) or repr(error)
    return Reply(trouble=f"the service cannot be reached: {what}")
