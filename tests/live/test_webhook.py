"""Alerts at a small local receiver: signed, retried, once they have arrived not again, and to nowhere else."""

import asyncio
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest

from rankloop.client.webhooks import ID, verified
from rankloop.errors import SettingsError
from rankloop.live import webhook as module
from rankloop.live.alerts import alert_of
from rankloop.live.errors import StoreError
from rankloop.live.stores import open_store
from rankloop.live.watching import Period
from rankloop.live.webhook import Webhook, checked_address, checked_secret

from .in_process import told, until

SECRET = b"a secret of the operator"


class Receiver:
    """Takes messages, and answers with one status after the other (the last one for ever)."""

    def __init__(self, *statuses, location=None):
        self.got, receiver, waiting = [], self, list(statuses or (204,))

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(waiting.pop(0) if len(waiting) > 1 else waiting[0])
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.01)


def alert(subject="price", ended=None, started=5):
    return alert_of("shop", Period("missing", subject, started, ended))


def sent(url, store, *alerts, done):
    """Send alerts until something holds; the webhook."""

    async def story():
        hook = Webhook(url, SECRET, store)
        for one in alerts:
            hook.tell(one)
        running = asyncio.create_task(hook.run())
        await until(lambda: done(hook))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return hook

    return told(story())


def test_an_alert_arrives_signed_with_its_id(store):
    with Receiver() as receiver:
        sent(receiver.url, store, alert(), alert(ended=9), done=lambda hook: hook.counts["delivered"] == 2)
    (path, headers, body), (_, _, ended) = receiver.got
    message = verified(body, {name.lower(): value for name, value in headers.items()}, SECRET)
    assert path == "/alerts"
    assert message["event"] == "alert.started"
    assert message["alert"]["sentence"].startswith("Feature 'price' is 0 for every candidate")
    assert headers[ID] == message["id"] == "shop-missing-price-5-started"
    assert json.loads(ended)["event"] == "alert.ended"


def test_what_fails_is_tried_again_in_order_and_nothing_arrives_twice_after_that(store):
    with Receiver(500, 503, 204) as receiver:
        hook = sent(
            receiver.url, store, alert("a"), alert("b"), alert("a"), done=lambda hook: hook.counts["delivered"] == 2
        )
        assert hook.counts == {"failed": 2, "delivered": 2}
        assert [json.loads(body)["alert"]["subject"] for _, _, body in receiver.got] == ["a", "a", "a", "b"]
        # Another process, later: what has arrived is known from the store.
        sent(receiver.url, store, alert("a"), alert("c"), done=lambda hook: hook.counts["delivered"] == 1)
        assert json.loads(receiver.got[-1][2])["alert"]["subject"] == "c"
        assert len(receiver.got) == 5


def test_redirects_are_not_followed(store):
    with Receiver() as elsewhere, Receiver(302, location=elsewhere.url) as receiver:
        sent(receiver.url, store, alert(), done=lambda hook: hook.counts["failed"] >= 2)
    assert elsewhere.got == []


def test_a_feature_may_be_called_anything_and_its_alert_arrives(store):
    name = "größe\r\nx-injected: 1"
    with Receiver() as receiver:
        sent(receiver.url, store, alert(name), alert("b"), done=lambda hook: hook.counts["delivered"] == 2)
    (_, headers, body), _ = receiver.got
    assert "x-injected" not in {header.lower() for header in headers}
    assert unquote(headers[ID]) == json.loads(body)["id"] == f"shop-missing-{name}-5-started"


def test_a_receiver_that_answers_a_byte_at_a_time_is_given_up(store, monkeypatch):
    """Each byte comes well within the time that one may take; all of them never do."""
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    ended = threading.Event()

    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self):
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
                while not ended.wait(0.05):
                    self.wfile.write(b"a")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        sent(url, store, alert(), done=lambda hook: hook.counts["failed"] >= 1)
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", ["xn--a.example", f"{64 * 'ä'}.example", f"{64 * 'a'}.example"])
def test_a_name_that_turns_out_to_be_none_is_a_failure_and_not_the_end(store, name):
    sent(f"http://{name}/", store, alert(), done=lambda hook: hook.counts["failed"] >= 2)


def test_alerts_go_out_while_the_store_cannot_be_written(store, monkeypatch):
    def full(*_):
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "set_fact", full)
    with Receiver() as receiver:
        sent(receiver.url, store, alert("a"), alert("b"), done=lambda hook: hook.counts["delivered"] == 2)
    assert len(receiver.got) == 2


def test_a_receiver_that_is_down_costs_the_oldest_alerts_when_too_many_wait(store, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    hook = Webhook("http://127.0.0.1:9/", SECRET, store)
    for place in range(5):
        hook.tell(alert(str(place)))
    assert hook.counts["dropped"] == 2
    assert [json.loads(one.body)["alert"]["subject"] for one in hook._waiting] == ["2", "3", "4"]


def test_what_cannot_be_delivered_within_a_day_is_given_up(store, monkeypatch):
    monkeypatch.setattr(module, "GIVEN_UP", -1)
    hook = sent("http://127.0.0.1:9/", store, alert(), done=lambda hook: hook.counts["dropped"] == 1)
    assert hook.counts["failed"] == 1


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://example.com", "begins with https:// or http://"),
        ("https://", "begins with https:// or http://"),
        ("https://example.com:port/", "is not a URL"),
        ("https://me:secret@example.com/", "leave user name and password out"),
        ("http://169.254.169.254/latest/meta-data", "not an address that alerts are sent to"),
        ("http://[fe80::1]/", "not an address that alerts are sent to"),
        ("http://0.0.0.0/", "not an address that alerts are sent to"),
        ("http://[::ffff:169.254.169.254]/", "not an address that alerts are sent to"),
        ("http://2852039166/", "not an address that alerts are sent to"),
        ("http://0xa9.254.43518/", "not an address that alerts are sent to"),
        ("http://[fe80::1%25eth0]/", "not an address that alerts are sent to"),
    ],
)
def test_addresses_that_alerts_are_not_sent_to(url, sentence):
    with pytest.raises(SettingsError, match=sentence):
        checked_address(url)


def test_the_secret_comes_from_the_environment_or_a_file_and_is_long_enough(tmp_path):
    (tmp_path / "secret").write_text("a secret that is in a file\n")
    assert checked_secret(None, tmp_path / "secret") == b"a secret that is in a file"
    assert checked_secret("a secret of the environment", None) == b"a secret of the environment"
    with pytest.raises(SettingsError, match="at least 16 characters"):
        checked_secret("short", None)
    with pytest.raises(SettingsError, match="cannot be read"):
        checked_secret(None, tmp_path / "nothing")
