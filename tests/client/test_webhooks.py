"""Is a message from our service, unchanged and new?"""

import hashlib
import hmac
import json

import pytest

from rankloop.client.webhooks import SIGNATURE, TIMESTAMP, signature, verified
from rankloop.errors import DataError

SECRET, BODY = "a secret of the operator", b'{"id":"1","event":"alert.started"}'


def signed(body=BODY, at=1_700_000_000, secret=SECRET):
    return {TIMESTAMP: str(at), SIGNATURE: signature(secret.encode(), str(at), body)}


def test_the_signature_is_hmac_sha256_of_time_dot_body():
    expected = hmac.new(SECRET.encode(), b"1700000000." + BODY, hashlib.sha256).hexdigest()
    assert signed()[SIGNATURE] == f"v1={expected}"


def test_a_message_of_ours_is_read():
    assert verified(BODY, signed(), SECRET, now=1_700_000_100.0) == json.loads(BODY)


@pytest.mark.parametrize(
    ("body", "headers", "now", "sentence"),
    [
        (BODY + b" ", signed(), 1_700_000_000, "signature does not match our secret"),
        (BODY, signed(secret="another secret of theirs"), 1_700_000_000, "signature does not match"),
        (BODY, signed() | {TIMESTAMP: "1700000001"}, 1_700_000_000, "signature does not match"),
        (BODY, {}, 1_700_000_000, "signature does not match"),
        (BODY, signed(), 1_700_000_301, "too long ago"),
        (BODY, signed(), 1_699_999_699, "too long ago"),
    ],
)
def test_what_is_not_ours_changed_or_old_is_refused(body, headers, now, sentence):
    with pytest.raises(DataError, match=sentence):
        verified(body, headers, SECRET, now=float(now))
