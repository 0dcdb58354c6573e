"""A linear model for the Learning to Rank plugins of Elasticsearch and OpenSearch.

The format is that of "Uploading a model", type `model/linear`, with "feature normalization" of kind `standard`:
https://elasticsearch-learning-to-rank.readthedocs.io/en/latest/training-models.html and
https://docs.opensearch.org/latest/search-plugins/ltr/training-models/ (the same plugin, the same body).

The plugin scores Σ weight · normalised feature in single precision; a feature whose query does not match counts as 0
before it is normalised, as a 0 sent to rankloop does.
"""

import json
from typing import Any

from rankloop.errors import SettingsError
from rankloop.interchange.models import LinearModel
from rankloop.interchange.targets import (
    folded_weights,
    named,
    normalised_weights,
    require_feature_names,
    require_model_name,
    require_normaliser,
    require_one_scaling,
)

TARGET = "Elasticsearch LTR"
MAX_FEATURES = 10_000
"""The plugin's own limit for a feature set (StoredFeatureSet.MAX_FEATURES)."""


def elasticsearch_model(model: LinearModel, *, fold: bool = False) -> dict[str, Any]:
    """The body of `POST _ltr/_featureset/<set>/_createmodel`; the set must have features of these names.

    Args:
        model: what to export.
        fold: divide the weights by the spreads instead of sending normalisers, for a plugin that does not know them.
            Only a constant is dropped from the scores, the same for every document, so the order is the model's.

    >>> body = elasticsearch_model(LinearModel(weights=(0.5,), feature_names=("age",), shift=(40.0,), spread=(8.0,)))
    >>> body["model"]["model"]["feature_normalizers"]
    {'age': {'standard': {'mean': 40.0, 'standard_deviation': 8.0}}}
    >>> body["model"]["model"]["definition"]
    '{"age": 0.5}'
    """
    require_one_scaling(model, TARGET)
    names = require_feature_names(model, TARGET)
    if len(names) > MAX_FEATURES:
        raise SettingsError(f"{TARGET}: a feature set holds at most {MAX_FEATURES:,} features; got {len(names):,}")
    ranker: dict[str, Any] = {"type": "model/linear"}
    if fold:
        weights = folded_weights(model, TARGET)
    else:
        weights = normalised_weights(model, TARGET)
        normalisers = {
            name: {"standard": {"mean": scaling[0], "standard_deviation": scaling[1]}}
            for name, scaling in zip(names, require_normaliser(model, TARGET), strict=True)
            if scaling is not None
        }
        if normalisers:
            ranker["feature_normalizers"] = normalisers
    # The definition is JSON within JSON: the plugin hands the text to the parser of the model's type.
    ranker["definition"] = json.dumps(named(names, weights), allow_nan=False, ensure_ascii=False)
    return {"model": {"name": require_model_name(model, TARGET), "model": ranker}}
