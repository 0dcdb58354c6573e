"""API keys: who may rank, who may report clicks, who may change models.

A key is 32 random bytes, shown once when it is made; the store keeps its SHA-256, which is enough for secrets that
nobody can guess. Without any key the service is open, and then it listens on this machine only, and answers no web page
that somebody on this machine happens to look at. Once a key was made the service stays closed, even if all are revoked.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar

from rankloop.errors import SettingsError
from rankloop.live.errors import RequestError
from rankloop.live.local import is_local, is_own_origin
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import ApiKey
from rankloop.settings import NAME

WHO: ContextVar[str] = ContextVar("who", default="")
"""The name of the key that whatever is decided now is decided with: decisions are logged with it."""
SCOPES = ("rank", "click", "admin")
PREFIX = "rl_"


def create_key(store: Store, name: str, scopes: Iterable[str], now: int) -> str:
    """Make a key and return its secret, which is kept nowhere."""
    wanted = [scope for scope in SCOPES if scope in set(scopes)]
    unknown = set(scopes) - set(SCOPES)
    if unknown or not wanted:
        raise SettingsError(
            f"key: scopes must be among {', '.join(SCOPES)}; got {', '.join(sorted(unknown)) or 'none'}"
        )
    if not NAME.fullmatch(name):
        raise SettingsError(f"key: a name has 1 to 64 letters, digits, dots, dashes or underscores; got {name!r}")
    secret = new_secret()
    if not store.add_api_key(ApiKey(name, digest(secret), " ".join(wanted), now, None)):
        raise SettingsError(f"key: {name!r} already exists; revoke it or choose another name")
    return secret


def rotate_key(store: Store, name: str, now: int) -> str:
    """The same name and scopes, another secret: it is returned, and the old one is refused from now on."""
    old = next((key for key in store.api_keys() if key.name == name and key.revoked is None), None)
    if old is None:
        raise no_such_key(name)
    secret = new_secret()
    store.replace_api_key(old._replace(digest=digest(secret), created=now))
    return secret


def revoke_key(store: Store, name: str, now: int) -> None:
    """Refuse a key from now on."""
    if not store.revoke_api_key(name, now):
        raise no_such_key(name)


def no_such_key(name: str) -> SettingsError:
    """What to say to whoever asks for a key that there is not."""
    return SettingsError(f"key: there is no valid key named {name!r}; rankloop keys list shows all")


def new_secret() -> str:
    """What nobody can guess: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class Keyring:
    """The keys that are accepted now, and how much each may still ask for."""

    def __init__(self, store: Store, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._rate = rate
        self._clock = clock
        self._keys: list[ApiKey] = []
        self.open = True
        """Whether everybody may do everything: no key was ever made."""
        self._budgets: dict[str, tuple[float, float]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Notice keys that were made or revoked elsewhere."""
        self._keys = self._store.api_keys()
        # Never open again: a store whose keys went missing must not let the network in.
        self.open = self.open and not self._keys

    def authorize(self, headers: Mapping[bytes, bytes], scope: str) -> str:
        """The name of the key behind a request's headers, if it may do this."""
        if self.open:
            _refuse_foreign_pages(headers)
            return self._spend("")
        key = self._find(headers)
        granted = key.scopes.split()
        if scope not in granted:
            raise RequestError(
                "scope_missing",
                f"this key may {' and '.join(granted)}; this request needs the scope {scope!r}",
            )
        return self._spend(key.name)

    def know(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request shows a key that is accepted, for whatever; everybody is known where none is needed."""
        if self.open:
            return True
        if b"authorization" not in headers:
            return False
        try:
            self._find(headers)
        except RequestError:
            return False
        return True

    def allows(self, headers: Mapping[bytes, bytes], scope: str) -> bool:
        """Whether a request may do something more, beyond what it was let in for; costs none of its budget."""
        if self.open:
            return True
        try:
            return scope in self._find(headers).scopes.split()
        except RequestError:
            return False

    def is_valid(self, hashed: bytes, scope: str) -> bool:
        """Whether a key, known by its hash, is still accepted for a scope."""
        return any(
            hmac.compare_digest(key.digest, hashed) and key.revoked is None and scope in key.scopes.split()
            for key in self._keys
        )

    def name_of(self, hashed: bytes) -> str:
        """The name of a key that is known by its hash; empty if there is none."""
        return next((key.name for key in self._keys if hmac.compare_digest(key.digest, hashed)), "")

    def _find(self, headers: Mapping[bytes, bytes]) -> ApiKey:
        kind, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise RequestError("key_missing", "send an API key: Authorization: Bearer rl_…")
        given = digest(secret.strip())
        # Every key is compared, in constant time: how long it takes says nothing about any of them.
        matching = [key for key in self._keys if hmac.compare_digest(key.digest, given)]
        if not matching or matching[0].revoked is not None:
            raise RequestError("key_unknown", "this API key is unknown or was revoked")
        return matching[0]

    def _spend(self, name: str) -> str:
        """A token bucket per key, one second deep."""
        time_now = self._clock()
        depth = max(1.0, self._rate)
        left, then = self._budgets.get(name, (depth, time_now))
        left = min(depth, left + (time_now - then) * self._rate)
        if left < 1.0:
            self._budgets[name] = left, time_now
            raise RequestError("rate_limited", f"more than {self._rate:g} requests a second with this key; slow down")
        self._budgets[name] = left - 1.0, time_now
        return name


def _refuse_foreign_pages(headers: Mapping[bytes, bytes]) -> None:
    """Without keys this machine is trusted, other sites' pages that it shows are not; see `rankloop.live.local`."""
    host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin")
    # Whoever sends no Host is no browser.
    if host and not is_local(host):
        raise RequestError(
            "host_refused", "without API keys the service answers to local names only, such as localhost"
        )
    if origin is not None and not is_own_origin(origin.decode("latin-1"), host):
        raise RequestError("origin_refused", "without API keys the service does not respond to pages of other sites")
