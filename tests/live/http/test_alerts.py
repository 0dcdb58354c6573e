"""Alerts over HTTP, in Prometheus' text, and from the client."""

import pytest

from rankloop.client import Client
from rankloop.live.watching import Watch


def test_alerts_are_listed_those_that_last_first(app):
    assert app.get("/v1/models/shop/alerts").json() == {"alerts": []}
    model = app.service.registry.get("shop")
    watch: Watch = app.service.folds()[model.id].watch
    watch.begin("missing", 5, "price")
    watch.begin("worse", 6)
    watch.end("worse", 7)
    try:
        first, second = app.get("/v1/models/shop/alerts").json()["alerts"]
        assert (first["kind"], first["subject"], first["started"], first["ended"]) == ("missing", "price", 5, None)
        assert (second["kind"], second["ended"]) == ("worse", 7)
        app.service.alarms.look()
        text = app.get("/metrics").text
        assert 'rankloop_alert{kind="missing",model="shop",subject="price"} 1.0' in text
        assert 'kind="worse"' not in text
    finally:
        watch.periods = []


def test_the_client_asks_for_the_same():
    with Client("http://127.0.0.1:1") as client, pytest.raises(Exception, match="cannot be reached"):
        client.alerts("shop")
