"""API keys: who may rank, who may report clicks, who may change models.

A key is 32 random bytes, shown once when it is made; the store keeps its SHA-256, which is enough for secrets that
nobody can guess. Without any key the service is open, and then it listens on this machine only.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable

from rankloop.errors import SettingsError
from rankloop.live.errors import RequestError
from rankloop.live.settings import NAME
from rankloop.live.stores.contract import ApiKey, Store

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
    secret = PREFIX + secrets.token_urlsafe(32)
    if not store.add_api_key(ApiKey(name, digest(secret), " ".join(wanted), now, None)):
        raise SettingsError(f"key: there is one named {name!r} already; revoke it or choose another name")
    return secret


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
        self._budgets: dict[str, tuple[float, float]] = {}
        self.refresh()

    @property
    def open(self) -> bool:
        """Whether everybody may do everything: no key was ever made."""
        return not self._keys

    def refresh(self) -> None:
        """Notice keys that were made or revoked elsewhere."""
        self._keys = self._store.api_keys()

    def authorize(self, authorization: str, scope: str) -> str:
        """The name of the key behind an Authorization header, if it may do this."""
        if self.open:
            return self._spend("")
        kind, _, secret = authorization.partition(" ")
        if kind.lower() != "bearer" or not secret:
            raise RequestError(401, "key_missing", "send an API key: Authorization: Bearer rl_…")
        given = digest(secret.strip())
        found = next((key for key in self._keys if hmac.compare_digest(key.digest, given)), None)
        if found is None or found.revoked is not None:
            raise RequestError(401, "key_unknown", "this API key is unknown or was revoked")
        granted = found.scopes.split()
        if scope not in granted:
            raise RequestError(
                403,
                "scope_missing",
                f"this key may {' and '.join(granted)}; what you ask for takes the scope {scope!r}",
            )
        return self._spend(found.name)

    def _spend(self, name: str) -> str:
        """A token bucket per key, one second deep."""
        time_now = self._clock()
        left, then = self._budgets.get(name, (self._rate, time_now))
        left = min(self._rate, left + (time_now - then) * self._rate)
        if left < 1.0:
            raise RequestError(
                429, "rate_limited", f"more than {self._rate:g} requests a second with this key; slow down"
            )
        self._budgets[name] = left - 1.0, time_now
        return name
