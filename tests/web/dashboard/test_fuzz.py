"""Whatever is asked of the pages, by whichever method, with whichever headers, is answered, and never with a fault."""

import itertools

import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from tests.live.http.running import Running

from rankloop.live.keys import create_key
from rankloop.live.service import now
from rankloop.web.dashboard import add_dashboard
from rankloop.web.demo.pages import _WHO
from rankloop.web.site import SESSION

pytestmark = [pytest.mark.xdist_group("web-fuzz"), pytest.mark.slow]

WORDS = ["", "/", "[", "]", "http://[", "[::1", "127.evil.example", "localhost", "a" * 300, "\x7f", "é", "%", "%00",
         "..", "\\", "null", "shop", "pause", "roll-back", "learning.json", "0", "-1", "9" * 30, "1e9", "gzip",
         "cross-site", "none", "rl_" + "x" * 43, "=", "&", ";", '"', "http://localhost", "//evil.example",
         "/sign-in"]  # fmt: skip
NAMES = ["host", "origin", "cookie", "accept-encoding", "hx-request", "hx-current-url", "sec-fetch-site", "x-token",
         "content-type", "content-length", "authorization", "referer", "range", "if-none-match"]  # fmt: skip
PLACES = ["/", "/models", "/models/{}", "/models/{}/live", "/models/{}/snapshots", "/models/{}/charts/{}",
          "/models/{}/act/{}", "/sign-in", "/sign-out", "/static/{}", "/static/vendor/{}", "/{}"]  # fmt: skip
COOKIES = [SESSION, _WHO, "", "x"]
METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "X"]

# What can stand in a header: the parser lets no line end and no NUL through.
anything = st.text(st.characters(max_codepoint=255, exclude_characters="\0\r\n"), max_size=40)
words = st.one_of(st.sampled_from(WORDS), anything, st.lists(st.sampled_from(WORDS), max_size=3).map("".join))


@st.composite
def asked(draw):
    """A request to one of the pages, or near one: (method, path, query, headers, body)."""
    place = draw(st.sampled_from(PLACES))
    path = place.format(*(draw(words) for _ in range(place.count("{}"))))
    names = draw(st.lists(st.sampled_from(NAMES), max_size=5))
    headers = [(name.encode(), draw(words).encode("latin-1")) for name in names]
    if draw(st.booleans()):
        cookie = f"{draw(st.sampled_from(COOKIES))}={draw(words)}"
        headers.append((b"cookie", cookie.encode("latin-1")))
    query = "&".join(
        f"{draw(st.sampled_from(['next', 'over', 'version', 'done', '']))}={draw(words)}" for _ in range(2)
    )
    body = draw(st.one_of(st.binary(max_size=60), words.map(lambda word: f"key={word}&next={word}&token=".encode())))
    return draw(st.sampled_from(METHODS)), path, query.encode("latin-1"), headers, body


@pytest.fixture(scope="module", params=["open", "closed"])
def pages(request, tmp_path_factory):
    """A service with its dashboard, without keys and with one."""
    with Running(tmp_path_factory.mktemp("fuzz") / "log.db") as app:
        app.model("shop", 2, scaling="none")
        add_dashboard(app.app)
        if request.param == "closed":
            create_key(app.service.store, "key", ["admin"], now())
            app.app.keys.refresh()
        yield app


async def answer(app, method, path, query, headers, body):
    """The status and the headers that come back."""
    sent = []
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method, "path": path, "raw_path": path.encode(), "query_string": query, "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip
    messages = itertools.chain(
        [{"type": "http.request", "body": body, "more_body": False}], itertools.repeat({"type": "http.disconnect"})
    )

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[0]["headers"]


@seed(1)
@settings(
    max_examples=400, database=None, derandomize=False, phases=[Phase.explicit, Phase.generate], deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@example(("GET", "/static/" + "a" * 300, b"", [(b"host", b"localhost")], b""))
@example(("POST", "/sign-in", b"", [(b"origin", b"http://[")], b"key=x"))
@example(("GET", "/", b"", [(b"host", b"[")], b""))
@example(("GET", "/", b"", [(b"hx-request", b"true"), (b"hx-current-url", b"http://[")], b""))
@given(request=asked())
def test_whatever_is_asked_of_a_page_is_answered(pages, request):
    status, headers = pages.run(answer(pages.app, *request))
    assert 200 <= status < 500, request
    assert (b"x-content-type-options", b"nosniff") in headers
