"""From bytes to a call and back: bodies within their limits, in formats that are read, and errors in one shape."""

import msgspec
import pytest

from rankloop.live.requests import Limits

from .conftest import ROWS
from .running import MSGPACK

pytestmark = pytest.mark.xdist_group("live-http-bad")
RANK = "/v1/models/shop/rank"


@pytest.fixture(scope="module")
def impression(app):
    """The id of a page that is open."""
    return app.rank("shop", ROWS)["impression"]


BAD_BYTES = [
    (b"\xff\xfe\x00", "application/json", 400),
    (b'{"query": "\xff"}', "application/json", 400),
    (b"\x00" * 100, "application/json", 400),
    (b"\xef\xbb\xbf{}", "application/json", 400),
    (b"\xc1", MSGPACK, 400),
    (b"\x81", MSGPACK, 400),
    (b"\x81\xa5query\xa2\xff\xfe", MSGPACK, 400),
    (b"\xdd\xff\xff\xff\xff", MSGPACK, 422),
    (b"\xdf\xff\xff\xff\xff", MSGPACK, 400),
    (b"\x91" * 100_000, MSGPACK, 422),
    (b"\x82\xa3ids\x91\xa1a\xa6matrix\xc6\xff\xff\xff\xff", MSGPACK, 400),
    (b"\xc7\x01\x05a", MSGPACK, 422),
    (b"{}", MSGPACK, 422),
    (b"{}", "text/plain", 415),
    (b"{}", "application/x-www-form-urlencoded", 415),
    (b"{}", "multipart/form-data; boundary=x", 415),
    (b"<rank/>", "application/xml", 415),
    (b"{}", "application/json5", 415),
    (b"{}", "\xff", 415),
    (b"{}", "", 415),
]


@pytest.mark.parametrize(("body", "kind", "status"), BAD_BYTES, ids=range(len(BAD_BYTES)))
def test_bytes_that_mean_nothing_are_refused(refused, body, kind, status):
    codes = {400: "malformed_body", 415: "unsupported_media_type", 422: "invalid_request"}
    told = refused("POST", RANK, status, codes[status], content=body, headers={"content-type": kind.encode("latin-1")})
    assert status != 415 or "send application/json or application/msgpack" in told


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e39, 1e300])
def test_messagepack_can_say_what_json_cannot_and_is_refused_all_the_same(app, refused, impression, value):
    rank = {"candidates": [{"id": "a", "features": [1.0, value]}]}
    click = {"impression": impression, "clicks": {"a": value}}
    model = {"name": "odd", "features": 2, "start": {"from": "weights", "weights": [1.0, value]}}
    for path, body in ((RANK, rank), ("/v1/clicks", click), ("/v1/models", model)):
        packed = {"content": msgspec.msgpack.encode(body), "headers": {"content-type": MSGPACK}}
        refused("POST", path, 422, **packed)


# Sizes


def test_a_body_that_says_it_is_too_large_is_refused_unread(app, refused):
    async def never():
        raise AssertionError("it was read")
        yield b""

    headers = {"content-length": str(Limits().body_bytes + 1)}
    told = refused("POST", RANK, 413, "body_too_large", content=never(), headers=headers)
    assert "16,777,216 bytes" in told
    refused("POST", RANK, 413, "body_too_large", content=never(), headers={"content-length": "9" * 30})


def test_a_body_in_pieces_is_refused_as_soon_as_it_is_too_large(refused):
    sent = []

    async def endless():
        while True:
            sent.append(1 << 20)
            yield b" " * (1 << 20)

    refused("POST", RANK, 413, "body_too_large", content=endless())
    assert sum(sent) <= Limits().body_bytes + (2 << 20)


def test_a_body_of_just_the_allowed_size_is_read(refused):
    assert "send either" in refused("POST", RANK, 422, content=b"{}" + b" " * (Limits().body_bytes - 2))
