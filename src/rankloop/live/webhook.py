"""Alerts by webhook: signed, retried, at least once.

The address is the operator's, given when the service starts; nobody who talks to the API can change it or choose what
is sent. Redirects are not followed, answers are not read, and a receiver that hangs is given five seconds. What cannot
be delivered waits in a queue of bounded length and is tried again, later each time, for a day.

What was delivered is remembered in the store. So after a restart, or a kill at any moment, an alert is sent again
unless it is known to have arrived: at least once, and each with an id by which a receiver recognises what it had.
"""

import asyncio
import contextlib
import ipaddress
import json
import logging
import socket
import time
from collections import Counter, deque
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from rankloop.client.webhooks import ID, SIGNATURE, TIMESTAMP, signature
from rankloop.errors import SettingsError
from rankloop.live.alerts import Alert
from rankloop.live.errors import StoreError
from rankloop.live.events import now
from rankloop.live.stores.contract import Store

log = logging.getLogger("rankloop.alerts")

MOST_WAITING = 1_000
MOST_REMEMBERED = 500
DELIVERED = "webhook"
"""The fact that holds the ids of what was delivered last."""
TIMEOUT = 5.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
GIVEN_UP = 86_400_000
"""Milliseconds after which what could not be delivered is given up."""
LEAST_SECRET = 16
PRINTED = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def checked_address(url: str) -> str:
    """An address that alerts may be sent to; refused with a sentence if they may not.

    >>> checked_address("https://alerts.example.com/rankloop")
    'https://alerts.example.com/rankloop'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        parts.port  # noqa: B018  (raises if it is no port)
    except ValueError:
        example = "https://alerts.example.com/rankloop"
        raise SettingsError(f"webhook: {url!r} is not a URL; give one such as {example}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError(f"webhook: give an address that begins with https:// or http://; got {url!r}")
    if parts.username or parts.password:
        raise SettingsError("webhook: leave user name and password out of the URL; alerts are signed with the secret")
    if _is_nowhere(host):
        raise SettingsError(f"webhook: {host} is not an address that alerts are sent to")
    return url


def _is_nowhere(host: str) -> bool:
    """Whether a host is no place for a receiver, such as the metadata of a cloud's machine; private ones may be."""
    address = _numeric(host)
    return address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified)


def _numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, however it is written: whoever connects also takes 2852039166 or 0xa9.254.43518 for
    one, and an IPv4 address within an IPv6 one for that. None for a name."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, UnicodeError):
            return None
    return getattr(address, "ipv4_mapped", None) or address


def checked_secret(text: str | None, path: Path | None) -> bytes:
    """The secret, from the environment or a file; refused if there is none, or one that is easily guessed."""
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"webhook: the secret in {path} cannot be read ({error})") from None
    secret = (text or "").strip().encode()
    if len(secret) < LEAST_SECRET:
        raise SettingsError(
            f"webhook: alerts are signed; put a secret of at least {LEAST_SECRET} characters into "
            f"RANKLOOP_WEBHOOK_SECRET, or into a file that --webhook-secret-file names"
        )
    return secret


class Waiting(msgspec.Struct):
    """An alert on its way."""

    id: str
    body: bytes
    since: int
    tries: int = 0
    due: float = 0.0


def message(alert: Alert) -> Waiting:
    """What is sent of an alert that has begun or ended."""
    event = "ended" if alert.ended is not None else "started"
    number = f"{alert.id}-{event}"
    body = {"id": number, "event": f"alert.{event}"} | {"alert": msgspec.to_builtins(alert)}
    return Waiting(number, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), now())


def header_of(number: str) -> str:
    """An id as it stands in a header, which is ASCII: it may name a feature, and that may be called anything.

    >>> header_of("shop-missing-größe\\r\\n-5-started")
    'shop-missing-gr%C3%B6%C3%9Fe%0D%0A-5-started'
    """
    return quote(number, safe=PRINTED)


class Webhook:
    """Sends alerts to one address, in their order."""

    def __init__(self, url: str, secret: bytes, store: Store) -> None:
        self._url = checked_address(url)
        self._secret = secret
        self._store = store
        self._waiting: deque[Waiting] = deque()
        self._delivered: deque[str] | None = None
        self._more = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.counts: Counter[str] = Counter()
        """Of messages: `delivered`, `failed` (tries), `dropped`."""

    def tell(self, alert: Alert) -> None:
        """An alert has begun or ended; from any thread."""
        waiting = message(alert)
        if waiting.id in self._known() or any(other.id == waiting.id for other in self._waiting):
            return
        if len(self._waiting) >= MOST_WAITING:
            self.counts["dropped"] += 1
            log.warning("webhook: %d alerts wait already; the oldest is dropped", MOST_WAITING)
            self._waiting.popleft()
        self._waiting.append(waiting)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._more.set)

    def _known(self) -> "deque[str]":
        if self._delivered is None:
            self._delivered = deque(json.loads(self._store.fact(DELIVERED) or "[]"), MOST_REMEMBERED)
        return self._delivered

    def _remember(self, number: str) -> None:
        self._known().append(number)
        self._store.set_fact(DELIVERED, json.dumps(list(self._known())))

    async def run(self) -> None:
        """Deliver what waits, until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        # Neither a proxy nor credentials of the environment are used: what is sent goes where the operator said.
        async with httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False, trust_env=False) as http:
            while True:
                self._more.clear()
                if not self._waiting:
                    await self._more.wait()
                    continue
                waiting = self._waiting[0]
                if (wait := waiting.due - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                await self._try(http, waiting)

    async def _try(self, http: httpx.AsyncClient, waiting: Waiting) -> None:
        problem = await self._sent(http, waiting)
        if problem is None:
            self.counts["delivered"] += 1
            self._remove(waiting)
            try:
                await asyncio.to_thread(self._remember, waiting.id)
            except StoreError as error:
                log.warning("webhook: that an alert was delivered is not remembered after a restart (%s)", error)
            return
        self.counts["failed"] += 1
        if waiting.tries == 0:
            log.warning("webhook: an alert was not delivered (%s); it is tried again", problem)
        waiting.tries += 1
        waiting.due = time.monotonic() + min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(waiting.tries - 1, 20))
        if now() - waiting.since > GIVEN_UP:
            log.error("webhook: an alert was not delivered within a day (%s) and is dropped", problem)
            self.counts["dropped"] += 1
            self._remove(waiting)

    def _remove(self, waiting: Waiting) -> None:
        with contextlib.suppress(ValueError):  # it may have made room for newer ones
            self._waiting.remove(waiting)

    async def _sent(self, http: httpx.AsyncClient, waiting: Waiting) -> str | None:
        """Why it did not arrive; None if it did."""
        stamp = str(int(time.time()))
        headers = {
            "content-type": "application/json",
            ID: header_of(waiting.id),
            TIMESTAMP: stamp,
            SIGNATURE: signature(self._secret, stamp, waiting.body),
        }
        try:
            # The client's own clock begins anew with every byte.
            async with (
                asyncio.timeout(TIMEOUT),
                http.stream("POST", self._url, content=waiting.body, headers=headers) as answer,
            ):
                return None if answer.is_success else f"status {answer.status_code}"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:  # a name may turn out to be none
            return type(error).__name__
