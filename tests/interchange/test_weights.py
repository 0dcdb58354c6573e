"""Weights from scikit-learn, Elasticsearch, RankLib and rankloop itself, as the start of a live model."""

import json
import pickle

import msgspec
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloop.errors import DataError
from rankloop.interchange import LinearModel, elasticsearch_model, model_text
from rankloop.interchange.weights import read_weights, starting_settings
from rankloop.live.settings import ModelSettings

RANKLIB = "## Coordinate Ascent\n## Restart = 5\n## MaxIteration = 25\n1:0.25 3:-0.5\n"
MODEL = LinearModel(weights=(0.5, -1.0), feature_names=("bm25", "age"), shift=(10.0, 40.0), spread=(2.0, 8.0), name="m")


def written(tmp_path, content):
    path = tmp_path / "weights"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_scikit_learns_coefficients_with_its_scaler_score_as_it_does(tmp_path):
    """The two lines of docs/interchange.md that write the file."""
    draws = np.random.default_rng(0)
    X = draws.normal(size=(200, 2)) * [5.0, 300.0] + [20.0, 900.0]
    y = draws.random(200) < 1 / (1 + np.exp(-(X[:, 0] - 20.0) / 5.0))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    scaler, regression = pipeline[0], pipeline[1]
    document = {
        "coef": regression.coef_.tolist(), "feature_names": ["bm25", "price"],
        "mean": scaler.mean_.tolist(), "scale": scaler.scale_.tolist(),
    }  # fmt: skip
    model = read_weights(written(tmp_path, document))
    assert model.feature_names == ("bm25", "price")
    assert model.scores(X) + regression.intercept_[0] == pytest.approx(pipeline.decision_function(X))


def test_elasticsearchs_linear_models_come_back_as_they_were_sent(tmp_path):
    sent = elasticsearch_model(MODEL)
    for document in (sent, {"_id": "m", "_source": {"name": "m", "model": sent["model"]["model"]}}):
        model = read_weights(written(tmp_path, document))
        assert (model.weights, model.feature_names) == (MODEL.weights, MODEL.feature_names)
        assert (model.shift, model.spread) == (MODEL.shift, MODEL.spread)
    ranges = {"bm25": {"min_max": {"minimum": 1.0, "maximum": 5.0}}}
    inner = {"type": "model/linear", "definition": '{"bm25": 1.0, "age": 2.0}', "feature_normalizers": ranges}
    model = read_weights(written(tmp_path, {"model": {"name": "m", "model": inner}}))
    assert (model.shift, model.spread) == ((1.0, 0.0), (4.0, 1.0))


def test_ranklibs_features_count_from_one_and_what_is_left_out_weighs_nothing(tmp_path):
    model = read_weights(written(tmp_path, RANKLIB))
    assert (model.weights, model.feature_names) == ((0.25, 0.0, -0.5), ("f1", "f2", "f3"))
    assert read_weights(written(tmp_path, "## Linear Regression\n0:7.5 1:0.5 2:1")).weights == (0.5, 1.0)


def test_our_own_file_is_read_too(tmp_path):
    assert read_weights(written(tmp_path, model_text(MODEL))) == MODEL


def test_a_live_model_starts_from_them():
    settings = msgspec.convert(starting_settings(MODEL, "shop", keeps_first=0.8), ModelSettings)
    assert (settings.start.weights, settings.scaling.spread, settings.start.keeps_first) == (
        (0.5, -1.0),
        (2.0, 8.0),
        0.8,
    )
    plain = starting_settings(LinearModel(weights=(1.0,)), "shop")
    assert (plain["scaling"], starting_settings(LinearModel(weights=(1.0,), per_query=True), "s")["scaling"]) == (
        "none", "query",
    )  # fmt: skip


def normalised(by):
    """A linear model of Elasticsearch's, with these normalisers."""
    inner = {"type": "model/linear", "definition": {"bm25": 1.0}, "feature_normalizers": by}
    return {"model": {"name": "m", "model": inner}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1:0.5 cheap", "is neither JSON nor a linear model of RankLib"),
        ("## nothing", "is neither JSON nor a linear model of RankLib"),
        ("0:1.5", "has no weight of any feature"),
        ({"weights": [1]}, "has no weights in a known format"),
        ({"coef": [1.0, "x"]}, "weights[1] must be a finite number"),
        ({"model": {"model": {"type": "model/linear", "definition": "[1]"}}}, "a weight for each feature's name"),
        ({"model": {"model": {"type": "model/ranklib", "definition": ""}}}, "send their score as a feature"),
        ([1.0, 2.0], "has no weights in a known format"),
        ("1:. 2:1", "is neither JSON nor a linear model of RankLib"),
        ("1:1e999 2:1", "weights[0] must be a finite number; got inf"),
        ("999999999999:1", "a model has at most 10,000 features; got number 999,999,999,999"),
        pytest.param("[" * 100_000, "is nested too deeply", id="nested"),
        ({"coef": [1.0], "feature_names": 3}, "feature_names must be a list of names; got 3"),
        ({"coef": [1.0, 2.0], "mean": [1, 2]}, "mean and scale come together; only one was given"),
        ({"coef": [[1.0], [2.0]]}, "coef has the weights of 2 classes; give those of one"),
        ({"model": {"model": {"type": "model/linear", "definition": "oops"}}}, "a weight for each feature's name"),
        ({"model": {"model": {"type": "model/linear", "definition": "{}"}}}, "a weight for each feature's name"),
        (normalised(["bm25"]), "feature_normalizers must be an object with one for each feature"),
        (normalised({"bm25": {"min_max": {"minimum": "0", "maximum": 3}}}), "a normaliser is standard or min_max"),
        ({"model": {"model": {"type": "model/xgboost+json", "definition": "[]"}}}, "send their score as a feature"),
    ],
)
def test_what_has_no_weights_is_a_sentence(tmp_path, content, said):
    with pytest.raises(DataError) as refused:
        read_weights(written(tmp_path, content))
    assert said in str(refused.value)


def test_a_pickle_is_never_read(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps({"coef": [1.0]}))
    with pytest.raises(DataError, match="could run any code when read; write the weights as JSON"):
        read_weights(tmp_path / "model.pkl")
