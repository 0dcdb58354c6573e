"""A linear model for Solr's Learning to Rank module.

The format is that of "Uploading a Model" (https://solr.apache.org/guide/solr/latest/query-guide/learning-to-rank.html):
class `org.apache.solr.ltr.model.LinearModel`, features with `org.apache.solr.ltr.norm.StandardNormalizer`, whose
parameters are numbers written as text. Solr scores Σ weight · normalised feature in single precision.
"""

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

TARGET = "Solr LTR"
MODEL_CLASS = "org.apache.solr.ltr.model.LinearModel"
NORMALISER_CLASS = "org.apache.solr.ltr.norm.StandardNormalizer"


def solr_model(model: LinearModel, *, store: str | None = None, fold: bool = False) -> dict[str, Any]:
    """The body of `PUT /solr/<collection>/schema/model-store`; the feature store must have features of these names.

    Args:
        model: what to export.
        store: the feature store that the features are in; None: Solr's default store.
        fold: divide the weights by the spreads instead of sending normalisers. Only a constant is dropped from the
            scores, the same for every document, so the order is the model's.

    >>> body = solr_model(LinearModel(weights=(0.5,), feature_names=("age",), shift=(40.0,), spread=(8.0,)))
    >>> body["features"]
    [{'name': 'age', 'norm': {'class': 'org.apache.solr.ltr.norm.StandardNormalizer',
      'params': {'avg': '40.0', 'std': '8.0'}}}]
    >>> body["params"]
    {'weights': {'age': 0.5}}
    """
    require_one_scaling(model, TARGET)
    # Solr logs features as name=value,name=value: with either in a name they could not be read back for ranking.
    names = require_feature_names(model, TARGET, forbidden=",=")
    body: dict[str, Any] = {"class": MODEL_CLASS, "name": require_model_name(model, TARGET)}
    if store is not None:
        if not isinstance(store, str) or not store.strip():
            raise SettingsError(f"{TARGET}: store must be the name of a feature store; got {store!r}")
        body["store"] = store
    scalings: list[tuple[float, float] | None] = [None] * len(names)
    if fold:
        weights = folded_weights(model, TARGET)
    else:
        weights, scalings = normalised_weights(model, TARGET), require_normaliser(model, TARGET)
    body["features"] = [
        {"name": name} if scaling is None else {"name": name, "norm": _normaliser(*scaling)}
        for name, scaling in zip(names, scalings, strict=True)
    ]
    body["params"] = {"weights": named(names, weights)}
    return body


def _normaliser(shift: float, spread: float) -> dict[str, Any]:
    return {"class": NORMALISER_CLASS, "params": {"avg": repr(shift), "std": repr(spread)}}
