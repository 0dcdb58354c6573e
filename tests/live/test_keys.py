"""Keys: what is kept of them, what they open, and how soon a running service hears of a change."""

import hashlib
import json
import re
import socket
from pathlib import Path

import httpx
import pytest
from tests import preloaded
from tests.patience import PATIENCE, wait_until

from rankloop.errors import SettingsError
from rankloop.live.errors import RequestError
from rankloop.live.keys import Keyring, create_key, digest, revoke_key, rotate_key
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import ApiKey

from .serving import Serving

ROWS = [{"id": "a", "features": [1.0, 2.0]}, {"id": "b", "features": [0.0, 1.0]}]


def bearer(key):
    return {b"authorization": f"Bearer {key}".encode()}


# What is kept


def test_a_key_is_kept_as_its_hash_alone(store):
    key = create_key(store, "shop", ["rank", "click"], 1)
    assert re.fullmatch(r"rl_[A-Za-z0-9_-]{43}", key)  # 256 random bits
    [kept] = store.api_keys()
    assert kept == ApiKey("shop", hashlib.sha256(key.encode()).digest(), "rank click", 1, None)


def test_nothing_on_disk_contains_a_key(tmp_path):
    store = open_store(tmp_path / "log.db")
    keys = [create_key(store, "one", ["admin"], 1), rotate_key(store, "one", 2), create_key(store, "two", ["rank"], 3)]
    on_disk = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert digest(keys[1]) in on_disk
    for key in keys:
        assert key.encode() not in on_disk
        assert key[3:].encode() not in on_disk
    store.close()


def test_a_key_opens_what_its_scopes_say(store):
    key = create_key(store, "shop", ["rank"], 1)
    ring = Keyring(store, 1000)
    assert ring.authorize(bearer(key), "rank") == "shop"
    with pytest.raises(RequestError, match="this key may rank; this request needs the scope 'admin'") as caught:
        ring.authorize(bearer(key), "admin")
    assert caught.value.code == "scope_missing"


def test_rotated_the_old_one_is_refused_and_revoked_the_new_one_too(store):
    ring = Keyring(store, 1000)
    old = create_key(store, "shop", ["rank"], 1)
    new = rotate_key(store, "shop", 2)
    ring.refresh()
    assert ring.authorize(bearer(new), "rank") == "shop"
    for given in (old, "", "rl_", new[:-1], new + "x", new.upper()):
        with pytest.raises(RequestError) as caught:
            ring.authorize(bearer(given), "rank")
        assert caught.value.code in ("key_missing", "key_unknown")
    revoke_key(store, "shop", 3)
    ring.refresh()
    with pytest.raises(RequestError, match="unknown or was revoked"):
        ring.authorize(bearer(new), "rank")
    assert not ring.open  # all keys are revoked, and it stays closed
    with pytest.raises(SettingsError, match="no valid key named 'shop'"):
        rotate_key(store, "shop", 4)


def test_a_service_that_was_closed_stays_closed_though_its_keys_are_lost(store):
    create_key(store, "shop", ["admin"], 1)
    ring = Keyring(store, 1000)
    ring._store = type("Emptied", (), {"api_keys": lambda self: []})()
    ring.refresh()
    with pytest.raises(RequestError) as caught:
        ring.authorize({}, "admin")
    assert caught.value.code == "key_missing"


@pytest.mark.parametrize(("name", "scopes", "sentence"), [
    ("", ["rank"], "1 to 64 letters"),
    ("a b", ["rank"], "1 to 64 letters"),
    ("'; DROP TABLE api_keys; --", ["rank"], "1 to 64 letters"),
    ("shop", [], "scopes must be among rank, click, admin; got none"),
    ("shop", ["root"], "scopes must be among rank, click, admin; got root"),
    ("taken", ["rank"], "'taken' already exists"),
])  # fmt: skip
def test_a_key_that_makes_no_sense_is_not_made(store, name, scopes, sentence):
    create_key(store, "taken", ["rank"], 1)
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        create_key(store, name, scopes, 2)
    assert len(store.api_keys()) == 1


def test_a_key_known_by_its_hash_is_valid_for_its_scopes_until_it_is_revoked(store):
    """The dashboard's cookie holds a key's hash, and is asked about this way."""
    shop, other = (digest(create_key(store, name, ["rank", "click"], 1)) for name in ("shop", "other"))
    ring = Keyring(store, 1000)
    assert ring.is_valid(shop, "rank")
    assert ring.is_valid(shop, "click")
    assert not ring.is_valid(shop, "admin")
    assert not ring.is_valid(digest("rl_somebody-else"), "rank")
    revoke_key(store, "shop", 2)
    ring.refresh()
    assert not ring.is_valid(shop, "rank")
    assert ring.is_valid(other, "rank")


# How often


def test_each_key_has_a_budget_of_its_own_that_fills_up_again(store):
    one, two = (create_key(store, name, ["rank"], 1) for name in ("one", "two"))
    time_now = 100.0
    ring = Keyring(store, 3.0, clock=lambda: time_now)
    for _ in range(3):
        ring.authorize(bearer(one), "rank")
    with pytest.raises(RequestError, match="more than 3 requests a second with this key") as caught:
        ring.authorize(bearer(one), "rank")
    assert caught.value.code == "rate_limited"
    ring.authorize(bearer(two), "rank")
    time_now += 1 / 3 + 1e-6
    ring.authorize(bearer(one), "rank")
    with pytest.raises(RequestError):
        ring.authorize(bearer(one), "rank")
    time_now += 1000.0  # a long rest earns one second's worth, not more
    for _ in range(3):
        ring.authorize(bearer(one), "rank")
    with pytest.raises(RequestError):
        ring.authorize(bearer(one), "rank")


# Without keys: this machine alone


@pytest.mark.parametrize(("host", "origin", "code"), [
    (b"localhost:8080", None, None),
    (b"127.0.0.1:9", b"http://127.0.0.1:9", None),
    (b"[::1]:8080", b"http://[::1]:8080", None),
    (b"shop.localhost", None, None),
    (b"", None, None),  # no browser leaves it out
    (b"rankloop:8080", None, "host_refused"),
    (b"192.168.1.5:8080", None, "host_refused"),
    (b"[", None, "host_refused"),
    (b"localhost:8080", b"http://[", "origin_refused"),
    (b"evil.example", None, "host_refused"),
    (b"evil.example:8080", b"http://evil.example:8080", "host_refused"),
    (b"127.0.0.1.evil.example", None, "host_refused"),
    (b"localhost:8080", b"http://evil.example", "origin_refused"),
    (b"localhost:8080", b"null", "origin_refused"),
    (b"localhost:8080", b"http://localhost:3000", "origin_refused"),
])  # fmt: skip
def test_without_keys_pages_of_other_sites_are_refused(store, host, origin, code):
    headers = {b"host": host} | ({b"origin": origin} if origin else {})
    ring = Keyring(store, 1000)
    if code is None:
        ring.authorize(headers, "admin")
        return
    with pytest.raises(RequestError) as caught:
        ring.authorize(headers, "admin")
    assert caught.value.code == code


# In life: a service, and an operator at the command line


def rankloop(*words, folder):
    return preloaded.run(*words, cwd=folder)


def made(*words, folder):
    """A key, from the command line."""
    done = rankloop("keys", *words, "--store", "rankloop.db", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["key"]


def listening_addresses(port):
    """Where somebody listens on a port, as the kernel says (IPv4)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    pairs = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {socket.inet_ntoa(bytes.fromhex(address)[::-1]) for address, at in pairs if int(at, 16) == port}


@pytest.mark.process
@pytest.mark.slow
def test_a_running_service_hears_of_every_change(tmp_path):
    with Serving(tmp_path) as service:
        assert listening_addresses(service.port) == {"127.0.0.1"}

        def status(key=None, path="/v1/models", **more):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            return httpx.get(f"{service.url}{path}", headers=headers, timeout=PATIENCE, **more).status_code

        assert status() == 200  # open, for this machine
        admin = made("create", "boss", "--scope", "admin", folder=tmp_path)
        wait_until(lambda: status() == 401, "a first key closes the service")
        assert status(admin) == 200
        new = made("rotate", "boss", folder=tmp_path)
        wait_until(lambda: status(admin) == 401, "a rotated key is refused")
        assert status(new) == 200
        assert rankloop("keys", "revoke", "boss", "--store", "rankloop.db", folder=tmp_path).returncode == 0
        wait_until(lambda: status(new) == 401, "a revoked key is refused")
        assert status() == 401  # closed for everybody, not open again
        listed = rankloop("keys", "list", "--store", "rankloop.db", folder=tmp_path).stdout
        assert "boss" in listed
        assert not any(key[3:12] in listed for key in (admin, new))


@pytest.mark.process
def test_other_machines_are_let_in_with_keys_only(tmp_path):
    refused = rankloop("serve", "rankloop.db", "--host", "0.0.0.0", "--port", "0", folder=tmp_path)
    assert refused.returncode != 0
    said = " ".join(refused.stderr.split())
    assert "without API keys the service listens on this machine only, not on 0.0.0.0" in said
    assert "rankloop keys create" in said
    assert "Traceback" not in refused.stderr


@pytest.mark.process
@pytest.mark.slow
def test_with_keys_it_listens_anywhere_says_nothing_secret_and_ids_outlive_a_rotation(tmp_path):
    key = made("create", "all", "--scope", "rank", "--scope", "click", "--scope", "admin", folder=tmp_path)
    secrets = [key, "Client-Zoë-4711", "query-nobody-should-read", "id-nobody-should-read"]
    with Serving(tmp_path, "--host", "0.0.0.0") as service:
        assert listening_addresses(service.port) == {"0.0.0.0"}
        http = httpx.Client(base_url=service.url, headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE)
        assert http.post("/v1/models", json={"name": "shop", "features": 2}).status_code == 201
        candidates = [*ROWS, {"id": secrets[3], "features": [0.0, 0.0]}]

        def rank():
            body = {"candidates": candidates, "client": secrets[1], "query": secrets[2]}
            page = http.post("/v1/models/shop/rank", json=body).json()
            secrets.append(page["impression"])
            return page["impression"]

        def click(impression):
            return http.post("/v1/clicks", json={"impression": impression, "clicks": [secrets[3]]}).status_code

        first = rank()
        assert click(first) == 200
        trouble(service, key, first)
        # Another secret: what was signed before stays valid …
        told = rankloop("keys", "rotate-secret", "--store", "rankloop.db", folder=tmp_path)
        assert "0 old ones were dropped" in told.stdout
        assert click(first) == 200
        # … until its own is dropped.
        second = rank()
        drop = ("keys", "rotate-secret", "--drop-after", "0", "--store", "rankloop.db")
        assert "2 old ones were dropped" in rankloop(*drop, folder=tmp_path).stdout
        wait_until(lambda: click(first) == 410, "an id expires with its secret")
        assert click(second) == 410
        assert click(rank()) == 200
        http.close()
        metrics = httpx.get(f"{service.url}/metrics").text
    for secret in secrets:
        assert secret not in service.output
        assert secret not in metrics
    on_disk = b"".join(path.read_bytes() for path in tmp_path.glob("rankloop.db*"))
    assert secrets[1].encode() not in on_disk  # who it was is a keyed hash
    assert secrets[2].encode() in on_disk  # what they asked is kept, and the docs say so


def trouble(service, key, impression):
    """Everything that could make a careless service write down what it was sent."""
    bad = {"authorization": f"Bearer {key}x"}
    assert httpx.get(f"{service.url}/v1/models", headers=bad).status_code == 401
    good = {"authorization": f"Bearer {key}"}
    assert (
        httpx.post(f"{service.url}/v1/clicks", headers=good, content=f'{{"impression": "{impression}"').status_code
        == 400
    )
    assert httpx.post(f"{service.url}/v1/impressions/{impression[:-1]}/close", headers=good).status_code == 400
    assert httpx.get(f"{service.url}/v1/models/{impression}?key={key}", headers=good).status_code == 404
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as raw:
        raw.sendall(f"GET /{key} HTTP/9\r\nauthorization: Bearer {key}\r\n{impression}\r\n\r\n".encode())
        assert b"malformed_request" in raw.recv(65536)
