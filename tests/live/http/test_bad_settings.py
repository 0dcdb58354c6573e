"""A model that could not work, or would take the service down, is not made; nor is anything that was not asked for
properly about one that there is."""

import math

import pytest

from .running import everything

pytestmark = pytest.mark.xdist_group("live-http-settings")

LEARNERS = ("ROLTR", "PDGD", "DBGD", "PMGD", "COLTR", "FixedWeights")


BAD_LEARNERS = [
    ({}, "learner: `learner` is missing; use one of 'ROLTR', 'PDGD', "),
    ({"learner": "MDPRank"}, "learner.learner must be one of 'ROLTR', "),
    ({"learner": "Nearest"}, "got 'Nearest'. If Nearest is your own, name the module that brings it"),
    ({"learner": "'; DROP TABLE models"}, "must be one of 'ROLTR', 'PDGD'"),
    ({"learner": 3}, "must be text"),
    *(({"learner": name, "colour": "red"}, "unknown field `colour`") for name in LEARNERS),
    *(({"learner": name, "learning_rate": 0}, "learning_rate") for name in LEARNERS[:5]),
    *(({"learner": name, "learning_rate": -0.1}, "learning_rate") for name in LEARNERS[:5]),
    *(({"learner": name, "learning_rate": "fast"}, "must be a number") for name in LEARNERS[:5]),
    *(({"learner": name, "learning_rate": 1e300}, "learning_rate must be a number, at least 1e-12")
      for name in LEARNERS[:5]),
    ({"learner": "ROLTR", "reward": "ips"}, "reward must be one of 'naive+'"),
    ({"learner": "ROLTR", "discount": 1.5}, "discount must be a number, at least 0 and at most 1"),
    ({"learner": "ROLTR", "temperature": 0}, "temperature"),
    ({"learner": "ROLTR", "temperature": 1e-300}, "temperature must be a number, at least 1e-06"),
    ({"learner": "ROLTR", "propensities": {"kind": "power_law", "eta": 1e308}}, "propensity of rank 2 is 0.0"),
    ({"learner": "ROLTR", "propensities": {"kind": "power_law", "eta": -1}}, "eta"),
    ({"learner": "ROLTR", "propensities": {"kind": "known", "values": [1.0]}}, "given for 1 ranks, but"),
    ({"learner": "ROLTR", "propensities": {"kind": "guessed"}}, "learner.propensities.kind must be one of "),
    ({"learner": "DBGD", "delta": 0}, "delta"),
    ({"learner": "DBGD", "delta": 1e300}, "delta must be a number, at least 1e-12 and at most 1e+06"),
    ({"learner": "PMGD", "candidates": 0}, "candidates"),
    ({"learner": "PMGD", "candidates": 1_001}, "candidates must be at most 1,000; got 1,001"),
    ({"learner": "PMGD", "candidates": 10**30}, "candidates must be at most 1,000; got far more"),
    ({"learner": "COLTR", "candidates": 10_001}, "candidates must be at most 10,000; got 10,001"),
    ({"learner": "COLTR", "candidates": 10**300}, "candidates must be at most 10,000; got far more"),
    ({"learner": "COLTR", "candidates": 2.5}, "must be a whole number"),
    ({"learner": "FixedWeights", "weights": [1.0]}, "weights"),
    ({"learner": "FixedWeights", "weights": [1e31, 0.0]}, "between −1e+30 and 1e+30"),
]  # fmt: skip


@pytest.mark.parametrize(("learner", "sentence"), BAD_LEARNERS, ids=range(len(BAD_LEARNERS)))
def test_settings_of_a_learner_that_make_no_sense_are_refused(refused, learner, sentence):
    assert sentence in refused("POST", "/v1/models", 422, json={"name": "new", "features": 2, "learner": learner})


BAD_MODELS = [
    ({"features": 0}, "features must be a whole number, at least 1; got 0"),
    ({"features": -1}, "features must be a whole number, at least 1"),
    ({"features": 10_001}, "features must be 1 to 10000"),
    ({"features": 10**30}, "features must be 1 to 10000"),
    ({"features": []}, "features must be 1 to 10000; got none"),
    ({"actions": {"": 1}}, "an action's name must be 1 to 64 letters, digits, dots, dashes or underscores"),
    ({"features": ["a", "a"]}, "'a' appears twice"),
    ({"features": ["a", ""]}, "1 to 200 characters"),
    ({"features": ["a" * 201]}, "1 to 200 characters"),
    ({"features": [1, 2]}, "must be text"),
    ({"features": "engine"}, "must be a whole number or a list"),
    ({"features": 1.5}, "must be a whole number or a list"),
    ({"page_size": 0}, "page_size must be a whole number, at least 1"),
    ({"page_size": 1_001}, "page_size must be at most 1000"),
    ({"page_size": 10**4_000}, "page_size must be at most 1000"),
    ({"seed": -1}, "seed must be a whole number from 0 to 2^64 − 1"),
    ({"seed": 2**64}, "seed must be a whole number from 0 to 2^64 − 1"),
    ({"precision": "float64"}, "precision must be one of 'float32', 'float16'"),
    ({"window": 0}, "window must be a number, above 0"),
    ({"window": 31 * 86_400}, "window must be a number, above 0 and at most"),
    ({"missing": "none"}, "must be a number or nothing"),
    ({"late_updates": "never"}, "late_updates must be one of 'current', 'drawn'; got 'never'"),
    (
        {"scaling": "sometimes"},
        "scaling must be one of 'none', 'query', 'robust', 'running' or {\"kind\": \"fixed\"} with shift, spread; got "
        "'sometimes'",
    ),
    ({"start": "engine"}, 'or {"from": "weights"} with weights, keeps_first, sample, candidates or {"from": '),
    ({"start": {"feature": "f1"}}, "start: `from` is missing; use one of 'zeros', 'weights', 'incoming'"),
    ({"actions": ["click", "buy"]}, 'actions must be an object; got a list; send {"click": 0.02, "purchase": 1}'),
    ({"features": "engine"}, 'got text; send ["bm25", "price"]'),
    ({"scaling": {"kind": "fixed", "shift": [0.0], "spread": [1.0]}}, "1 shifts were given for 2 features"),
    ({"scaling": {"kind": "fixed", "shift": [0.0, 0.0], "spread": [1.0]}}, "as many of one as of the other"),
    ({"scaling": {"kind": "fixed", "shift": [0.0, 0.0], "spread": [1.0, -1.0]}}, "spread must not be negative"),
    ({"start": {"from": "heaven"}}, "start.from must be one of 'zeros', 'weights', 'incoming'; got 'heaven'"),
    ({"start": {"from": "weights", "weights": [1.0]}}, "1 weights were given for 2 features"),
    ({"start": {"from": "weights", "weights": [1e31, 0.0]}}, "a weight must lie between −1e+30 and 1e+30"),
    ({"start": {"from": "incoming", "feature": "engine"}}, "there is no feature 'engine'; features are f1, f2"),
    ({"start": {"from": "incoming", "feature": 2}}, "there is no feature 2"),
    ({"start": {"from": "incoming", "feature": "f1", "keeps_first": 1.0}}, "keeps_first must be a number, above 0"),
    ({"start": {"from": "incoming", "feature": "f1", "candidates": 1}}, "candidates must be a whole number"),
    ({"start": {"from": "incoming", "feature": "f1", "candidates": 10**9}}, "candidates must be at most 5,000"),
    ({"start": {"from": "incoming", "feature": "f1", "sample": [[1.0]] * 1_001}}, "at most 1,000 queries"),
    ({"start": {"from": "incoming", "feature": "f1", "sample": [[1.0, 1.0], []]}}, "finite numbers"),
    ({"guards": {"control": 1.5}}, "control must be a number, at least 0 and at most 1"),
    ({"guards": {"update_cap": 0}}, "update_cap must be a number, above 0"),
    ({"guards": {"client_share": -1}}, "client_share must be a number, at least 0"),
    ({"guards": {"anonymous_share": -1}}, "anonymous_share must be a number, at least 0"),
    ({"guards": {"one_sided": 0.6}}, "one_sided must be a number, at least 0 and at most 0.5"),
    ({"guards": {"client_pages": 10**9}}, "client_pages must be at most 1000000"),
    ({"guards": {"falls_back": 1}}, "somebody must still see the learned order, or it could never prove itself again"),
    ({"guards": {"falls_back": 0.999}}, "falls_back must be at most 0.99"),
    ({"guards": {"falls_back": -1}}, "falls_back must be a number, at least 0"),
    ({"guards": {"none": True}}, "guards: unknown field `none`; use control, update_cap, client_pages"),
    ({"colour": "red"}, "unknown field `colour`"),
    (
        {"start": "engine"},
        "start must be one of 'incoming', 'zeros' or {\"from\": \"weights\"} with weights, keeps_first",
    ),
    ({"name": 5}, "must be text"),
    ({"name": None}, "must be text"),
]


@pytest.mark.parametrize(("settings", "sentence"), BAD_MODELS, ids=range(len(BAD_MODELS)))
def test_settings_of_a_model_that_make_no_sense_are_refused_wet_and_dry(refused, settings, sentence):
    for path in ("/v1/models", "/v1/models?dry_run=true"):
        assert sentence in refused("POST", path, 422, json={"name": "new", "features": 2} | settings)


def test_a_name_that_is_taken_is_refused(refused):
    told = refused("POST", "/v1/models", 409, "name_taken", json={"name": "shop", "features": 2})
    assert "choose another name" in told


def test_a_service_has_only_so_many_models(app, refused, monkeypatch):
    monkeypatch.setattr("rankloop.live.models.MAX_MODELS", len(app.get("/v1/models").json()["models"]))
    refused("POST", "/v1/models", 409, "too_many_models", json={"name": "new", "features": 2})


@pytest.mark.slow
def test_a_dry_run_makes_nothing(app):
    before = everything(app)
    body = {"name": "new", "features": 2, "learner": {"learner": "ROLTR"}}
    body["start"] = {"from": "incoming", "feature": "f1"}
    dry = app.post("/v1/models?dry_run=true", json=body)
    assert (dry.status_code, round(dry.json()["start"]["keeps_first"], 6)) == (200, 0.9)
    assert everything(app) == before


BAD_ADDRESSES = [
    ("POST", "/v1/models?dry_run=maybe", {"name": "n", "features": 1}, 422, "dry_run must be true or false"),
    ("POST", "/v1/models?dryrun=true", {"name": "n", "features": 1}, 422, "no parameter 'dryrun' here, only dry_run"),
    ("POST", "/v1/models?dry_run=true&dry_run=false", {"name": "n", "features": 1}, 422, "dry_run is given more than"),
    ("POST", "/v1/clicks?close=true", {"impression": "x", "clicks": []}, 422, "no parameter 'close' here, nor any"),
    ("GET", "/v1/models?limit=2", None, 422, "no parameter 'limit' here, nor any other"),
    ("GET", "/v1/models/shop/compare?from=0&to=1&x=1", None, 422, "no parameter 'x' here, only from, to"),
    ("GET", "/v1/models/shop/export?fromat=solr", None, 422, "no parameter 'fromat' here, only format, version"),
    ("GET", "/ubi/events?model=shop&count=5", None, 422, "no parameter 'count' here, only model, after, limit"),
    ("POST", "/v1/models/shop/roll-back", {}, 422, "`version` is missing"),
    ("POST", "/v1/models/shop/roll-back", {"version": -1}, 422, "must be a whole number, at least 0"),
    ("POST", "/v1/models/shop/roll-back", {"version": 99}, 404, "no snapshot of version 99"),
    ("POST", "/v1/models/shop/roll-back", {"version": 2**63}, 422, "at most 9,007,199,254,740,992"),
    ("POST", "/v1/models/shop/roll-back", {"version": 10**100}, 422, "at most 9,007,199,254,740,992"),
    ("POST", "/v1/models/shop/roll-back", {"version": "1; DROP TABLE"}, 422, "must be a whole number"),
    ("POST", "/v1/models/shop/freeze-scaling", {}, 409, "scaling 'none' does not change"),
    ("GET", "/v1/models/shop/snapshots/99", None, 404, "no snapshot of version 99"),
    ("GET", "/v1/models/shop/snapshots/-1", None, 422, "version must be a whole number from 0"),
    ("GET", "/v1/models/shop/snapshots/1.5", None, 422, "version must be a whole number from 0"),
    ("GET", "/v1/models/shop/snapshots/٣", None, 422, "version must be a whole number from 0"),
    ("GET", "/v1/models/shop/snapshots/" + "9" * 1_000, None, 422, "version must be a whole number from 0"),
    ("GET", "/v1/models/shop/snapshots/1'--", None, 422, "version must be a whole number from 0"),
    ("GET", "/v1/models/shop/compare", None, 422, "from is missing; send ?from=…"),
    ("GET", "/v1/models/shop/compare?from=0", None, 422, "to is missing"),
    ("GET", "/v1/models/shop/compare?from=0&to=x", None, 422, "to must be a whole number"),
    ("GET", "/v1/models/shop/compare?from=0&to=99", None, 404, "no snapshot of version 99"),
    ("GET", "/v1/models/shop/export?format=pickle", None, 422, "format must be one of json, elasticsearch"),
    ("GET", "/v1/models/shop/export?format=", None, 422, "format must be one of json"),
    ("GET", "/v1/models/shop/export?format=json&version=99", None, 404, "no snapshot of version 99"),
    ("GET", "/v1/models/shop/export?version=../../x", None, 422, "version must be a whole number"),
    ("GET", "/ubi/queries", None, 422, "model is missing; send ?model=…"),
    ("GET", "/ubi/events", None, 422, "model is missing; send ?model=…"),
    ("GET", "/ubi/events?model=shop&limit=0", None, 422, "limit must be a whole number from 1 to 1000"),
    ("GET", "/ubi/events?model=shop&limit=1001", None, 422, "limit must be a whole number from 1 to 1000"),
    ("GET", "/ubi/queries?model=shop&after=-1", None, 422, "after must be a whole number from 0"),
    ("POST", "/ubi/queries", {}, 422, "`user_query` is missing"),
    ("POST", "/ubi/queries", {"user_query": "x", "query_id": "q" * 101}, 422, "query_id must have at most 100"),
    ("POST", "/ubi/queries", [{"user_query": "x"}] * 1_001, 422, "at most 1,000 objects at once; got 1,001"),
    ("POST", "/ubi/events", {"action_name": "click"}, 422, "`timestamp` is missing"),
    ("POST", "/ubi/events", {"action_name": "click", "timestamp": "yesterday"}, 422, "timestamp must be a time"),
    ("POST", "/ubi/events", {"action_name": "click", "timestamp": 10**300}, 422, "timestamp must be a time such as"),
    ("POST", "/ubi/events", {"action_name": "click", "timestamp": "9999-12-31T23:59:59-14:00"}, 422, "must be a time"),
    ("POST", "/ubi/events", "click", 422, "must be an object or a list"),
    ("POST", "/v1/impressions/x/close", {}, 400, "it is not one of this service's ids"),
    ("POST", "/v1/impressions/x/close", {"wait": "long"}, 422, "must be true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "sentence"), BAD_ADDRESSES, ids=range(len(BAD_ADDRESSES)))
def test_what_is_asked_wrongly_is_refused_with_what_to_ask(refused, method, path, body, status, sentence):
    assert sentence in refused(method, path, status, **({} if body is None else {"json": body}))


def test_scores_that_overflow_are_refused_and_nothing_is_logged(app, refused):
    app.model("steep", 2, scaling="none", start={"from": "weights", "weights": [1e30, -1e30]})
    row = {"candidates": [{"id": "a", "features": [1e18, 0.0]}, {"id": "b", "features": [0.0, 1.0]}]}
    told = refused("POST", "/v1/models/steep/rank", 422, "scores_overflow", json=row)
    assert "scale the features" in told
    assert math.isfinite(sum(app.get("/v1/models/steep").json()["weights"]))
