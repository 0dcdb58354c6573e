"""What each address does: the life of a model, from its dry run to its end."""

import sqlite3

import pytest

from rankloop.live.events import Kind
from rankloop.web.dashboard.recent import newest_pages

from .conftest import ROWS
from .running import Running

pytestmark = pytest.mark.xdist_group("live-http-bad")


def test_a_dry_run_makes_nothing_and_a_new_model_says_where_it_begins(app):
    settings = {"name": "new", "features": ["engine"], "start": {"from": "incoming", "feature": "engine"}}
    dry = app.post("/v1/models?dry_run=true", json=settings)
    assert dry.status_code == 200
    assert app.get("/v1/models/new").status_code == 404
    made = app.post("/v1/models", json=settings)
    assert made.status_code == 201
    assert made.json()["start"] == dry.json()["start"]
    assert app.ask("DELETE", "/v1/models/new").json() == {"deleted": "new"}
    assert "new" not in [model["name"] for model in app.get("/v1/models").json()["models"]]


def test_one_report_is_answered_as_one_and_many_as_many(app):
    page = app.rank("shop", ROWS)
    report = {"impression": page["impression"], "clicks": page["ranking"][:1]}
    assert app.post("/v1/clicks", json=report).json()["accepted"] == 1
    [again] = app.post("/v1/clicks", json={"reports": [report]}).json()["results"]
    assert (again["accepted"], again["duplicate"]) == (0, 1)


def test_a_kept_state_is_a_file_to_save_and_can_be_returned_to(app):
    kept = app.get("/v1/models/shop/snapshots/0")
    assert kept.headers["content-disposition"] == 'attachment; filename="shop-0.snapshot.json"'
    assert kept.json()["weights"] == [0.0, 0.0, 1.0]
    moved = app.get("/v1/models/shop/compare?from=0&to=2").json()
    assert (moved["from"], moved["to"], moved["learned_between"]) == (0, 2, 2)
    assert app.post("/v1/models/shop/roll-back", json={"version": 0}).json()["weights"] == [0.0, 0.0, 1.0]
    assert app.post("/v1/models/shop/roll-back", json={"version": 2}).json()["weights"] != [0.0, 0.0, 1.0]


def test_decisions_are_answered_with_the_model_as_it_is_then(app):
    modes = [app.post(f"/v1/models/shop/{action}").json()["mode"] for action in ("pause", "freeze", "resume")]
    assert modes == ["paused", "frozen", "learning"]


def test_it_is_up_ready_and_counts(app):
    assert app.get("/readyz").json() == {"status": "ok", "trouble": []}
    assert app.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def test_pages_that_cannot_be_read_any_more_are_no_error_of_ours(tmp_path):
    rows = {name: [float(place), 1.0] for place, name in enumerate("abcde")}
    with Running(tmp_path / "log.db") as app:
        app.model("shop", page_size=3)
        app.learn("shop", rows)
        still_open = app.rank("shop", rows)
    with sqlite3.connect(tmp_path / "log.db") as connection:
        kinds = ", ".join(str(int(kind)) for kind in (Kind.SHOWN, Kind.CLICKED, Kind.CLOSED))
        assert connection.execute(f"UPDATE events SET body = x'c1' WHERE kind IN ({kinds})").rowcount == 4
    connection.close()
    with Running(tmp_path / "log.db") as app:
        report = {"impression": still_open["impression"], "clicks": ["a"]}
        assert app.post("/v1/clicks", json=report).json()["unknown"] == ["a"]
        for what in ("queries", "events"):
            answer = app.get(f"/ubi/{what}?model=shop")
            assert (answer.status_code, answer.json()[what]) == (200, [])
        [model] = app.service.registry.all()
        assert newest_pages(app.service.store, model.id, model.settings, 10) == []
