"""What other engines do with an exported model, from their documentation."""

import json

import numpy as np
import onnxruntime

from rankloop.interchange import (
    elasticsearch_model,
    onnx_model,
    solr_model,
)

ENGINES = ("elasticsearch", "solr", "onnx", "elasticsearch folded", "solr folded")
SINGLE = np.float32


def elasticsearch_scores(body, feature_set, X):
    """What the plugin does, from its documentation: parse by name, normalise in place, dot product, all in floats."""
    ranker = body["model"]["model"]
    assert ranker["type"] == "model/linear"
    weights, values = np.zeros(len(feature_set), SINGLE), X.astype(SINGLE)
    for name, weight in json.loads(ranker["definition"]).items():
        weights[feature_set.index(name)] = weight
    for name, kinds in ranker.get("feature_normalizers", {}).items():
        ((kind, numbers),) = kinds.items()
        assert kind == "standard"
        assert SINGLE(numbers["standard_deviation"]) > 0  # the plugin refuses any other
        ordinal = feature_set.index(name)
        values[:, ordinal] = (values[:, ordinal] - SINGLE(numbers["mean"])) / SINGLE(numbers["standard_deviation"])
    return dot(values, weights)


def solr_scores(body, feature_store, X):
    """What LinearModel does, from its documentation: a weight for every feature, a normaliser where one is named."""
    assert body["class"] == "org.apache.solr.ltr.model.LinearModel"
    columns, weights = [], []
    for feature in body["features"]:
        column = X[:, feature_store.index(feature["name"])].astype(SINGLE)
        if "norm" in feature:
            assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
            numbers = {name: SINGLE(text) for name, text in feature["norm"]["params"].items()}
            assert all(isinstance(text, str) for text in feature["norm"]["params"].values())
            assert numbers["std"] > 0  # Solr refuses any other
            column = (column - numbers["avg"]) / numbers["std"]
        columns.append(column)
        weights.append(SINGLE(body["params"]["weights"][feature["name"]]))
    return dot(np.stack(columns, axis=1), np.array(weights))


def dot(values, weights):
    total = np.zeros(len(values), SINGLE)
    for j in range(len(weights)):
        total += values[:, j] * weights[j]
    return total


def onnx_scores(content, X):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"features": X.astype(SINGLE)})
    return scores


def foreign_scores(engine, model, X):
    # The engine's own order of features is not ours: weights must travel by name.
    theirs = sorted(model.feature_names)
    raw = X[:, [model.feature_names.index(name) for name in theirs]]
    fold = engine.endswith("folded")
    if engine.startswith("elasticsearch"):
        return elasticsearch_scores(json.loads(json.dumps(elasticsearch_model(model, fold=fold))), theirs, raw)
    if engine.startswith("solr"):
        return solr_scores(json.loads(json.dumps(solr_model(model, fold=fold))), theirs, raw)
    return onnx_scores(onnx_model(model), X)
