"""Challengers over HTTP, and from the client."""

import pytest

from rankloop.client import Client, RefusedError

ROWS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.5]}


def test_a_challenger_is_started_looked_at_promoted_and_dropped(app):
    app.model("champion")
    made = app.post("/v1/models/champion/challengers", json={"learner": {"learner": "PDGD"}})
    assert made.status_code == 201
    assert made.json()["name"] == "champion-2"
    app.post("/v1/models/champion/challengers", json={"name": "scaled", "scaling": "query"})
    app.learn("champion", ROWS)
    [first, second] = app.get("/v1/models/champion/challengers").json()["challengers"]
    assert (first["name"], second["name"]) == ("champion-2", "scaled")
    assert second["changes"] == {"scaling": "query"}
    assert first["verdict"]
    assert app.get("/v1/models/champion/challengers/scaled").json()["name"] == "scaled"
    assert app.post("/v1/models/champion/challengers/scaled/promote").json()["settings"]["scaling"] == "query"
    assert app.ask("DELETE", "/v1/models/champion/challengers/champion-2").json() == {"deleted": "champion-2"}
    assert app.get("/v1/models/champion/challengers").json() == {"challengers": []}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "nothing differs from 'shop'"),
        ({"learner": {"learner": "MDPRank"}}, "MDPRank"),
        ({"page_size": 3}, "page_size"),
        ({"guards": {"control": 0.5}}, "guards.control says who sees what"),
        (
            {"learner": {"learner": "ROLTR"}, "start": {"from": "incoming", "feature": "engine", "candidates": 10**12}},
            "start: candidates must be at most 5,000, as in a request",
        ),
        ({"start": {"from": "weights", "weights": [1e308, 1e308, 0.0]}}, "start: a weight"),
    ],
)
def test_what_cannot_challenge_is_refused(app, body, sentence):
    answer = app.post("/v1/models/shop/challengers", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]["message"]


def test_one_that_is_not_there_cannot_be_promoted(refused):
    assert "has no challenger 'nobody'" in refused(
        "POST", "/v1/models/shop/challengers/nobody/promote", 404, "no_such_challenger"
    )


def test_the_client_asks_for_the_same():
    with Client("http://127.0.0.1:1") as client:
        for ask in (
            lambda: client.start_challenger("shop", scaling="query"),
            lambda: client.challengers("shop"),
            lambda: client.promote_challenger("shop", "shop-2"),
            lambda: client.drop_challenger("shop", "shop-2"),
        ):
            with pytest.raises(Exception, match="cannot be reached") as raised:
                ask()
            assert not isinstance(raised.value, RefusedError)
