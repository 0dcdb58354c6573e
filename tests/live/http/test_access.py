"""Who may ask for what, how often, how much and how slowly; and that a refused request is not even listened to."""

import asyncio
import re

import pytest

from rankloop.live.http.app import ENDPOINTS
from rankloop.live.http.connections import SHOWED_A_KEY
from rankloop.live.keys import SCOPES, create_key, revoke_key
from rankloop.live.requests import Limits
from rankloop.live.service import now
from rankloop.web.dashboard import add_dashboard

from .conftest import ROWS
from .running import Running, everything

pytestmark = pytest.mark.xdist_group("live-http-access")


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A service with one key for each scope, and one that was revoked; its clock stands still."""
    with Running(tmp_path_factory.mktemp("access") / "log.db", limits=Limits(rate=2000.0)) as app:
        app.model("shop", ["engine", "price"], page_size=3, scaling="none")
        app.keys = {scope: create_key(app.service.store, scope, [scope], now()) for scope in SCOPES}
        app.keys["revoked"] = create_key(app.service.store, "revoked", SCOPES, now())
        revoke_key(app.service.store, "revoked", now())
        app.app.keys.refresh()
        yield app


def unread():
    """A body that must not be asked for."""

    async def body():
        raise AssertionError("who may not ask was listened to")
        yield b""

    return body()


def address(route):
    return route.path.format(model="shop", version=0, impression="x", challenger="shop-2")


@pytest.mark.parametrize("route", [route for route in ENDPOINTS if route.scope], ids=lambda r: f"{r.method} {r.path}")
def test_an_address_opens_to_its_scope_and_to_no_other(closed, route):
    before = everything(closed)
    more = {"content": unread()} if route.method == "POST" else {}
    for key, status in (("", 401), ("rl_" + "x" * 43, 401), (closed.keys["revoked"], 401), ("é", 401)):
        answer = closed.ask(route.method, address(route), key=key, **more)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (status, "Bearer")
        assert answer.json()["error"]["code"] in ("key_missing", "key_unknown")
    for scope in set(SCOPES) - {route.scope}:
        answer = closed.ask(route.method, address(route), key=closed.keys[scope], **more)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")
        assert f"needs the scope '{route.scope}'" in answer.json()["error"]["message"]
    assert everything(closed) == before
    if route.method != "DELETE":
        assert closed.ask(route.method, address(route), key=closed.keys[route.scope]).status_code not in (401, 403)


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Basic cmw6eA==", "bearer  ", "Token x", "rl_x"])
def test_what_is_no_bearer_key_is_told_how_to_send_one(closed, given):
    answer = closed.get("/v1/models", headers={"authorization": given})
    assert answer.status_code == 401
    assert "Authorization: Bearer rl_…" in answer.json()["error"]["message"]


def test_what_everybody_may_ask_tells_them_little(closed):
    assert closed.get("/healthz").json() == {"status": "ok"}
    assert closed.get("/readyz").json() == {"status": "ok", "trouble": []}
    assert closed.get("/openapi.json").status_code == 200
    metrics = closed.get("/metrics").text
    assert not any(key in metrics for key in closed.keys.values())


def test_trouble_is_told_in_full_to_an_admin_alone(closed, monkeypatch):
    monkeypatch.setattr(closed.service, "trouble", lambda: ["store: /srv/rankloop.db is read-only"])
    answer = closed.get("/readyz")
    assert (answer.status_code, answer.json()["trouble"]) == (503, ["store"])
    told = closed.get("/readyz", key=closed.keys["admin"]).json()
    assert told["trouble"] == ["store: /srv/rankloop.db is read-only"]
    assert closed.get("/readyz", key=closed.keys["click"]).json()["trouble"] == ["store"]


def test_every_answer_is_for_now_and_is_what_it_says(closed):
    key = closed.keys["admin"]
    answers = [closed.get("/healthz"), closed.get("/v1/models"), closed.get("/v1/models", key=key), closed.get("/no"),
               closed.post("/v1/clicks", content=b"{", key=closed.keys["click"]), closed.ask("OPTIONS", "/v1/models"),
               closed.get("/openapi.json"), closed.get("/v1%2fmodels")]  # fmt: skip
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


# How often


def test_too_many_requests_with_one_key_are_told_to_come_back(tmp_path):
    with Running(tmp_path / "log.db", limits=Limits(rate=3.0)) as app:
        app.app.keys._clock = lambda: 0.0
        for _ in range(3):
            assert app.get("/v1/models").status_code == 200
        answer = app.get("/v1/models")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["error"]["code"] == "rate_limited"
        assert app.post("/v1/clicks", content=unread()).status_code == 429
        assert app.get("/healthz").status_code == 200
        app.app.keys._clock = lambda: 1.0
        assert app.get("/v1/models").status_code == 200


# How many at once


def test_a_caller_who_hangs_up_costs_nothing_but_their_request(closed):
    closed.key = closed.keys["rank"]
    before = everything(closed)
    sent = []

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/v1/clicks", "raw_path": b"/v1/clicks", "query_string": b"",
        "headers": [(b"authorization", f"Bearer {closed.keys['click']}".encode())],
    }  # fmt: skip
    closed.run(closed.app(scope, gone, send))
    assert sent[0]["status"] == 400
    assert everything(closed) == before
    assert closed.rank("shop", ROWS)["group"] == "learned"
    closed.key = None


def test_more_than_it_can_hold_are_told_that_it_is_busy_and_it_says_that_it_lives(tmp_path):
    with Running(tmp_path / "log.db", limits=Limits(concurrent=2)) as app:
        go_on = asyncio.Event()

        async def held():
            await go_on.wait()
            yield b'{"reports": []}'

        async def crowd():
            waiting = [asyncio.create_task(app._http.post("/v1/clicks", content=held())) for _ in range(2)]
            while app.app._answering < 2:
                await asyncio.sleep(0)
            turned_away = [await app._http.get(path) for path in ("/v1/models", "/readyz", "/nowhere")]
            turned_away.append(await app._http.post("/v1/clicks", content=unread()))
            alive = await app._http.get("/healthz")
            go_on.set()
            return await asyncio.gather(*waiting), turned_away, alive

        served, turned_away, alive = app.run(crowd())
        assert [answer.status_code for answer in served] == [200, 200]
        assert alive.json() == {"status": "ok"}
        for answer in turned_away:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"]["code"] == "busy"
        assert app.get("/v1/models").status_code == 200
        assert 'rankloop_answers_total{endpoint="busy",status="503"} 4.0' in app.get("/metrics").text


@pytest.fixture
def watched(tmp_path):
    """A service with its pages and one key for everything, which answers two at a time and five without a key."""
    limits = Limits(concurrent=2, keyless_rate=5.0, keyless_connections=3)
    with Running(tmp_path / "log.db", limits=limits) as app:
        app.model("shop", ["engine", "price"], page_size=3, scaling="none")
        add_dashboard(app.app)
        app.known = create_key(app.service.store, "all", SCOPES, now())
        app.app.keys.refresh()
        yield app


def stopped(app):
    """Nobody without a key gets another turn: their clock stands still, and their turns are used up."""
    for turns in app.app._turns.values():
        turns._clock = lambda: 0.0
        turns._left, turns._then = 0.0, 0.0


STRANGE = [("GET", "/openapi.json"), ("GET", "/sign-in"), ("POST", "/sign-in"), ("GET", "/static/rankloop.css"),
           ("GET", "/"), ("GET", "/metrics"), ("GET", "/readyz"), ("POST", "/v1/clicks"),
           ("GET", "/nowhere")]  # fmt: skip


def test_whoever_has_no_key_waits_for_a_turn_and_takes_no_place_of_those_who_have(watched):
    stopped(watched)

    async def crowd():
        strangers = [asyncio.create_task(watched._http.request(*asked)) for asked in STRANGE[:3]]
        while watched.app._turns[False].waiting < 3:
            await asyncio.sleep(0)
        refused = [await watched._http.request(*asked) for asked in STRANGE]
        key = {"authorization": f"Bearer {watched.known}"}
        served = [await watched._http.get("/v1/models", headers=key) for _ in range(3)]
        for turns in watched.app._turns.values():
            turns._left = 3.0
            turns._next()
        return await asyncio.gather(*strangers), refused, served

    waited, refused, served = watched.run(crowd())
    assert [answer.status_code for answer in waited] == [200, 200, 403]
    assert {answer.status_code for answer in refused} == {503}
    assert {answer.status_code for answer in served} == {200}


def test_a_form_that_does_not_come_keeps_nobody_else_waiting(watched):
    """1,000 of them used to take all the places there are."""
    go_on = asyncio.Event()

    async def begun():
        yield b"k"
        await go_on.wait()
        yield b"ey=x"

    async def crowd():
        stalled = [asyncio.create_task(watched._http.post("/sign-in", content=begun())) for _ in range(4)]
        for _ in range(100):
            await asyncio.sleep(0)
        assert not any(task.done() for task in stalled)
        key = {"authorization": f"Bearer {watched.known}"}
        served = await watched._http.get("/v1/models", headers=key)
        go_on.set()
        return served, await asyncio.gather(*stalled)

    served, stalled = watched.run(crowd())
    assert served.status_code == 200
    assert {answer.status_code for answer in stalled} == {403}


def test_probes_have_turns_of_their_own(watched):
    stopped(watched)
    watched.app._turns[True]._left = 1.0
    assert watched.get("/healthz").status_code == 200


def test_whoever_has_signed_in_is_known(watched):
    page = watched.get("/sign-in")
    token = re.search(r'name="token" value="([0-9a-f]+)"', page.text)[1]
    assert watched.post("/sign-in", data={"token": token, "key": watched.known}).status_code == 303
    stopped(watched)
    assert watched.get("/models").status_code == 200
    assert watched.get("/static/rankloop.css").status_code == 200


def test_with_a_key_a_connection_is_known_and_without_one_it_is_not(watched):
    shown = []

    async def ask(headers):
        scope = {
            "type": "http", "method": "GET", "path": "/healthz", "raw_path": b"/healthz", "query_string": b"",
            "headers": headers, SHOWED_A_KEY: lambda: shown.append(headers), "http_version": "1.1", "scheme": "http",
        }  # fmt: skip

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_):
            pass

        await watched.app(scope, receive, send)

    good, bad = (b"authorization", f"Bearer {watched.known}".encode()), (b"authorization", b"Bearer rl_x")
    for headers in ([good], [bad], [], [(b"cookie", b"rankloop_session=abcdefghijklmnopqrstuvwxyz")]):
        watched.run(ask(headers))
    assert shown == [[good]]
