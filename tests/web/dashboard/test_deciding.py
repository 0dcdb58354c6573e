"""Forms that decide: they call what the API calls, are refused as forms of others are, and say what is wrong."""

import re

import httpx
import pytest
from tests.patience import PATIENCE, wait_until

from .running import make_model, make_past, running, shop

pytestmark = pytest.mark.xdist_group("dashboard-pages")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    def prepare(store):
        make_past(store, shop(), minutes=2, per_minute=3)
        make_model(store, shop("rival"))
        make_model(store, shop("other", features=("engine", "b")))

    address = str(tmp_path_factory.mktemp("deciding") / "log.db")
    with running(address, prepare=prepare) as service, httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        yield client


def token(site):
    return re.search(r'name="token" value="([0-9a-f]+)"', site.get("/new").text)[1]


def test_a_form_without_its_token_makes_nothing(site):
    fields = {"name": "mine", "features": "a", "page_size": "10", "control": "5", "window": "30"}
    assert site.post("/new", data=fields).status_code == 403
    for address in ("/models/shop/experiments", "/models/shop/experiments/stop", "/models/shop/replay"):
        assert site.post(address, data={"share": "10"}).status_code == 403
    assert site.get("/v1/models/mine").status_code == 404


def test_a_model_is_made_once_and_the_form_keeps_what_was_typed(site):
    fields = {"name": "made", "features": "a, b", "page_size": "10", "control": "5", "window": "30"}
    answer = site.post("/new", data=fields | {"token": token(site)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/models/made/connect?done=new")
    assert site.get("/v1/models/made").json()["features"] == ["a", "b", "_incoming"]
    again = site.post("/new", data=fields | {"token": token(site)})
    assert again.status_code == 409
    assert "&#39;made&#39;" in again.text
    assert ">a, b</textarea>" in again.text


def test_only_models_with_the_same_pages_can_be_compared(site):
    text = site.get("/models/shop/experiments").text
    assert 'name="arm:rival"' in text
    assert 'name="arm:other"' not in text


def test_an_experiment_has_the_engines_order_first_whatever_was_ticked_first(site):
    fields = {"arm:rival": "on", "arm:learned": "on", "arm:incoming": "on", "share": "50", "token": token(site)}
    assert site.post("/models/shop/experiments", data=fields).status_code == 303
    [report] = site.get("/v1/models/shop/experiments").json()["experiments"]
    assert [arm["name"] for arm in report["arms"]] == ["incoming", "rival", "learned"]
    assert report["share"] == 0.5
    again = site.post("/models/shop/experiments", data=fields)
    assert again.status_code == 409
    assert "stop it first" in again.text
    assert site.post("/models/shop/experiments/stop", data={"token": token(site)}).status_code == 303
    assert site.get("/v1/models/shop/experiments").json()["experiments"][0]["stopped"]
    assert site.post("/models/shop/experiments/stop", data={"token": token(site)}).status_code == 409


def test_other_models_are_folded_away_and_a_challenger_of_this_one_is_not(site):
    """A service with many models had a page of boxes to tick."""
    fields = {"learner": "PDGD", "name": "bold", "token": token(site)}
    assert site.post("/models/shop/challengers", data=fields).status_code == 303
    text = site.get("/models/shop/experiments").text
    folded = text.index('<details id="other-models">')
    assert text.index('name="arm:learned"') < text.index('name="arm:bold"') < folded < text.index('name="arm:rival"')
    assert site.post("/models/shop/challengers/bold/drop", data={"token": token(site)}).status_code == 303


def test_too_few_arms_are_refused_in_words(site):
    answer = site.post("/models/shop/experiments", data={"arm:learned": "on", "share": "10", "token": token(site)})
    assert answer.status_code == 422
    assert "2 to 8 different ones" in answer.text


def test_a_challenger_is_started_shown_and_dropped_or_promoted_when_that_is_confirmed(site):
    fields = {"learner": "PDGD", "name": "bold", "token": token(site)}
    assert site.post("/models/shop/challengers", data=fields).status_code == 303
    text = site.get("/models/shop/experiments").text
    report = site.get("/v1/models/shop/challengers/bold").json()
    assert report["changes"]["learner"]["learner"] == "PDGD"
    assert 'href="/models/bold"' in text
    assert 'placeholder="shop-2"' in text
    assert "Challenger of shop" in site.get("/").text
    for action, word in (("drop", "forgotten"), ("promote", "takes the model’s place")):
        assert word in site.get(f"/models/shop/challengers/bold/{action}").text
    assert site.get("/models/shop/challengers/bold/marry").status_code == 404
    assert site.get("/models/shop/challengers/nobody/drop").status_code == 404
    assert site.post("/models/shop/challengers/bold/drop", data={}).status_code == 403
    assert site.post("/models/shop/challengers/bold/drop", data={"token": token(site)}).status_code == 303
    assert site.get("/v1/models/shop/challengers").json()["challengers"] == []
    wrong = site.post("/models/shop/challengers", data=fields | {"learner": "Nobody", "token": token(site)})
    assert wrong.status_code == 422


def test_a_challenger_that_cannot_be_judged_by_the_log_alone_is_interleaved_with_one_button(site):
    for name in ("", "brave"):  # the first has the name that is suggested
        fields = {"learner": "PDGD", "name": name, "token": token(site)}
        assert site.post("/models/shop/challengers", data=fields).status_code == 303
    wait_until(
        lambda: not site.get("/v1/models/shop/challengers/brave").json()["behind"], "the challenger has caught up"
    )
    text = site.get("/models/shop/experiments").text
    assert 'placeholder="shop-3"' in text
    form = text.partition('id="interleave-brave"')[0].rpartition("<form")[2]
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]+)"', form))
    assert site.post("/models/shop/experiments", data=fields).status_code == 303
    [running] = [one for one in site.get("/v1/models/shop/experiments").json()["experiments"] if one["stopped"] is None]
    assert ([arm["name"] for arm in running["arms"]], running["share"]) == (["learned", "brave"], 0.1)
    assert 'id="interleave-' not in site.get("/models/shop/experiments").text
    assert site.post("/models/shop/experiments/stop", data={"token": token(site)}).status_code == 303
    for name in ("shop-2", "brave"):
        assert site.post(f"/models/shop/challengers/{name}/drop", data={"token": token(site)}).status_code == 303


def test_without_a_control_group_the_overview_says_what_the_experiment_says(site):
    """Its own page said “Not clear yet”, and its card “Not measured”."""
    assert site.post("/v1/models", json={"name": "bare", "features": 1, "guards": {"control": 0}}).status_code == 201
    assert "Not measured" in site.get("/").text
    assert site.post("/v1/models/bare/experiment", json={}).status_code == 200
    assert "Not measured" not in site.get("/").text
    assert "Nothing to say yet: no page has been interleaved." in site.get("/").text
    assert site.delete("/v1/models/bare").status_code == 200


def test_history_has_a_decision_as_soon_as_it_is_made(site):
    for action, told in (("pause", "Paused learning"), ("resume", "Resumed learning")):
        assert site.get("/models/shop/history").status_code == 200  # what was read a moment ago must not stand in
        assert site.post(f"/models/shop/act/{action}", data={"token": token(site)}).status_code == 303
        assert re.search(r"<li><div><strong>(.*?)</strong>", site.get("/models/shop/history").text)[1] == told
