"""An exported model ranks in the other system as it does here."""

import json

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.errors import SettingsError
from rankloop.interchange import (
    EXPORT_FORMATS,
    LinearModel,
    export_model,
    onnx_model,
)

from .foreign import ENGINES, SINGLE, foreign_scores


def assert_same_ranking(model, X, scores, folded):
    """Equal scores up to one constant and to what rounding n products in single precision can do."""
    exact = model.scores(X)
    shift, spread = np.array(model.shift or [0.0] * X.shape[1]), np.array(model.spread or [1.0] * X.shape[1])
    scale = np.where(spread > 0, np.abs(np.array(model.weights)) / np.where(spread > 0, spread, 1.0), 0.0)
    moved = np.abs(X) if folded else np.abs(X - shift) + np.abs(shift) * 2**-23
    tolerance = 4 * (len(shift) + 2) * 2.0**-24 * float((moved @ scale).max(initial=0.0)) + 1e-36
    difference = scores.astype(np.float64) - exact
    assert np.ptp(difference) <= 2 * tolerance
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(exact[order]) <= 2 * tolerance).all(), "documents change places by more than rounding can explain"


numbers = st.floats(-100, 100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)


@st.composite
def models(draw):
    features = draw(st.integers(1, 6))
    names = draw(st.permutations([f"feature {j}" for j in range(features)]))
    listed = {"min_size": features, "max_size": features}
    weights = draw(st.lists(numbers, **listed))
    if draw(st.booleans()):
        return LinearModel(weights=weights, feature_names=names)
    spread = draw(st.lists(st.one_of(st.just(0.0), st.floats(0.1, 1000)), **listed))
    return LinearModel(weights=weights, feature_names=names, shift=draw(st.lists(numbers, **listed)), spread=spread)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@given(model=models(), seed=st.integers(0, 2**32 - 1))
def test_every_engine_ranks_as_the_model_does(engine, model, seed):
    draws = np.random.default_rng(seed)
    spread = np.array(model.spread or [10.0] * len(model.weights))
    raw = draws.normal(size=(30, len(model.weights))) * spread + (model.shift or 0.0)
    X = raw.astype(SINGLE).astype(np.float64)
    folded = engine.endswith("folded")
    if folded and np.abs(model.folded()[0] * (model.shift or 0.0)).sum() > 4096 * np.abs(model.weights).max():
        with pytest.raises(SettingsError, match="folded weights would lose the ranking"):
            foreign_scores(engine, model, X)
    else:
        assert_same_ranking(model, X, foreign_scores(engine, model, X), folded)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_model_is_ranked_exactly(engine):
    """Numbers that single precision holds exactly: not even rounding is an excuse."""
    model = LinearModel(weights=(2.0, -1.0, 4.0), feature_names=("b", "a", "c"), shift=(8, 0, 3), spread=(4, 0.5, 0))
    X = np.array([[8, 1, 9], [16, 0, 1], [0, -2, 5], [4, 4, 4]], float)
    constant = 4.0 if engine.endswith("folded") else 0.0
    assert (foreign_scores(engine, model, X) - constant == model.scores(X)).all()
    assert model.scores(X).tolist() == [-2.0, 4.0, 0.0, -10.0]


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4, unique=True))
def test_any_name_either_arrives_unchanged_or_is_refused(names):
    model = LinearModel(weights=range(len(names)), feature_names=names)
    for form in ("elasticsearch", "solr"):
        try:
            body = json.loads(export_model(model, form).decode("utf-8"))
        except SettingsError:
            continue
        weights = json.loads(body["model"]["model"]["definition"]) if "model" in body else body["params"]["weights"]
        assert weights == dict(zip(names, map(float, range(len(names))), strict=True))
    content = onnx_model(model)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == names
    assert json.loads(export_model(model, "json"))["feature_names"] == names


def test_every_format_has_an_export_and_others_are_refused():
    model = LinearModel(weights=(1.0,))
    assert export_model(model, "elasticsearch") == export_model(model, "opensearch")
    assert all(isinstance(export_model(model, form), bytes) for form in EXPORT_FORMATS)
    with pytest.raises(SettingsError, match="format must be one of"):
        export_model(model, "pmml")
