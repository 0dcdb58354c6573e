"""Alerts that a service sends, on the side of whoever receives them: is a message ours, and is it new?

Its signature is HMAC-SHA256 over the time at which it was sent, a dot and the body. So nobody else can make one, change
one, or send an old one again later.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from rankloop.errors import DataError

ID, TIMESTAMP, SIGNATURE = "rankloop-id", "rankloop-timestamp", "rankloop-signature"
VERSION = "v1="
TOLERANCE = 300.0
"""Seconds by which a message may be older, or newer, than our clock says."""


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """What stands in the header of a message.

    >>> signature(b"sixteen letters!", "1700000000", b"{}")[:11]
    'v1=96ab549f'
    """
    return VERSION + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def verified(body: bytes, headers: Mapping[str, str], secret: str | bytes, now: float | None = None) -> dict[str, Any]:
    """The message, if it was signed with our secret in the last five minutes; a DataError otherwise.

    Args:
        body: as it arrived, byte for byte.
        headers: of the request; names in lower case, or a mapping that does not care.
        secret: the one that the service signs with.
        now: seconds since 1970; by default the time now.
    """
    key = secret.encode() if isinstance(secret, str) else secret
    stamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if not hmac.compare_digest(signature(key, stamp, body).encode(), given.encode()):
        raise DataError("webhook: the signature does not match our secret; somebody else may have sent this")
    if not stamp.isdigit() or abs((time.time() if now is None else now) - int(stamp)) > TOLERANCE:
        raise DataError("webhook: the message was sent too long ago, or our clock is wrong")
    message: dict[str, Any] = json.loads(body)
    return message
