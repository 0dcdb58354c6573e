"""What a study's page offers to other tools: the files as they lie there, and results and tables as CSV."""

import json
import re
from pathlib import Path

import msgspec

from rankloop.studies.page import policy_for
from rankloop.studies.records import Record, Results
from rankloop.studies.tables import Table
from rankloop.web.spreadsheets import csv_text

_LISTS = ("offline_at", "offline_curve", "online_curve", "weights")
_DOCUMENTS = ("settings", "manifest")
_PLACE = ("key", "grid", "collection", "user", "label", "learner", "fold", "seed")


def results_csv(results: Results) -> str:
    """One row per run. Curves and weights, which are lists, are in curves.csv and in the Parquet files."""
    columns = [name for name in Record.__struct_fields__ if name not in _LISTS]
    rows = []
    for record in results.records:
        values = msgspec.to_builtins(record)
        rows.append([json.dumps(values[name]) if name in _DOCUMENTS else values[name] for name in columns])
    return csv_text(columns, rows)


def curves_csv(results: Results) -> str:
    """One row per run and evaluation point."""
    rows = (
        [*(getattr(record, name) for name in _PLACE), at, offline, online]
        for record in results.records
        for at, offline, online in zip(
            record.offline_at, record.offline_curve, [None, *record.online_curve], strict=False
        )
    )
    return csv_text([*_PLACE, "impression", "offline_ndcg", "online_ndcg"], rows)


def table_csv(table: Table) -> str:
    """A table as it is shown, with every name in every row."""
    return csv_text([column.heading for column in table.columns], ([cell.plain for cell in row] for row in table.rows))


def policy_of(page: str) -> str:
    """A policy for a self-contained report: its own style by its hash, pictures that it carries, and nothing else."""
    styles = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    return f"{policy_for(styles)}; frame-ancestors 'none'"


def media_type(path: Path) -> str:
    """What a file is."""
    kinds = {".md": "text/markdown", ".toml": "application/toml", ".tex": "text/x-tex", ".csv": "text/csv"}
    return kinds.get(path.suffix, "application/octet-stream")
