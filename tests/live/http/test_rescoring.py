"""Ranking for a search engine over HTTP: its hits, or a batch from its search pipeline."""

import pytest

from rankloop.interchange.connecting import Connection, connector, live_model

from ..test_hits import HITS

pytestmark = pytest.mark.xdist_group("live-http-rescoring")


@pytest.fixture(scope="module")
def shop(app):
    """A model made with the settings that `rankloop connect` writes."""
    given = Connection.of("hits", "http://localhost:8080", ["_score", "price", "title=match:title"], "id", None)
    settings = live_model(given) | {"guards": {"control": 0}, "page_size": 2, "seed": 1}
    assert app.post("/v1/models", json=settings).status_code == 201
    return "hits"


def test_hits_come_back_with_numbers_to_sort_them_by_and_clicks_are_learned_from(app, shop):
    answer = app.post(f"/v1/models/{shop}/rescore", json={"hits": HITS, "query": "table", "client": "ann"}).json()
    assert sorted(answer["scores"]) == [1.0, 2.0]
    assert answer["ranking"] == [HITS[place]["_id"] for place in sorted((0, 1), key=lambda i: -answer["scores"][i])]
    report = {"impression": answer["impression"], "clicks": answer["ranking"][:1], "close": True}
    assert app.post("/v1/clicks", json=report).json()["accepted"] == 1


def test_a_batch_fills_the_template_of_the_connector(app, shop):
    """ML Commons puts lists into the connector's body as JSON; what comes out is what the service takes."""
    given = Connection.of(
        shop, "http://localhost:8080", ["_score", "price"], "sku", "$._request.query.match.name.query"
    )
    body = connector(given)["actions"][0]["request_body"]
    filled = {"id": '["a", "b"]', "engine_score": "[1.5, 2.5]", "price": "[9, 8]", "query": '["oak", "oak"]'}
    for name, value in filled.items():
        body = body.replace(f"${{parameters.{name}}}", value)
    assert "${" not in body
    answer = app.post(f"/v1/models/{shop}/rescore", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert sorted(answer.json()["scores"]) == [1.0, 2.0]


def test_a_search_without_results_is_an_empty_page(app, shop):
    answer = app.post(f"/v1/models/{shop}/rescore", json={"hits": []})
    assert answer.status_code == 200
    assert (answer.json()["scores"], answer.json()["impression"]) == ([], None)
    for body in ({"candidates": []}, {"ids": [], "matrix": ""}, {"candidates": [], "rest": True}):
        told = app.post(f"/v1/models/{shop}/rank", json=body).json()
        assert (told["ranking"], told["group"], told["reason"]) == ([], "fallback", "there was nothing to rank")


def test_a_missing_feature_is_named(app):
    app.model("strict", ["price", "age"])
    answer = app.post("/v1/models/strict/rescore", json={"hits": HITS})
    assert answer.status_code == 422
    assert "candidate 'oak': feature 'age' is missing" in answer.json()["error"]["message"]
