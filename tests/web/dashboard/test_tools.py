"""Into the engine and out of it from a page: what is shown is what the API and the commands give."""

import re

import httpx
import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.interchange.connecting import Connection, connection_files
from rankloop.web.dashboard import tools

from .running import make_past, running, shop

pytestmark = pytest.mark.xdist_group("dashboard-pages")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    address = str(tmp_path_factory.mktemp("tools") / "log.db")
    past = lambda store: make_past(store, shop(), minutes=10, per_minute=6)  # noqa: E731
    with running(address, prepare=past) as service, httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        yield client


def test_the_requests_shown_are_those_of_the_command_without_the_model_that_is_there(site):
    text = site.get("/models/shop/connect?engine=opensearch&url=http://rankloop:8080").text
    features = [f"{name}=field:{name}" for name in ("engine", "freshness", "price", "rating")]
    files = connection_files("opensearch", Connection.of("shop", "http://rankloop:8080", features, "id", None))
    assert [name for name in files if f">{name}</span>" in text] == list(files)[1:]
    assert len(files) == 7


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("engine=solr", "the engine is opensearch or elasticsearch"),
        ("engine=opensearch&url=nowhere", "address is such as"),
        ("engine=opensearch&features=a+b", "a feature is a name"),
    ],
)
def test_what_cannot_be_connected_is_said(site, query, sentence):
    answer = site.get(f"/models/shop/connect?{query}")
    assert answer.status_code == 200
    assert sentence in answer.text


@pytest.mark.parametrize("form", list(tools.FORMATS))
def test_a_download_is_the_file_of_the_api(site, form):
    mine, api = site.get(f"/models/shop/export/{form}"), site.get(f"/v1/models/shop/export?format={form}")
    assert mine.content == api.content
    assert mine.headers["content-disposition"] == api.headers["content-disposition"]
    check = site.get(f"/v1/models/shop/export-check?format={form}").json()
    text = site.get(f"/models/shop/export?format={form}").text
    assert f"Measured on {check['orders']['pages']} logged pages" in text
    assert "choose one of" in site.get("/models/shop/export?format=x").text


def token(site):
    return re.search(r'name="token" value="([0-9a-f]+)"', site.get("/models/shop/replay").text)[1]


def replayed(site, learner):
    answer = site.post("/models/shop/replay", data={"learner": learner, "token": token(site)})
    assert answer.status_code == 303
    wait_until(lambda: "Replaying with" not in site.get("/models/shop/replay").text, "the replay to end")
    return site.get("/models/shop/replay").text


def test_a_replay_says_what_another_method_would_have_learned(site):
    own = site.get("/v1/models/shop").json()["learner"]["learner"]
    [offered] = re.findall(r"<option selected>(\w+)<", site.get("/models/shop/replay").text)
    assert offered != own  # that would tell nothing new
    text = replayed(site, "Posterior")
    assert '<section class="card" aria-label="Replay">' in text
    assert "Posterior:" in text
    assert "flattered by having learned from them" in text
    assert site.post("/models/shop/replay", data={"learner": "Nobody", "token": token(site)}).status_code == 422


def test_a_log_that_is_too_long_is_for_the_command(site, monkeypatch):
    monkeypatch.setattr(tools, "MOST_PAGES", 10)
    assert "60 closed pages are more than the 10 that a page replays" in replayed(site, "PDGD")
