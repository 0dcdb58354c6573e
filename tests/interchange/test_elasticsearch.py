"""What Elasticsearch and OpenSearch are sent."""

import json

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import (
    LinearModel,
    elasticsearch_model,
    onnx_model,
)

from .foreign import onnx_scores


def test_a_constant_feature_contributes_nothing_anywhere():
    model = LinearModel(weights=(3.0, 1.0), shift=(5.0, 0.0), spread=(0.0, 1.0))
    body = elasticsearch_model(model)["model"]["model"]
    assert json.loads(body["definition"]) == {"f1": 0.0, "f2": 1.0}
    assert list(body["feature_normalizers"]) == ["f2"]
    X = np.array([[5.0, 1.0], [7.0, 0.0]])
    assert model.scores(X).tolist() == onnx_scores(onnx_model(model), X).tolist() == [1.0, 0.0]


def test_elasticsearch_holds_ten_thousand_features():
    elasticsearch_model(LinearModel(weights=[1.0] * 10_000))
    with pytest.raises(SettingsError, match="at most 10,000 features; got 10,001"):
        elasticsearch_model(LinearModel(weights=[1.0] * 10_001))
