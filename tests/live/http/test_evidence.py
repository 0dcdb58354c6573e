"""Actions, queries and segments over HTTP, from Python and from UBI, and what Prometheus sees."""

import pytest

from .conftest import ROWS
from .test_ubi import event, fates

pytestmark = pytest.mark.xdist_group("live-http-bad")

SHOP = {"click": 0.2, "add_to_cart": 0.5, "purchase": 1}


@pytest.fixture(scope="module")
def valued(app):
    app.model("valued", ["engine", "price"], page_size=3, scaling="none", actions=SHOP)
    return "valued"


def counts(app, model):
    return {
        one["name"]: (one["count"], one["late"]) for one in app.get(f"/v1/models/{model}/actions").json()["actions"]
    }


def close(app, page):
    assert app.post(f"/v1/impressions/{page['impression']}/close", json={"wait": True}).status_code == 200


def test_what_happened_is_reported_by_name_and_told_apart(app, valued, refused):
    page = app.rank(valued, ROWS, query="desk", segment="phone", client="somebody")
    first, second = page["ranking"][:2]
    done = [{"id": first, "action": "purchase"}, {"id": second, "action": "add_to_cart"}]
    answer = app.post("/v1/clicks", json={"impression": page["impression"], "clicks": [first], "actions": done}).json()
    assert answer["accepted"] == 3
    assert "taken_late" not in answer
    close(app, page)
    assert counts(app, valued) == {"click": (1, 0), "add_to_cart": (1, 0), "purchase": (1, 0)}
    answer = app.post(
        "/v1/clicks", json={"impression": page["impression"], "actions": [{"id": second, "action": "purchase"}]}
    )
    assert (answer.json()["late"], answer.json()["taken_late"]) == (1, 1)
    close(app, app.rank(valued, ROWS))  # whoever waits for this has waited for that
    assert counts(app, valued)["purchase"] == (2, 1)
    assert 'rankloop_actions_total{action="purchase",model="valued"} 2.0' in app.get("/metrics").text
    said = refused(
        "POST", "/v1/clicks", 422, "invalid_request",
        json={"impression": page["impression"], "actions": [{"id": first, "action": "buy"}]},
    )  # fmt: skip
    assert "no action 'buy'; its actions are click, add_to_cart, purchase" in said
    assert "actions" in refused("POST", "/v1/clicks", 422, json={"impression": page["impression"]})


def test_queries_and_segments_are_answered(app, valued):
    close(app, app.rank(valued, ROWS, query="lamp", segment="phone", client="anna"))
    queries = app.get(f"/v1/models/{valued}/queries?limit=3").json()
    assert (queries["queries"], queries["clients"]) == ([], 5)
    assert queries["unnamed"] >= 1
    segments = app.get(f"/v1/models/{valued}/segments").json()
    assert segments["other"]["pages"] >= 1
    assert app.get(f"/v1/models/{valued}/queries?limit=0").status_code == 422
    long = app.post(f"/v1/models/{valued}/rank", json={"candidates": [], "segment": "x" * 65})
    assert long.status_code == 422


def test_ubi_events_are_actions_by_their_names(app, valued):
    page = app.rank(valued, ROWS)
    mine, first = page["impression"], page["ranking"][0]
    before = counts(app, valued)
    asked = {
        "accepted": event(mine, first, "add_to_cart"),
        "duplicate": event(mine, first, "add_to_cart", rankloop_reward=0.9),
        "other_action": event(mine, first, "click_through"),
        "not_shown": event(mine, "elsewhere", "purchase"),
    }
    assert fates(app, *asked.values()) == list(asked)
    close(app, page)
    assert fates(app, event(mine, first, "purchase")) == ["late"]
    close(app, app.rank(valued, ROWS))
    after = counts(app, valued)
    assert after["add_to_cart"][0] == before["add_to_cart"][0] + 1
    assert after["purchase"] == (before["purchase"][0] + 1, before["purchase"][1] + 1)
