"""Addresses and keys that are none are refused at once; whatever answers, a page comes back with the reason."""

import httpx
import pytest
from tests.patience import PATIENCE

from rankloop.client import AsyncClient, Client, RefusedError
from rankloop.client.connection import trouble_of
from rankloop.errors import SettingsError

from .scripted import CANDIDATES, NOBODY, answer, scripted


@pytest.mark.parametrize("wrong", ["127.0.0.1:8080", "ftp://here", "http://", "http://no such..höst", "http://a:port"])
def test_an_address_that_is_none_is_refused_at_once(wrong):
    with pytest.raises(SettingsError, match="http://"):
        Client(wrong)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_key_that_cannot_be_one_is_refused_and_not_repeated(kind):
    with pytest.raises(SettingsError, match="key") as caught:
        kind(NOBODY, "rl_secret\n")
    assert "rl_secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (answer("503 Service Unavailable", b'{"error":{"code":"x","message":"the store sleeps"}}'), "the store sleeps"),
        (answer("502 Bad Gateway", b"<html>oops</html>", "text/html"), "HTTP 502"),
        (answer("429 Too Many Requests", b'{"error":{"code":"rate_limited","message":"slow down"}}'), "slow down"),
        (answer("200 OK", b"<html>welcome to our hotel</html>", "text/html"), "not a rankloop service"),
        (answer("200 OK", b"\xc1", "application/msgpack"), "not a rankloop service"),
        (answer("200 OK", b'{"ranking": 7}'), "not a rankloop service"),
        (answer("302 Found", b""), "HTTP 302"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", "cannot be reached"),
        (b"certainly not HTTP\r\n\r\n", "cannot be reached"),
        (b"", "cannot be reached"),
    ],
)
def test_every_kind_of_trouble_is_a_fallback_with_its_reason(given, reason):
    page = Client(scripted(given), timeout=PATIENCE).rank("shop", CANDIDATES)
    assert page.ranking == list(CANDIDATES)
    assert reason in page.reason


def test_a_refusal_that_is_not_the_services_is_still_a_refusal():
    with pytest.raises(RefusedError, match="does not come from a rankloop service"):
        Client(scripted(answer("404 Not Found", b"<html>", "text/html")), timeout=PATIENCE).rank("shop", CANDIDATES)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (httpx.ReadTimeout(""), "it did not answer in time"),
        (httpx.ReadError("cut off"), "cut off"),
        (httpx.ConnectError(""), "ConnectError('')"),
    ],
)
def test_why_nobody_answered_is_always_said(error, why):
    assert trouble_of(error).trouble == f"the service cannot be reached: {why}"


def test_a_client_shows_where_it_goes_and_never_its_key():
    assert repr(Client(NOBODY + "/", "rl_secret")) == "Client('http://127.0.0.1:1', kept=0, dropped=0)"
