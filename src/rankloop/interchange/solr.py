"""A linear model for Solr's Learning to Rank module.

The format is that of "Uploading a Model" (https://solr.apache.org/guide/solr/latest/query-guide/learning-to-rank.html):
class `org.apache.solr.ltr.model.LinearModel`, features with `org.apache.solr.ltr.norm.StandardNormalizer`, whose
parameters are numbers written as text. Solr scores Σ weight · normalised feature in single precision.
"""

from typing import Any

from rankloop.errors import SettingsError
from rankloop.interchange.models import Model
from rankloop.interchange.targets import engine_parts

TARGET = "Solr LTR"


def solr_model(model: Model, *, store: str | None = None, fold: bool = False) -> dict[str, Any]:
    """The body of `PUT /solr/<collection>/schema/model-store`; the feature store must have features of these names.

    Args:
        model: what to export.
        store: the feature store that the features are in; None: Solr's default store.
        fold: divide the weights by the spreads instead of sending normalisers. Only a constant is dropped from the
            scores, the same for every document, so the order is the model's.

    >>> from rankloop.interchange import LinearModel
    >>> body = solr_model(LinearModel(weights=(0.5,), feature_names=("age",), shift=(40.0,), spread=(8.0,)))
    >>> body["features"]
    [{'name': 'age', 'norm': {'class': 'org.apache.solr.ltr.norm.StandardNormalizer',
      'params': {'avg': '40.0', 'std': '8.0'}}}]
    >>> body["params"]
    {'weights': {'age': 0.5}}
    """
    # Solr logs features as name=value,name=value: with either in a name they could not be read back for ranking.
    name, weights, scalings = engine_parts(model, TARGET, fold=fold, forbidden=",=")
    body: dict[str, Any] = {"class": "org.apache.solr.ltr.model.LinearModel", "name": name}
    if store is not None:
        if not isinstance(store, str) or not store.strip():
            raise SettingsError(f"{TARGET}: store must be the name of a feature store; got {store!r}")
        body["store"] = store
    features: list[dict[str, Any]] = [{"name": feature} for feature in weights]
    for feature in features:
        if scaling := scalings.get(feature["name"]):
            shift, spread = map(repr, scaling)
            norm = {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": {"avg": shift, "std": spread}}
            feature["norm"] = norm
    return body | {"features": features, "params": {"weights": weights}}
