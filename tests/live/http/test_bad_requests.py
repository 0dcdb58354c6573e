"""Whatever is sent that breaks a rule: a JSON error that says what to fix, no 500, and every model stays as it was."""

import base64

import msgspec
import numpy as np
import pytest

from rankloop.live.http.app import ENDPOINTS
from rankloop.live.service import GRACE, now
from rankloop.live.tokens import FIELDS

from .conftest import ROWS
from .running import Running

pytestmark = pytest.mark.xdist_group("live-http-bad")

A = '{"id": "a", "features": [1, 2]}'
B = '{"id": "b", "features": [2, 1]}'
RANK = "/v1/models/shop/rank"


@pytest.fixture(scope="module")
def impression(app):
    """The id of a page that is open."""
    return app.rank("shop", ROWS)["impression"]


def candidates(*rows):
    return '{"candidates": [' + ", ".join(rows) + "]}"


def with_a(more, others=""):
    """The candidate a, and what else is in the body."""
    return f'{{"candidates": [{A}{others}], {more}}}'


def many(count):
    return candidates(*(f'{{"id": "{i}", "features": [1, 2]}}' for i in range(count)))


def matrix(values, ids=("a", "b")):
    block = base64.b64encode(np.array(values, "<f4").tobytes()).decode()
    return msgspec.json.encode({"ids": ids, "matrix": block}).decode()


BAD_RANKS = [
    # numbers
    (candidates('{"id": "a", "features": [NaN, 1]}'), 400, "JSON has no NaN and no Infinity: leave a feature that is "),
    (candidates('{"id": "a", "features": [Infinity, 1]}'), 400, "JSON has no NaN and no Infinity"),
    (candidates('{"id": "a", "features": [-Infinity, 1]}'), 400, "JSON has no NaN and no Infinity"),
    ('{"query": "NaN, NaN", "candidates": [oops]}', 400, "malformed: invalid character (byte 37)"),
    (candidates('{"id": "a", "features": [1e999, 1]}'), 422, "candidates[0].features[0] is too large a number"),
    ('{"candidates": {"a": [1, 2]}}', 422, 'got an object; send [{"id": "oak", "features": {"price": 120}}]'),
    (with_a('"pinned": ["a"]'), 422, 'pinned must be an object; got a list; send {"oak": 1}'),
    (with_a('"titles": ["Oak"]'), 422, 'titles must be an object; got a list; send {"oak": "An oak desk"}'),
    ('{"ids": ["a"], "matrix": [[1, 2]]}', 422, "matrix must be bytes in base64 or nothing; got a list"),
    (candidates('{"id": "a", "features": [1e39, 1]}'), 422, "'engine' must be a finite number that float32 can hold"),
    (candidates('{"id": "a", "features": [1, -1e39]}'), 422, "'price' must be a finite number that float32 can hold"),
    (candidates(A, '{"id": "z", "features": [1, 1e19]}'), 422, "candidate 'z': feature 'price'"),
    (candidates('{"id": "a", "features": [%s, 1]}' % ("9" * 400)), 422, "is too large a number"),
    (candidates('{"id": "a", "features": [%s, 1]}' % ("9" * 5000)), 422, "is too large a number"),
    (candidates('{"id": "a", "features": ["1", "2"]}'), 422, "must be a number; got text"),
    (candidates('{"id": "a", "features": [null, 2]}'), 422, "must be a number; got nothing"),
    (candidates('{"id": "a", "features": [true, 2]}'), 422, "must be a number; got true or false"),
    # features
    (candidates('{"id": "a", "features": [1]}'), 422, "'a': this model has 2 features; got 1: send engine, price"),
    (candidates('{"id": "a", "features": [1, 2, 3]}'), 422, "this model has 2 features; got 3"),
    (candidates('{"id": "a", "features": []}'), 422, "this model has 2 features; got 0"),
    (
        candidates('{"id": "a", "features": {"engine": 1, "colour": 2}}'),
        422,
        "no feature 'colour'; its features are engine, price",
    ),
    (candidates('{"id": "a", "features": {"engine": 1}}'), 422, "feature 'price' is missing"),
    (candidates('{"id": "a", "features": {"engine": 1, "price": {"$gt": 0}}}'), 422, "must be a number"),
    (candidates('{"id": "a"}'), 422, "`features` is missing"),
    (candidates('{"features": [1, 2]}'), 422, "`id` is missing"),
    (candidates('{"id": "a", "features": [1, 2], "boost": 3}'), 422, "unknown field `boost`; use id, features"),
    # candidates
    (candidates(A, A), 422, "every candidate needs a different id; 'a' appears twice"),
    (candidates('{"id": "", "features": [1, 2]}'), 422, "must be text, not empty"),
    (candidates('{"id": "%s", "features": [1, 2]}' % ("x" * 513)), 422, "must be text, at most 512 characters"),
    (candidates('{"id": 7, "features": [1, 2]}'), 422, "must be text; got a whole number"),
    (many(5_001), 422, "at most 5,000 are ranked at once; got 5,001"),
    (many(100_000), 422, "at most 5,000 are ranked at once; got 100,000"),
    ("{}", 422, 'send either "candidates", or "ids" with a "matrix"'),
    ("", 422, 'send either "candidates", or "ids" with a "matrix"'),
    ('{"ids": ["a"]}', 422, 'send either "candidates", or "ids" with a "matrix"'),
    ('{"matrix": "AAAA"}', 422, 'send either "candidates", or "ids" with a "matrix"'),
    (with_a('"ids": ["a"], "matrix": "AAAA"'), 422, 'send either "candidates", or'),
    # the matrix
    ('{"ids": ["a"], "matrix": "§§§"}', 422, "matrix must be bytes in base64"),
    ('{"ids": ["a"], "matrix": "AAA"}', 422, "matrix must be bytes in base64"),
    ('{"ids": ["a"], "matrix": [1, 2]}', 422, "must be bytes in base64 or nothing; got a list"),
    (matrix([[1, 2]]), 422, "2 candidates with 2 features are 16 bytes of float32; got 8"),
    (matrix([[1, 2], [3, 4], [5, 6]]), 422, "got 24"),
    (matrix([[1, 2], [np.nan, 4]]), 422, "candidate 'b': feature 'engine' must be a finite number"),
    (matrix([[1, 2], [3, -np.inf]]), 422, "candidate 'b': feature 'price' must be a finite number"),
    (matrix([[1, 2], [3, 4]], ids=("a", "a")), 422, "'a' appears twice"),
    # the page
    (with_a('"size": 0'), 422, "size must be a whole number, at least 1"),
    (with_a('"size": -1'), 422, "size must be a whole number, at least 1"),
    (with_a('"size": 4'), 422, "this model's pages have at most 3 documents; got 4"),
    (with_a('"size": 99999999999999999999'), 422, "at most 3 documents"),
    (with_a('"size": ' + "9" * 5000), 422, "is too large a number"),
    (with_a('"size": 1.5'), 422, "must be a whole number or nothing; got a number"),
    (with_a('"pinned": {"z": 1}'), 422, "pinned: 'z' is not among the candidates"),
    (with_a('"pinned": {"a": 1, "b": 1}', ", " + B), 422, "two documents are pinned to rank 1"),
    (with_a('"pinned": {"a": 3}', ", " + B), 422, "'a' is pinned to rank 3, but the page has 2"),
    (with_a('"pinned": {"a": 0}'), 422, "must be a whole number, at least 1"),
    (with_a('"pinned": {"a": "1"}'), 422, "must be a whole number"),
    (with_a('"rest": "yes"'), 422, "must be true or false"),
    # who and what for
    (with_a('"query": "' + "q" * 4097 + '"'), 422, "must be text, at most 4,096 characters"),
    (with_a('"query": 5'), 422, "must be text"),
    (with_a('"client": ""'), 422, "must be text, not empty"),
    (with_a('"client": "' + "c" * 513 + '"'), 422, "must be text, at most 512 characters"),
    (with_a('"user": "me"'), 422, "unknown field `user`"),
    # no JSON, or not the right one
    ("{", 400, "the body cannot be read"),
    ("nonsense", 400, "the body cannot be read"),
    ("{}{}", 400, "the body cannot be read"),
    ('{"query": "\\ud800"}', 400, "the body cannot be read"),
    ("[]", 422, "must be an object; got a list"),
    ('"text"', 422, "must be an object; got text"),
    ("[" * 100_000, 422, "must be an object; got a list"),
    ('{"candidates": ' + "[" * 100_000, 422, "must be an object; got a list"),
]


@pytest.mark.parametrize(("body", "status", "sentence"), BAD_RANKS, ids=range(len(BAD_RANKS)))
def test_a_bad_rank_request_is_refused_with_what_to_fix(refused, body, status, sentence):
    told = refused("POST", RANK, status, content=body.encode(), headers={"content-type": "application/json"})
    assert sentence in told


# Clicks


BAD_CLICKS = [
    ('{"impression": "%(id)s", "clicks": "a"}', 422, 'got text; send ["oak"]'),
    ('{"impression": "%(id)s", "actions": {"a": "buy"}}', 422, '; send [{"id": "oak", "action": "purchase"}]'),
    ("{}", 422, 'send {"impression": "…", "clicks": ["id", …]}'),
    ('{"impression": "%(id)s"}', 422, 'send {"impression": "…", "clicks": ["id", …]}'),
    ('{"clicks": ["a"]}', 422, 'send {"impression": "…", "clicks": ["id", …]}'),
    ('{"impression": "%(id)s", "clicks": ["a"], "reports": []}', 422, "either one report or a list of them"),
    ('{"impression": "%(id)s", "clicks": {"a": 1.01}}', 422, "must be a number, at most 1"),
    ('{"impression": "%(id)s", "clicks": {"a": -0.01}}', 422, "must be a number, at least 0"),
    ('{"impression": "%(id)s", "clicks": {"a": 1e400}}', 422, "is too large a number"),
    ('{"impression": "%(id)s", "clicks": {"a": NaN}}', 400, "cannot be read"),
    ('{"impression": "%(id)s", "clicks": {"a": "1"}}', 422, "must be a number"),
    ('{"impression": "%(id)s", "clicks": [1]}', 422, "must be text"),
    ('{"impression": "%(id)s", "clicks": "a"}', 422, "must be an object or a list or nothing"),
    ('{"impression": "%(id)s", "clicks": [""]}', 422, "must be text, not empty"),
    ('{"impression": "%(id)s", "clicks": ["a"], "rank": 1}', 422, "unknown field `rank`"),
    ('{"reports": [{"impression": "%(id)s"}]}', 422, "`clicks` is missing"),
    ('{"reports": [' + ", ".join(['{"impression": "x", "clicks": []}'] * 1_001) + "]}", 422, "at most 1,000 at once"),
    ('{"impression": "%(id)s", "clicks": [' + ", ".join(['"a"'] * 1_001) + "]}", 422, "at most 1,000 clicks in one"),
    ('{"reports": [{"impression": "%(id)s", "clicks": []}, {"impression": "x", "clicks": []}]}', 400, "report 1: "),
    ('{"impression": "", "clicks": []}', 422, "must be text, not empty"),
    ('{"impression": "%s", "clicks": []}' % ("A" * 513), 422, "must be text, at most 512 characters"),
    ('{"impression": null, "clicks": []}', 422, "send {"),
]


@pytest.mark.parametrize(("body", "status", "sentence"), BAD_CLICKS, ids=range(len(BAD_CLICKS)))
def test_a_bad_report_is_refused_as_a_whole(refused, impression, body, status, sentence):
    content = body.replace("%(id)s", impression).encode()
    assert sentence in refused("POST", "/v1/clicks", status, content=content)


# Impression ids


def resigned(app, impression, **change):
    """An id that says something else, with the signature of the true one."""
    raw = base64.urlsafe_b64decode(impression + "==")
    secret, model, number, at = FIELDS.unpack(raw[: FIELDS.size])
    fields = {"secret": secret, "model": model, "number": number, "at": at} | change
    forged = FIELDS.pack(*fields.values()) + raw[FIELDS.size :]
    return base64.urlsafe_b64encode(forged).rstrip(b"=").decode()


BROKEN = {
    "cut off": lambda app, true: true[:-1],
    "longer": lambda app, true: true + "A",
    "padded": lambda app, true: true + "==",
    "another letter": lambda app, true: true[:-2] + ("A" if true[-2] != "A" else "B") + true[-1],
    "the same bytes, spelt otherwise": lambda app, true: true[:-1] + chr(ord(true[-1]) + 1),
    "upper case": lambda app, true: true.upper(),
    "no base64": lambda app, true: "*" * len(true),
    "not ASCII": lambda app, true: "é" * len(true),
    "another model": lambda app, true: resigned(app, true, model=2),
    "another page": lambda app, true: resigned(app, true, number=10**6),
    "another time": lambda app, true: resigned(app, true, at=now() + 1),
    "signature of zeros": lambda app, true: resigned(app, true)[:32] + "A" * (len(true) - 32),
    "SQL": lambda app, true: "' OR 1=1 --",
    "spaces around it": lambda app, true: f" {true} ",
    "a line end after it": lambda app, true: f"{true}\n",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_or_forged_id_is_refused_in_reports_and_closings(app, refused, impression, how):
    broken = BROKEN[how](app, impression)
    assert broken != impression
    told = refused("POST", "/v1/clicks", 400, "impression_invalid", json={"impression": broken, "clicks": ["a"]})
    assert "send it back exactly as rank gave it" in told
    refused("POST", f"/v1/impressions/{quoted(broken)}/close", 400, "impression_invalid", json={})


def quoted(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def test_an_id_signed_with_a_secret_that_was_never_there_has_expired(app, refused, impression):
    for stranger in (resigned(app, impression, secret=77), "A" * len(impression)):
        refused("POST", "/v1/clicks", 410, "impression_expired", json={"impression": stranger, "clicks": ["a"]})


def test_an_id_expires_a_week_after_its_window(app, refused):
    shop = app.service.registry.get("shop")
    old = app.service.impression_id(shop.id, 1, now() - int(shop.settings.window * 1000) - GRACE - 1)
    told = refused("POST", "/v1/clicks", 410, "impression_expired", json={"impression": old, "clicks": ["a"]})
    assert "too long ago" in told
    refused("POST", f"/v1/impressions/{old}/close", 410, "impression_expired", json={})


def test_an_id_of_another_service_is_refused(app, refused, tmp_path):
    with Running(tmp_path / "other.db") as other:
        other.model("shop", ["engine", "price"], page_size=3, scaling="none")
        foreign = other.rank("shop", ROWS)["impression"]
    told = refused("POST", "/v1/clicks", 400, "impression_invalid", json={"impression": foreign, "clicks": ["a"]})
    assert "its signature is wrong" in told


def test_an_id_of_a_deleted_model_is_gone(app, refused):
    app.model("short-lived", ["engine", "price"])
    page = app.rank("short-lived", ROWS)
    assert app.ask("DELETE", "/v1/models/short-lived").json() == {"deleted": "short-lived"}
    refused("POST", "/v1/clicks", 410, "model_deleted", json={"impression": page["impression"], "clicks": ["a"]})
    refused("POST", f"/v1/impressions/{page['impression']}/close", 410, "model_deleted", json={})


def test_an_id_that_is_replayed_counts_once(app):
    page = app.learn("shop", ROWS)
    weights = app.get("/v1/models/shop").json()["weights"]
    report = {"impression": page["impression"], "clicks": page["ranking"]}
    for _ in range(3):
        told = app.post("/v1/clicks", json=report).json()
        assert (told["accepted"], told["late"]) == (0, 3)
        again = app.post(f"/v1/impressions/{page['impression']}/close", json={"wait": True}).json()
        assert again["closed"] is False
    assert app.get("/v1/models/shop").json()["weights"] == weights


# Names in addresses

TRICKS = [
    "'; DROP TABLE models; --",
    "shop' OR '1'='1",
    "../../../../etc/passwd",
    "..\\..\\windows",
    "/etc/passwd",
    "%00",
    "shop%00",
    "shop\x00",
    "shop ",
    "SHOP",
    "shop.",
    "shop/",
    "shop//rank",
    "*",
    "?",
    "#",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "x" * 10_000,
    "ſhop",
    "ｓｈｏｐ",
    "\u202eshop",
    "🛍",
    "shop\r\nx-injected: 1",
    ".",
    "..",
    "-1",
    "__proto__",
]


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_a_name_that_is_no_model_is_not_found_anywhere(refused, app, trick):
    name = quoted(trick)
    for route in ENDPOINTS:
        if "{model}" in route.path:
            path = route.path.format(model=name, version=0, challenger="other")
            told = refused(route.method, path, 404, content=b"{}" if route.method == "POST" else None)
            assert "x-injected" not in told or "\n" not in told
    for path in ("/ubi/queries", "/ubi/events"):
        refused("GET", path, 404, "no_such_model", params={"model": trick})


@pytest.mark.parametrize("trick", [*(t for t in TRICKS if t not in ("SHOP", "shop.")), "", "a" * 65, "_x", "a b", "é"])
def test_no_model_can_be_called_so(refused, trick):
    told = refused("POST", "/v1/models", 422, json={"name": trick, "features": 2})
    assert "name must be 1 to 64 letters" in told


@pytest.mark.parametrize("trick", TRICKS[:10])
def test_hostile_texts_are_texts_and_come_back_as_they_were(app, trick):
    page = app.rank("shop", {trick: [1.0, 2.0], "b": [0.0, 0.0]}, query=trick, client=trick, pinned={trick: 1})
    assert page["ranking"] == [trick, "b"]
    told = app.post("/v1/clicks", json={"impression": page["impression"], "clicks": [trick, f"{trick}?"]}).json()
    assert (told["accepted"], told["unknown"]) == (1, [f"{trick}?"])
    [query] = app.get(f"/ubi/queries?model=shop&limit=1&after={app.service.store.last_offset() - 2}").json()["queries"]
    assert query["user_query"] == trick


def test_a_name_in_an_error_is_cut_short_however_long_it_is(refused):
    assert len(refused("POST", f"/v1/models/{'x' * 50_000}/rank", 404, content=b"{}")) < 200
