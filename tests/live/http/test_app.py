"""Addresses and methods: what is there answers, and what is not is said in one sentence."""

import pytest

from rankloop.live.http.app import ENDPOINTS

pytestmark = pytest.mark.xdist_group("live-http-bad")


# Methods


@pytest.mark.parametrize("path", sorted({route.path for route in ENDPOINTS}))
def test_other_methods_are_refused_with_those_there_are(app, refused, path):
    there = {route.method for route in ENDPOINTS if route.path == path}
    allowed = there | {"OPTIONS"} | ({"HEAD"} if "GET" in there else set())
    address = path.format(model="shop", version=0, impression="x", challenger="shop-2")
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} - there:
        said = refused(method, address, 405, "method_not_allowed")
        assert all(method in said for method in there), said
        assert set(app.ask(method, address).headers["allow"].split(", ")) == allowed
    asked = app.ask("OPTIONS", address)
    assert (asked.status_code, set(asked.headers["allow"].split(", "))) == (204, allowed)
    assert not [name for name in asked.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/models", "/v1/models/shop", "/openapi.json"])
def test_head_is_get_without_a_body(app, path):
    head, get = app.ask("HEAD", path), app.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/models/", "/v2/models", "//v1/models", "/V1/models", "/v1/models/shop/rank/",
             "/docs", "/redoc", "/.env", "/v1/models/shop/export/../../..", "/v1%2Fmodels", "/v1/models%2fshop"],
)  # fmt: skip
def test_where_there_is_nothing_the_answer_says_so(refused, path):
    assert "/openapi.json lists what there is" in refused("GET", path, 404, "no_such_address")


def test_a_slash_in_disguise_does_not_get_past_what_stands_in_front(refused):
    for path in ("/v1%2Fclicks", "/v1/models/shop%2Frank", "/v1/models%2Fshop/rank", "/ubi%2fevents"):
        refused("POST", path, 404, "no_such_address", content=b"{}")
