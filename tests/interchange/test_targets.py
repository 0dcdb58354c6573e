"""A model that another engine would rank differently is refused, whichever the engine."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import (
    LinearModel,
    elasticsearch_model,
    export_model,
    onnx_model,
    solr_model,
)

from .foreign import ENGINES, SINGLE, foreign_scores, onnx_scores


def test_features_far_from_zero_keep_their_order_with_normalisers_and_are_refused_folded():
    """Timestamps: in seconds since 1970, a day apart; single precision resolves 128 s there."""
    model = LinearModel(weights=(1.0, 1.0), feature_names=("bm25", "time"), shift=(0, 1.7e9), spread=(1, 86400))
    X = np.array([[0.0, 1.7e9], [0.5, 1.7e9 - 864 * 40], [0.0, 1.7e9 + 86400 * 3]]).astype(SINGLE).astype(float)
    for engine in ("elasticsearch", "solr", "onnx"):
        assert np.argsort(foreign_scores(engine, model, X)).tolist() == np.argsort(model.scores(X)).tolist()
    for export in (elasticsearch_model, solr_model):
        with pytest.raises(SettingsError, match=r"'time' lies so far from 0.*without folding"):
            export(model, fold=True)


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch", "solr", "onnx"])
def test_a_scaling_per_query_is_refused_with_the_way_out(form):
    model = LinearModel(weights=(1.0,), per_query=True)
    with pytest.raises(SettingsError, match=r"per query.*one shift and one spread per feature"):
        export_model(model, form)


BAD_NAMES = {"empty": "", "blank at the end": "a ", "line end": "a\nb", "surrogate": "a\udc80", "invisible": "a\u200b"}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_names_that_cannot_identify_a_feature_are_refused(export, name):
    with pytest.raises(SettingsError, match="a feature's name must"):
        export(LinearModel(weights=(1.0, 2.0), feature_names=("ok", name)))


@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_two_features_of_one_name_are_refused_where_weights_go_by_name(export):
    model = LinearModel(weights=(1.0, 2.0), feature_names=("a", "a"))
    with pytest.raises(SettingsError, match="two features are named 'a'"):
        export(model)
    assert onnx_scores(onnx_model(model), np.array([[1.0, 1.0]])).tolist() == [3.0]  # ONNX goes by position


@pytest.mark.parametrize("name", ["a b", "a/b", "-a", ".a", "ä", "a}"])
@pytest.mark.parametrize("export", [elasticsearch_model, solr_model])
def test_model_names_must_fit_a_url(export, name):
    with pytest.raises(SettingsError, match="name stands in URLs"):
        export(LinearModel(weights=(1.0,), name=name))


@pytest.mark.parametrize("form", ["elasticsearch", "solr", "onnx"])
@pytest.mark.parametrize(
    "numbers",
    [
        {"weights": (1e39,)},
        {"weights": (1e-42,)},
        {"weights": (1.0,), "shift": (1e300,), "spread": (1.0,)},
        {"weights": (1.0,), "shift": (0.0,), "spread": (1e300,)},
        {"weights": (1.0,), "shift": (0.0,), "spread": (1e-300,)},
    ],
    ids=["weight too large", "weight too small", "shift", "spread too large", "spread too small"],
)
def test_numbers_that_single_precision_cannot_hold_are_refused(form, numbers):
    with pytest.raises(SettingsError, match="single precision"):
        export_model(LinearModel(**numbers), form)


def test_a_weight_that_no_score_would_show_does_not_stand_in_the_way():
    model = LinearModel(weights=(1.0, 1e-60))
    X = np.array([[1.0, 3.0], [2.0, -5.0]])
    for engine in ENGINES:
        assert foreign_scores(engine, model, X).tolist() == [1.0, 2.0]
