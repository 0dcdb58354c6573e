"""Signed impression ids: a click can only be reported for a page that was really shown, and not for ever.

    base64url( secret's id · model · number · time shown · first 16 bytes of HMAC-SHA256 )

The newest secret signs, older ones verify until they are dropped, so secrets can be rotated under traffic. A secret
begins to sign only when every process has had time to hear of it, and which one signs depends on the time shown alone:
the id of an impression can be computed again from the log.
"""

import base64
import binascii
import hmac
import secrets
import struct
from typing import NamedTuple

from rankloop.live.errors import RequestError
from rankloop.live.events import now
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import Secret

FIELDS = struct.Struct("<IIQQ")
MAC_BYTES = 16
SECRET_BYTES = 32
SETTLING = 10_000
"""Milliseconds between a secret's creation and its first signature: processes look for new ones every other second."""


class Token(NamedTuple):
    """What a verified impression id says."""

    model: int
    number: int
    at: int


class Signer:
    """Signs and verifies with the secrets at hand.

    >>> signer = Signer([Secret(1, b"k" * 32, 0)])
    >>> signer.verify(signer.sign(7, 12, 1000))
    Token(model=7, number=12, at=1000)
    """

    def __init__(self, secrets: list[Secret]) -> None:
        self._secrets = {secret.id: secret.value for secret in secrets}
        self._signing = sorted(((secret.created + SETTLING, secret.id) for secret in secrets), reverse=True)

    def sign(self, model: int, number: int, at: int) -> str:
        """The id of an impression that was shown at a time: by the newest secret that had settled then."""
        secret = next((newest for since, newest in self._signing if since <= at), self._signing[-1][1])
        payload = FIELDS.pack(secret, model, number, at)
        return _text(payload + self._mac(secret, payload))

    def verify(self, text: str) -> Token:
        """What the id says, if it was signed here."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _broken("it is not one of this service's ids") from None
        if len(raw) != FIELDS.size + MAC_BYTES or _text(raw) != text:
            # Base64 can spell the same bytes in several ways; only ours is accepted.
            raise _broken("it is not one of this service's ids")
        payload, mac = raw[: FIELDS.size], raw[FIELDS.size :]
        secret, model, number, at = FIELDS.unpack(payload)
        if secret not in self._secrets:
            raise RequestError("impression_expired", "impression: it was signed too long ago and has expired")
        if not hmac.compare_digest(mac, self._mac(secret, payload)):
            raise _broken("its signature is wrong")
        return Token(model, number, at)

    def _mac(self, secret: int, payload: bytes) -> bytes:
        return hmac.digest(self._secrets[secret], payload, "sha256")[:MAC_BYTES]


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _broken(why: str) -> RequestError:
    return RequestError("impression_invalid", f"impression: {why}; send it back exactly as rank gave it")


def current_signer(store: Store) -> Signer:
    """Signs with a store's secrets; a store without any gets its first."""
    if not store.secrets():
        store.add_secret(secrets.token_bytes(SECRET_BYTES), now())
    return Signer(store.secrets())
