"""Pages load nothing from elsewhere, and only a form of this site may act."""

import asyncio
import gzip
import re

import pytest
from jinja2 import DictLoader
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from rankloop import __version__
from rankloop.live.errors import RequestError
from rankloop.web import site as sites
from rankloop.web.assets import address_of, assets
from rankloop.web.site import FORM_BYTES, HEADERS, Site

LOCAL = "http://localhost"


@pytest.fixture
def acted():
    return []


@pytest.fixture
def client(acted):
    pages = Starlette()
    site = Site(pages)

    async def show(request):
        return PlainTextResponse("shown")

    async def fail(request):
        raise RequestError("no_such_model", "there is no model 'shop'")

    async def act(request, fields):
        acted.append(fields)
        return PlainTextResponse("done")

    site.get("/page", show)
    site.get("/trouble", fail)
    site.post("/act", act)
    return TestClient(pages, base_url=LOCAL)


def token(client):
    return re.search(r'name="token" value="([0-9a-f]+)"', client.get("/sign-in").text)[1]


def test_every_answer_has_the_headers_that_forbid_everything_else(client):
    for answer in (client.get("/page"), client.get("/trouble"), client.get("/sign-in"), client.post("/act")):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_what_goes_wrong_is_a_page_that_says_so(client):
    answer = client.get("/trouble")
    assert answer.status_code == 404
    assert "There is no model &#39;shop&#39;." in answer.text


def test_a_form_of_this_site_acts_once_it_has_its_token(client, acted):
    assert client.post("/act", data={"name": "a", "token": token(client)}).text == "done"
    assert client.post("/act", data={"name": "b"}, headers={"x-token": token(client)}).text == "done"
    assert acted == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("headers", "wrong_token"),
    [
        ({}, "0" * 64),
        ({}, "ä"),
        ({"origin": "http://evil.example"}, None),
        ({"origin": "null"}, None),
        ({"sec-fetch-site": "cross-site"}, None),
    ],
)
def test_a_form_of_another_site_is_refused(client, acted, headers, wrong_token):
    given = wrong_token or token(client)
    assert client.post("/act", data={"token": given}, headers=headers).status_code == 403
    assert acted == []


def test_a_token_is_of_one_session(client, acted):
    stolen = token(client)
    client.cookies.clear()
    assert client.post("/act", data={"token": stolen}).status_code == 403
    assert acted == []


def test_a_form_that_is_too_large_or_no_form_is_refused(client, acted):
    known = {"x-token": token(client)}
    assert client.post("/act", content=b"a=" + b"b" * FORM_BYTES, headers=known).status_code == 413
    assert client.post("/act", content=b"a=\xff", headers=known).status_code == 400
    assert acted == []


def test_a_form_whose_sender_hangs_up_is_no_fault_of_ours(client):
    sent = []

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/sign-in", "query_string": b"", "headers": [(b"host", b"localhost")],
        "http_version": "1.1", "scheme": "http",
    }  # fmt: skip
    asyncio.run(client.app(scope, gone, send))
    assert sent[0]["status"] == 400


def test_without_keys_pages_are_for_local_names(client):
    assert client.get("/page").text == "shown"
    answer = client.get("/page", headers={"host": "evil.example"})
    assert answer.status_code == 403
    assert "shown" not in answer.text


@pytest.mark.parametrize(
    ("address", "inside"),
    [(None, "/"), ("", "/"), ("/models/shop", "/models/shop"), ("//evil.example", "/"), ("/\\evil.example", "/"),
     ("http://evil.example", "/")],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(address, inside):
    assert sites._inside(address) == inside


def test_a_file_may_be_kept_for_ever_under_an_address_that_changes_with_it(client):
    address = address_of("dashboard.js")
    plain = client.get(address, headers={"accept-encoding": "identity"})
    zipped = client.get(address, headers={"accept-encoding": "gzip"})
    assert plain.headers["content-type"].startswith("text/javascript")
    assert "immutable" in plain.headers["cache-control"]
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.content == plain.content == gzip.decompress(assets()["dashboard.js"].zipped)


@pytest.mark.parametrize("name", [
    "../site.py", "..%2fsite.py", "nothing.css", "", "a//b", "..\\site.py", "a" * 300, "vendor", "a/" * 300, "%00",
    "rankloop.css/a",
])  # fmt: skip
def test_only_the_sites_own_files_are_given(client, name):
    answer = client.get(f"/static/{name}")
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_the_footer_names_the_release_whatever_a_page_calls_a_version(client):
    """A page about version 8212 of a model once said “rankloop 8212”, and one about none “rankloop None”."""
    for name in ("None", 8212):
        pages = Starlette()
        site = Site(pages, templates=DictLoader({"one.html": '{% extends "layout.html" %}'}))

        async def show(request, site=site, name=name):
            return site.page(request, "one.html", title="One", version=name)

        site.get("/page", show)
        text = TestClient(pages, base_url=LOCAL).get("/page").text
        assert f'<footer class="site">rankloop {__version__}</footer>' in text
