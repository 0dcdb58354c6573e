"""A page becomes a query and its events as the standard writes them."""

import json
from datetime import timedelta

import pytest

from rankloop.errors import DataError
from rankloop.ubi import (
    Click,
    ShownPage,
    encode,
    events_of_page,
    query_of_page,
)

from .shown import PAGE
from .strategies import NOON


def test_a_page_is_one_query_and_an_event_for_every_document():
    assert json.loads(encode(query_of_page(PAGE, application="shop"))) == {
        "application": "shop",
        "query_id": "q1",
        "client_id": "c1",
        "user_query": "lamp",
        "query_attributes": {"rankloop_model": "shop@3"},
        "timestamp": "2024-05-01T12:00:00.000Z",
        "query_response_hit_ids": ["a", "b", "7"],
    }
    clicks = [Click(query_id="q1", document="b", at=NOON + timedelta(seconds=5), value=0.25)]
    *impressions, click = events_of_page(PAGE, clicks, object_id_field="sku")
    assert [(e.action_name, e.event_attributes.position.ordinal) for e in impressions] == [
        ("impression", 1), ("impression", 2), ("impression", 3),
    ]  # fmt: skip
    assert json.loads(encode(click)) == {
        "action_name": "click",
        "query_id": "q1",
        "client_id": "c1",
        "user_query": "lamp",
        "timestamp": "2024-05-01T12:00:05.000Z",
        "event_attributes": {
            "object": {"object_id": "b", "object_id_field": "sku"},
            "position": {"ordinal": 2},
            "rankloop_reward": 0.25,
        },
    }
    assert [e.action_name for e in events_of_page(PAGE, clicks, impressions=False)] == ["click"]


@pytest.mark.parametrize("click", [{"document": "z"}, {"query_id": "q2"}])
def test_a_click_on_something_else_is_not_written(click):
    wrong = Click(**({"query_id": "q1", "document": "a", "at": NOON} | click))
    with pytest.raises(DataError, match="cannot have a click"):
        list(events_of_page(PAGE, [wrong]))


def test_what_is_too_long_for_ubi_is_refused_when_written():
    page = ShownPage(query_id="q" * 101, query="", documents=("a",), at=NOON)
    with pytest.raises(DataError, match="query_id must have at most 100"):
        query_of_page(page)
    with pytest.raises(DataError, match="object_id must have at most 256"):
        list(events_of_page(ShownPage(query_id="q", query="", documents=("d" * 257,), at=NOON)))
