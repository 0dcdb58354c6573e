"""UBI in both directions: what a collector has anyway becomes clicks, and what was shown can be read as UBI."""

from datetime import UTC, datetime

import msgspec
import pytest

from rankloop.live.http import answers
from rankloop.live.keys import create_key
from rankloop.live.service import GRACE, now
from rankloop.ubi import UbiEvent, UbiQuery, encode

from .conftest import ROWS
from .running import Running

pytestmark = pytest.mark.xdist_group("live-http-exports")

AT = "2024-05-01T12:00:00.000Z"


def event(query_id, document, action="click", **attributes):
    told = {"object": {"object_id": document}, "position": {"ordinal": 1}} | attributes
    return {"action_name": action, "timestamp": AT, "query_id": query_id, "event_attributes": told}


def fates(app, *events, **more):
    answer = app.post("/ubi/events", json=list(events), **more)
    assert answer.status_code == 200, answer.text
    told = msgspec.convert(answer.json(), answers.UbiTaken)
    assert sum(told.counts.values()) == len(events)
    return [result.fate for result in told.results]


@pytest.fixture
def page(app):
    return app.rank("shop", ROWS)


def test_every_event_is_told_its_fate(app, page):
    mine, shown = page["impression"], page["ranking"]
    gone = app.learn("shop", ROWS)["impression"]
    shop = app.service.registry.get("shop")
    old = app.service.impression_id(shop.id, 1, now() - int(shop.settings.window * 1000) - GRACE - 1)
    asked = {
        "accepted": event(mine, shown[0]),
        "duplicate": event(mine, shown[0]),
        "other_action": event(mine, shown[0], "hover"),
        "no_object": event(mine, None, object=None),
        "no_query_id": event(None, shown[0]),
        "not_ours": event("a3f1-somebody-else's", shown[0]),
        "not_shown": event(mine, "elsewhere"),
        "late": event(gone, shown[0]),
        "expired": event(old, shown[0]),
        "bad_reward": event(mine, shown[1], rankloop_reward=1.5),
    }
    assert fates(app, *asked.values()) == list(asked)
    counted = app.get("/metrics").text
    assert all(f'rankloop_events_total{{fate="{fate}",what="ubi_events"}}' in counted for fate in asked)


def test_a_purchase_or_a_basket_counts_as_a_click_and_a_graded_one_as_much_as_it_says(app, page):
    mine, shown = page["impression"], page["ranking"]
    events = [event(mine, shown[0], "purchase"), event(mine, shown[1], "add_to_cart", rankloop_reward=0.25)]
    assert fates(app, *events) == ["accepted", "accepted"]
    assert fates(app, event(mine, shown[1], rankloop_reward=0.5)) == ["contradictory"]  # and the larger one counts
    app.post(f"/v1/impressions/{mine}/close", json={"wait": True})
    out = clicks_out(app, mine)
    assert out == {shown[0]: 1.0, shown[1]: 0.5}


def clicks_out(app, impression):
    """The clicks of a page as the log tells them in UBI."""
    after, more, found = 0, True, {}
    while more:
        told = app.get(f"/ubi/events?model=shop&after={after}&limit=3").json()
        for one in told["events"]:
            if one["query_id"] == impression and one["action_name"] == "click":
                attributes = one["event_attributes"]
                found[attributes["object"]["object_id"]] = attributes.get("rankloop_reward", 1.0)
        after, more = told["next"], told["more"]
    return found


def test_learning_from_ubi_is_learning_from_clicks(app):
    for name in ("by-click", "by-ubi"):
        app.model(name, ["engine", "price"], page_size=3, scaling="none")
    for _ in range(3):
        one, other = app.rank("by-click", ROWS), app.rank("by-ubi", ROWS)
        assert one["ranking"] == other["ranking"]
        app.post("/v1/clicks", json={"impression": one["impression"], "clicks": one["ranking"][1:2]})
        assert fates(app, event(other["impression"], other["ranking"][1])) == ["accepted"]
        for made in (one, other):
            app.post(f"/v1/impressions/{made['impression']}/close", json={"wait": True})
    weights = [app.get(f"/v1/models/{name}").json()["weights"] for name in ("by-click", "by-ubi")]
    assert weights[0] == weights[1]
    assert any(weights[0])


def test_a_reward_in_an_event_counts_from_an_admin_key_alone(tmp_path):
    with Running(tmp_path / "log.db") as app:
        keys = {scope: create_key(app.service.store, scope, [scope], now()) for scope in ("rank", "click", "admin")}
        both = create_key(app.service.store, "both", ["click", "admin"], now())
        app.app.keys.refresh()
        app.key = keys["admin"]
        app.model("shop", ["engine", "price"], page_size=3)
        app.key = keys["rank"]
        page = app.rank("shop", ROWS)
        mine, shown = page["impression"], page["ranking"]
        # From a browser's collector the action alone decides: a reward of nothing would be a click unseen.
        assert fates(app, event(mine, shown[0], rankloop_reward=0.1), key=keys["click"]) == ["accepted"]
        assert fates(app, event(mine, shown[1], rankloop_reward=0.1), key=both) == ["accepted"]
        app.post(f"/v1/impressions/{mine}/close", json={"wait": True}, key=keys["click"])
        app.key = keys["admin"]
        assert clicks_out(app, mine) == {shown[0]: 1.0, shown[1]: pytest.approx(0.1)}


def test_queries_are_recognised_or_not(app, page):
    sent = [
        {"user_query": "shoes", "query_id": page["impression"]},
        {"user_query": "shoes", "query_id": "0b1f-theirs"},
        {"user_query": "shoes"},
    ]
    told = app.post("/ubi/queries", json=sent).json()
    assert [result["fate"] for result in told["results"]] == ["ours", "not_ours", "no_query_id"]
    assert app.post("/ubi/queries", json=sent[0]).json()["counts"] == {"ours": 1}


def test_pages_and_clicks_come_out_as_ubi_that_others_would_read(app):
    began = app.service.store.last_offset()
    page = app.rank("shop", ROWS, query="red shoes", client="somebody")
    mine, shown = page["impression"], page["ranking"]
    app.post("/v1/clicks", json={"impression": mine, "clicks": shown[:1], "close": True})
    told = app.get(f"/ubi/queries?model=shop&after={began}").json()
    [query] = told["queries"]
    assert (query["query_id"], query["user_query"], query["query_response_hit_ids"]) == (mine, "red shoes", shown)
    assert query["query_attributes"] == {"rankloop_model": "shop"}
    assert "somebody" not in str(told)  # who it was is a keyed hash
    assert abs(datetime.fromisoformat(query["timestamp"]).timestamp() - datetime.now(UTC).timestamp()) < 3600
    events = app.get(f"/ubi/events?model=shop&after={began}").json()["events"]
    found = [(e["action_name"], e["event_attributes"]["object"]["object_id"]) for e in events if e["query_id"] == mine]
    assert found == [*(("impression", document) for document in shown), ("click", shown[0])]
    for thing, kind in ((query, UbiQuery), *((e, UbiEvent) for e in events)):
        encode(msgspec.convert(thing, kind))  # refuses what the standard would


def test_what_comes_out_can_go_in_again(app, page):
    began = app.service.store.last_offset()
    second = app.rank("shop", ROWS)
    [query] = app.get(f"/ubi/queries?model=shop&after={began}").json()["queries"]
    assert query["query_id"] == second["impression"]
    assert fates(app, event(query["query_id"], query["query_response_hit_ids"][0])) == ["accepted"]


def test_reading_in_small_steps_gives_what_one_step_gives(app):
    whole = app.get("/ubi/queries?model=shop&limit=1000").json()
    assert (whole["more"], whole["left_out"]) == (False, 0)
    steps, after, more = [], 0, True
    while more:
        told = app.get(f"/ubi/queries?model=shop&after={after}&limit=2").json()
        steps += told["queries"]
        after, more = told["next"], told["more"]
    assert steps == whole["queries"]
    assert len(steps) > 3
