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
from rankloop.interchange.models import Model
from rankloop.interchange.targets import engine_parts

ELASTICSEARCH, OPENSEARCH = "Elasticsearch LTR", "OpenSearch LTR"
MAX_FEATURES = 10_000
"""The plugin's own limit for a feature set (StoredFeatureSet.MAX_FEATURES)."""


def elasticsearch_model(model: Model, *, fold: bool = False, target: str = ELASTICSEARCH) -> dict[str, Any]:
    """The body of `POST _ltr/_featureset/<set>/_createmodel`; the set must have features of these names.

    Args:
        model: what to export.
        fold: divide the weights by the spreads instead of sending normalisers, for a plugin that does not know them.
            Only a constant is dropped from the scores, the same for every document, so the order is the model's.
        target: whose plugin it is for, as a refusal names it: the body is the same.

    >>> from rankloop.interchange import LinearModel
    >>> body = elasticsearch_model(LinearModel(weights=(0.5,), feature_names=("age",), shift=(40.0,), spread=(8.0,)))
    >>> body["model"]["model"]["feature_normalizers"]
    {'age': {'standard': {'mean': 40.0, 'standard_deviation': 8.0}}}
    >>> body["model"]["model"]["definition"]
    '{"age": 0.5}'
    """
    name, weights, scalings = engine_parts(model, target, fold=fold)
    if len(weights) > MAX_FEATURES:
        raise SettingsError(f"{target}: a feature set holds at most {MAX_FEATURES:,} features; got {len(weights):,}")
    ranker: dict[str, Any] = {"type": "model/linear"}
    if scalings:
        ranker["feature_normalizers"] = {
            feature: {"standard": {"mean": shift, "standard_deviation": spread}}
            for feature, (shift, spread) in scalings.items()
        }
    # The definition is JSON within JSON: the plugin hands the text to the parser of the model's type.
    ranker["definition"] = json.dumps(weights, allow_nan=False, ensure_ascii=False)
    return {"model": {"name": name, "model": ranker}}
