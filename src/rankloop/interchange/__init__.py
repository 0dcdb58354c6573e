"""Rankers and rankings in the forms that other tools read: JSON, and the run and qrels files of trec_eval."""

from rankloop.interchange.commands import main_qrels, main_ranker, main_run
from rankloop.interchange.rankers import Ranker, load_ranker, read_ranker, save_ranker
from rankloop.interchange.trec import qrels_lines, run_lines, write_qrels, write_run

__all__ = [
    "Ranker",
    "load_ranker",
    "main_qrels",
    "main_ranker",
    "main_run",
    "qrels_lines",
    "read_ranker",
    "run_lines",
    "save_ranker",
    "write_qrels",
    "write_run",
]
