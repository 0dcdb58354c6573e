"""Experiments over HTTP: start, read, stop, and what Prometheus sees."""

import pytest

from rankloop.client import Client, RefusedError

from .conftest import ROWS

pytestmark = pytest.mark.xdist_group("live-http-bad")


def test_an_experiment_is_started_read_counted_and_stopped(app, refused):
    app.model("tried", ["engine", "price"], page_size=3, scaling="none")
    begun = app.post("/v1/models/tried/experiment", json={"share": 1.0}).json()
    assert (begun["pages"], begun["share"], begun["stopped"]) == (0, 1.0, None)
    assert refused("POST", "/v1/models/tried/experiment", 409, "experiment_running")
    page = app.rank("tried", ROWS)
    assert page["group"] == "interleaved"
    app.post("/v1/clicks", json={"impression": page["impression"], "clicks": page["ranking"], "close": True})
    app.learn("tried", ROWS)
    [found] = app.get("/v1/models/tried/experiments").json()["experiments"]
    assert (found["id"], found["pages"]) == (begun["id"], 2)
    text = app.get("/metrics").text
    assert f'rankloop_interleaved_pages_total{{experiment="{begun["id"]}",model="tried"}} 2.0' in text
    assert 'arm="incoming"' in text
    assert app.post("/v1/models/tried/experiment/stop").json()["stopped"] >= begun["started"]
    assert refused("POST", "/v1/models/tried/experiment/stop", 409, "no_experiment")
    assert app.rank("tried", ROWS)["group"] == "learned"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"arms": ["learned"]}, "2 to 8 different ones"),
        ({"arms": ["learned", "shop-2"]}, "there is no model 'shop-2'"),
        ({"share": 0}, "share must be"),
        ({"share": 2}, "share must be"),
        ({"size": 0.1}, "size"),
    ],
)
def test_what_cannot_be_compared_is_refused(refused, body, sentence):
    assert sentence in refused("POST", "/v1/models/shop/experiment", 422, "invalid_request", json=body)


def test_the_client_asks_for_the_same():
    with Client("http://127.0.0.1:1") as client:
        for ask in (client.start_experiment, client.experiments, client.stop_experiment):
            with pytest.raises(Exception, match="cannot be reached") as raised:
                ask("shop")
            assert not isinstance(raised.value, RefusedError)
