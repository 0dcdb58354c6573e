"""The document is complete, true, and loads nothing from anywhere else."""

import re

import msgspec
import pytest
from jsonschema import Draft202012Validator

from rankloop.answers import Clicked, Closed, Ranked
from rankloop.live.descriptions import Comparison, Model, SnapshotDocument
from rankloop.live.http import answers
from rankloop.live.http.app import ENDPOINTS
from rankloop.live.http.openapi import REFUSALS

from .conftest import ROWS

pytestmark = pytest.mark.xdist_group("live-http-exports")


@pytest.fixture(scope="module")
def told(app):
    return app.get("/openapi.json").json()


def test_every_address_and_nothing_else_is_in_it(told):
    found = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
    assert found == {(route.method, route.path) for route in ENDPOINTS}
    names = [one["operationId"] for methods in told["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("route", ENDPOINTS, ids=lambda route: f"{route.method} {route.path}")
def test_an_address_says_all_that_one_must_know(told, route):
    one = told["paths"][route.path][route.method.lower()]
    assert one["summary"]
    within = re.findall(r"\{(\w+)\}", route.path)
    assert [p["name"] for p in one["parameters"] if p["in"] == "path"] == within
    assert all(p["schema"] for p in one["parameters"])
    assert one["security"] == ([{"key": [route.scope]}, {}] if route.scope else [])
    assert ("requestBody" in one) == (route.body is not None)
    if route.body is not None:
        assert set(one["requestBody"]["content"]) == {"application/json", "application/msgpack"}
        assert "415" in one["responses"]
    done = next(answer for status, answer in one["responses"].items() if status in ("200", "201"))
    assert done["content"]
    for status, answer in one["responses"].items():
        assert int(status) < 300 or int(status) in REFUSALS
        if int(status) >= 400 and route.name != "readyz":
            assert answer["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


def test_every_reference_leads_somewhere_and_every_schema_is_one(told):
    text = msgspec.json.encode(told).decode()
    for name in set(re.findall(r'"\$ref":"#/components/schemas/(\w+)"', text)):
        assert name in told["components"]["schemas"]
    assert "$ref" in text
    for schema in told["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_it_tells_the_limits_of_this_very_service(told, app):
    def lengths(name, field):
        schemas = told["components"]["schemas"][name]["properties"][field]["anyOf"]
        return next(one["maxItems"] for one in schemas if one["type"] == "array")

    assert lengths("RankBody", "candidates") == app.limits.candidates
    assert lengths("ClicksBody", "reports") == app.limits.items


def test_no_page_and_no_document_loads_anything_from_another_host(app, told):
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        assert app.get(path).status_code == 404
    assert not re.findall(r"https?://", msgspec.json.encode(told).decode())


# What is answered is what is described


def exactly(content, kind):
    """Whether an answer is of a type and has no field that the type does not name."""
    value = msgspec.json.decode(content, type=kind)
    given = msgspec.json.decode(content)
    assert set(given) <= {field.encode_name for field in msgspec.structs.fields(kind)}, (kind, set(given))
    return value


def test_every_answer_is_of_the_type_that_the_document_names(app):
    page = app.post(
        "/v1/models/shop/rank",
        json={"candidates": [{"id": name, "features": row} for name, row in ROWS.items()], "rest": True},
    )
    mine = exactly(page.content, Ranked).impression
    report = {"impression": mine, "clicks": ["a"]}
    exactly(app.post("/v1/clicks", json=report).content, Clicked)
    exactly(app.post("/v1/clicks", json={"reports": [report]}).content, answers.ManyClicked)
    exactly(app.post(f"/v1/impressions/{mine}/close").content, Closed)
    new = {"name": "described", "features": 2, "start": {"from": "incoming", "feature": 0}, "scaling": "running"}
    exactly(app.post("/v1/models?dry_run=true", json=new).content, answers.DryRun)
    exactly(app.post("/v1/models", json=new).content, answers.NewModel)
    for action in ("pause", "resume", "freeze", "freeze-scaling"):
        exactly(app.post(f"/v1/models/described/{action}").content, Model)
    assert len(exactly(app.get("/v1/models").content, answers.Models).models) >= 2
    exactly(app.get("/v1/models/described").content, Model)
    exactly(app.get("/v1/models/described/snapshots").content, answers.Snapshots)
    exactly(app.get("/v1/models/described/snapshots/0").content, SnapshotDocument)
    exactly(app.get("/v1/models/described/compare?from=0&to=0").content, Comparison)
    exactly(app.post("/v1/models/described/roll-back", json={"version": 0}).content, Model)
    exactly(app.post("/ubi/queries", json=[]).content, answers.UbiTaken)
    exactly(app.post("/ubi/events", json=[]).content, answers.UbiTaken)
    assert exactly(app.get("/ubi/queries?model=shop").content, answers.UbiQueries).queries
    assert exactly(app.get("/ubi/events?model=shop").content, answers.UbiEvents).events
    exactly(app.get("/healthz").content, answers.Health)
    exactly(app.get("/readyz").content, answers.Readiness)
    exactly(app.ask("DELETE", "/v1/models/described").content, answers.Deleted)
    exactly(app.get("/nowhere").content, answers.Error)
    assert {route.name for route in ENDPOINTS if route.replies[0].media} == {"export", "metrics"}
