"""Rankers and rankings in the forms that other tools read: JSON, search engines' own, ONNX, and trec_eval's."""

from rankloop.interchange.elasticsearch import elasticsearch_model
from rankloop.interchange.exports import EXPORT_FORMATS, export_model
from rankloop.interchange.models import LinearModel, NeuralModel, load_model, model_text
from rankloop.interchange.onnx import onnx_model
from rankloop.interchange.rankers import Ranker, load_ranker, read_ranker, save_ranker
from rankloop.interchange.solr import solr_model
from rankloop.interchange.trec import qrels_lines, run_lines, write_qrels, write_run

__all__ = [
    "EXPORT_FORMATS",
    "LinearModel",
    "NeuralModel",
    "Ranker",
    "elasticsearch_model",
    "export_model",
    "load_model",
    "load_ranker",
    "model_text",
    "onnx_model",
    "qrels_lines",
    "read_ranker",
    "run_lines",
    "save_ranker",
    "solr_model",
    "write_qrels",
    "write_run",
]
