"""A live model whose ranker is a network: made, taught, kept, started again, exported, and shown as what it is."""

import httpx
import numpy as np
import pytest

from rankloop.interchange import NeuralModel, load_model
from rankloop.web.dashboard import add_dashboard

from ...interchange.foreign import onnx_scores
from .conftest import wait_for_snapshot
from .running import Running

pytestmark = pytest.mark.xdist_group("live-http-networks")

NAMES = ["price", "engine", "age"]
NETWORK = {"kind": "mlp", "hidden": [8], "activation": "tanh"}
SETTINGS = {
    "learner": {"learner": "PDGD", "ranker": NETWORK},
    "scaling": {"kind": "fixed", "shift": [40.0, -1.0, 0.5], "spread": [8.0, 0.5, 0.0]},
    "page_size": 4,
}


def documents(draws, count=6):
    X = (draws.normal(size=(count, 3)) * [8.0, 0.5, 100.0] + [40.0, -1.0, 0.5]).astype(np.float32)
    return {f"d{i}": row for i, row in enumerate(X.astype(float).tolist())}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A log with a network that learned from five pages, and its weights."""
    path = tmp_path_factory.mktemp("network") / "log.db"
    with Running(path) as app:
        made = app.model("net", NAMES, **SETTINGS)
        assert len(made["weights"]) == 4 * 8 + 8
        draws = np.random.default_rng(1)
        for _ in range(5):
            app.learn("net", documents(draws))
        wait_for_snapshot(app, "net", 5)
        return path, app.get("/v1/models/net").json()["weights"]


@pytest.fixture(scope="module")
def app(kept):
    """The service, started again on that log."""
    with Running(kept[0]) as running:
        add_dashboard(running.app)
        yield running


def test_after_a_restart_the_bits_are_the_same_and_learning_goes_on(app, kept):
    described = app.get("/v1/models/net").json()
    assert described["weights"] == kept[1]
    assert described["learner"]["ranker"] == NETWORK
    app.learn("net", documents(np.random.default_rng(2)))
    assert app.get("/v1/models/net").json()["weights"] != kept[1]


def test_an_export_as_json_or_onnx_ranks_as_the_service_does_and_begins_another_model(app, tmp_path):
    (tmp_path / "net.json").write_bytes(app.get("/v1/models/net/export?version=5").content)
    model = load_model(tmp_path / "net.json")
    assert isinstance(model, NeuralModel)
    content = app.get("/v1/models/net/export?format=onnx&version=5").content
    copy = SETTINGS | {"start": {"from": "weights", "weights": model.weights}}
    app.model("copy", NAMES, **copy)
    assert app.post("/v1/models/copy/freeze").status_code == 200
    draws = np.random.default_rng(3)
    for _ in range(4):
        rows = documents(draws)
        X = np.array(list(rows.values()))
        assert onnx_scores(content, X) == pytest.approx(model.scores(X), rel=1e-4, abs=1e-5)
        best_first = [list(rows)[place] for place in np.argsort(-model.scores(X), kind="stable")]
        assert app.rank("copy", rows)["ranking"] == best_first[:4]


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch", "solr"])
def test_what_has_no_place_for_a_network_refuses_it(app, form):
    answer = app.get(f"/v1/models/net/export?format={form}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_exportable")
    assert "holds linear models, and 'net' is a network" in answer.json()["error"]["message"]
    assert "export it as json or onnx" in answer.json()["error"]["message"]


def test_two_states_are_compared_connection_by_connection(app):
    found = app.get("/v1/models/net/compare", params={"from": 0, "to": 5}).json()
    assert len(found["weights"]) == 40
    assert {"price → 1.1", "bias → 1.8", "1.3 → score"} <= {weight["feature"] for weight in found["weights"]}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"start": {"from": "incoming", "feature": "engine"}}, "the incoming order is the weight of one feature"),
        ({"start": {"from": "weights", "weights": [1, 2, 3]}}, "40 finite numbers for 3 features"),
        ({"learner": {"learner": "PDGD", "ranker": {"kind": "mlp", "hidden": []}}}, "sizes of 1 to 4 hidden layers"),
        ({"learner": {"learner": "PDGD", "ranker": {"kind": "mlp", "hidden": [4096, 4096]}}}, "at most 250,000"),
    ],
    ids=["incoming", "weights", "no layers", "too large"],
)
def test_what_a_network_cannot_do_is_refused(app, wrong, reason):
    answer = app.post("/v1/models", json={"name": "other", "features": NAMES} | SETTINGS | wrong)
    assert answer.status_code == 422, answer.text
    assert reason in answer.json()["error"]["message"]


def test_the_dashboard_shows_no_weight_per_feature_where_there_is_none(app):
    page = app.get("/models/net/learning")
    assert page.status_code == httpx.codes.OK
    assert "there is no weight per feature to show" in page.text
    assert "A network has no weight per feature that could be drawn." in page.text
    assert "weight × scaled feature" not in page.text
    asked = app.get("/models/net/act/roll-back?version=0").text
    assert "Connection" in asked
    assert "→ score" in asked
