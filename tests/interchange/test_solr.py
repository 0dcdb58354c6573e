"""What Solr is sent."""

import json

import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import (
    LinearModel,
    elasticsearch_model,
    solr_model,
)


def test_solr_could_not_log_a_feature_with_a_separator_in_its_name():
    for name in ("a=b", "a,b"):
        model = LinearModel(weights=(1.0,), feature_names=(name,))
        with pytest.raises(SettingsError, match="must not contain"):
            solr_model(model)
        assert json.loads(elasticsearch_model(model)["model"]["model"]["definition"]) == {name: 1.0}


def test_solr_is_told_the_feature_store():
    model = LinearModel(weights=(1.0,))
    assert "store" not in solr_model(model)
    assert solr_model(model, store="shop")["store"] == "shop"
    with pytest.raises(SettingsError, match="name of a feature store"):
        solr_model(model, store=" ")
