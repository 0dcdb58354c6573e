"""One name per format, for whoever is asked for an export by name: the command line, the service."""

from rankloop.interchange.elasticsearch import ELASTICSEARCH, OPENSEARCH, elasticsearch_model
from rankloop.interchange.models import Model, model_text
from rankloop.interchange.onnx import onnx_model
from rankloop.interchange.rankers import json_text
from rankloop.interchange.solr import solr_model
from rankloop.settings import require_choice

EXPORT_FORMATS = {
    "json": "application/json",
    "elasticsearch": "application/json",
    "opensearch": "application/json",
    "solr": "application/json",
    "onnx": "application/octet-stream",
}
"""The formats, with their media types. OpenSearch's plugin reads what Elasticsearch's does."""


def export_model(model: Model, form: str) -> bytes:
    """The model in one of `EXPORT_FORMATS`, as the bytes of a file or of a request to the engine.

    >>> from rankloop.interchange import LinearModel
    >>> print(export_model(LinearModel(weights=(0.5,), feature_names=("bm25",), name="shop"), "solr").decode())
    {
     "class": "org.apache.solr.ltr.model.LinearModel",
     "name": "shop",
     "features": [
      {
       "name": "bm25"
      }
     ],
     "params": {
      "weights": {
       "bm25": 0.5
      }
     }
    }
    """
    require_choice("export", "format", form, EXPORT_FORMATS)
    if form == "onnx":
        return onnx_model(model)
    if form == "json":
        text = model_text(model)
    elif form == "solr":
        text = json_text(solr_model(model))
    else:
        text = json_text(elasticsearch_model(model, target=OPENSEARCH if form == "opensearch" else ELASTICSEARCH))
    # A lone surrogate in a name has no UTF-8; with a backslash it is JSON's own escape for it.
    return text.encode("utf-8", errors="backslashreplace")
