"""A model that leaves ranks as it did; what would not is refused; and its past can be listed, kept, compared and
returned to."""

import base64
import json

import msgspec
import numpy as np
import pytest

from rankloop.interchange import load_model
from rankloop.live.fold import Fold
from rankloop.live.http import answers

from ...interchange.foreign import elasticsearch_scores, onnx_scores, solr_scores
from .conftest import ROWS, wait_for_snapshot

pytestmark = pytest.mark.xdist_group("live-http-exports")

NAMES = ["price", "engine", "age"]
SCALINGS = {
    "none": "none",
    "fixed": {"kind": "fixed", "shift": [40.0, -1.0, 0.5], "spread": [8.0, 0.5, 0.0]},
    "running": "running",
}
ENGINES = ("json", "elasticsearch", "opensearch", "solr", "onnx")


@pytest.fixture(scope="module", params=SCALINGS)
def learned(app, request):
    """A model with each kind of scaling that can leave, which has learned, and whose scaling stays as it is."""
    name = f"export-{request.param}"
    app.model(name, NAMES, scaling=SCALINGS[request.param], page_size=20, learner={"learner": "PDGD"})
    draws = np.random.default_rng(5)
    for _ in range(10):
        app.learn(name, documents(draws))
    if request.param == "running":
        assert app.post(f"/v1/models/{name}/freeze-scaling").status_code == 200
    assert app.post(f"/v1/models/{name}/freeze").json()["mode"] == "frozen"
    return name


def documents(draws, count=20):
    """Candidates whose features have quite different sizes."""
    X = (draws.normal(size=(count, 3)) * [8.0, 0.5, 100.0] + [40.0, -1.0, 0.5]).astype(np.float32)
    return {f"d{i}": row for i, row in enumerate(X.astype(float).tolist())}


def engine_scores(form, content, X, path):
    """What each engine would make of the file; its features are in an order of their own."""
    theirs = sorted(NAMES)
    columns = X[:, [NAMES.index(name) for name in theirs]]
    match form:
        case "json":
            path.write_bytes(content)
            return load_model(path).scores(X)
        case "solr":
            return solr_scores(json.loads(content), theirs, columns)
        case "onnx":
            return onnx_scores(content, X)
    return elasticsearch_scores(json.loads(content), theirs, columns)


@pytest.mark.parametrize("form", ENGINES)
def test_what_leaves_ranks_as_the_service_does(app, learned, form, tmp_path):
    answer = app.get(f"/v1/models/{learned}/export", params={"format": form})
    assert answer.status_code == 200, answer.text
    version = app.get(f"/v1/models/{learned}").json()["version"]
    suffix = {"json": "json", "onnx": "onnx"}.get(form, f"{form}.json")
    assert answer.headers["content-disposition"] == f'attachment; filename="{learned}-{version}.{suffix}"'
    draws = np.random.default_rng(6)
    for _ in range(5):
        rows = documents(draws)
        scores = engine_scores(form, answer.content, np.array(list(rows.values())), tmp_path / "model.json")
        best_first = [list(rows)[place] for place in np.argsort(-scores, kind="stable")]
        assert app.rank(learned, rows)["ranking"] == best_first


@pytest.mark.parametrize("form", ENGINES)
@pytest.mark.parametrize("scaling", ["robust", "query", "running"])
def test_every_scaling_leaves_for_everywhere_from_the_first_day(app, form, scaling):
    name = f"new-{scaling}"
    if app.get(f"/v1/models/{name}").status_code == 404:
        app.model(name, NAMES, scaling=scaling)
    answer = app.get(f"/v1/models/{name}/export?format={form}")
    assert answer.status_code == 200, answer.text
    told = app.get(f"/v1/models/{name}/export-check?format={form}").json()
    assert (told["format"], told["version"], told["orders"]) == (form, 0, None)


def test_what_leaves_is_measured_on_logged_pages(app):
    app.model("measured", NAMES, scaling="query", start="zeros")
    draws = np.random.default_rng(7)
    for _ in range(8):
        app.learn("measured", documents(draws), query="oak desk")
    told = app.get("/v1/models/measured/export-check?format=opensearch").json()
    behind = "what 'measured' knows of single documents, beyond their features, is not exported"
    typical = "'measured' scales features per query; what leaves has the typical minimum and range"
    assert told["differs"] == [typical, behind]
    assert told["orders"]["pages"] == 8
    assert 0.5 < told["orders"]["kendall"] <= 1
    assert app.get("/v1/models/measured/export-check?format=json").json()["differs"] == [behind]


def test_as_our_own_json_a_scaling_per_query_leaves_as_what_it_is(app, tmp_path):
    app.model("per-query", NAMES, scaling="query")
    (tmp_path / "model.json").write_bytes(app.get("/v1/models/per-query/export").content)
    assert load_model(tmp_path / "model.json").per_query


def test_a_refusal_names_the_engine_that_was_asked_for(app):
    app.model("odd", ["price", " engine "])
    for form, name in (("opensearch", "OpenSearch LTR"), ("elasticsearch", "Elasticsearch LTR")):
        error = app.get(f"/v1/models/odd/export?format={form}").json()["error"]
        assert error["code"] == "not_exportable"
        assert error["message"].startswith(f"{name}: a feature's name must be printable")


# Snapshots


@pytest.fixture(scope="module")
def storied(app):
    """A model with three kept states: 0, 1 and 2."""
    app.model("storied", ["engine", "price"], page_size=3, scaling="none")
    for version in (1, 2):
        app.learn("storied", ROWS)
        wait_for_snapshot(app, "storied", version)
    return "storied"


def weights_of(app, model, version):
    return app.get(f"/v1/models/{model}/snapshots/{version}").json()["weights"]


def test_states_are_listed_newest_first_with_their_places_in_the_log(app, storied):
    kept = msgspec.convert(app.get(f"/v1/models/{storied}/snapshots").json(), answers.Snapshots).snapshots
    assert [row.version for row in kept][-3:] == [2, 1, 0]
    assert [row.offset for row in kept] == sorted((row.offset for row in kept), reverse=True)


def test_a_state_can_be_kept_as_a_file_and_is_whole(app, storied):
    answer = app.get(f"/v1/models/{storied}/snapshots/2")
    assert answer.headers["content-disposition"] == 'attachment; filename="storied-2.snapshot.json"'
    told = answer.json()
    settings = app.service.registry.get(storied).settings
    fold = Fold(settings)
    fold.restore(base64.b64decode(told["state"]), told["offset"])
    assert (fold.version, fold.ranker.weights.tolist()) == (2, told["weights"])


def test_two_states_are_compared_feature_by_feature(app, storied):
    told = app.get(f"/v1/models/{storied}/compare?from=0&to=2").json()
    before, after = np.array(weights_of(app, storied, 0)), np.array(weights_of(app, storied, 2))
    assert (told["from"], told["to"], told["learned_between"]) == (0, 2, 2)
    assert told["distance"] == pytest.approx(np.linalg.norm(after - before))
    assert 0 < told["cosine"] < 1
    changes = {row["feature"]: (row["from"], row["to"], row["change"]) for row in told["weights"]}
    names = ("engine", "price", "_incoming")
    assert changes == {n: (b, a, a - b) for n, b, a in zip(names, before.tolist(), after.tolist(), strict=True)}
    sizes = [abs(row["change"]) for row in told["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert app.get(f"/v1/models/{storied}/compare?from=1&to=1").json()["cosine"] == pytest.approx(1.0)


def test_an_older_state_can_leave_too(app, storied, tmp_path):
    (tmp_path / "old.json").write_bytes(app.get(f"/v1/models/{storied}/export?version=1").content)
    assert list(load_model(tmp_path / "old.json").weights) == weights_of(app, storied, 1)


def test_rolled_back_a_model_is_what_it_was_and_learns_on_from_there(app, storied):
    then = weights_of(app, storied, 1)
    told = app.post(f"/v1/models/{storied}/roll-back", json={"version": 1}).json()
    assert told["weights"] == then
    assert told["version"] > 2  # what happened in between has happened
    app.learn(storied, ROWS)
    after = app.get(f"/v1/models/{storied}").json()
    assert after["weights"] != then
    assert after["version"] == told["version"] + 1
