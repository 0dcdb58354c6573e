"""What a study's page offers to other tools: the files as they lie there, and results and tables as CSV."""

import re
from pathlib import Path

from rankloop.display.spreadsheets import csv_text
from rankloop.studies.columns import CURVE
from rankloop.studies.page import policy_for
from rankloop.studies.records import Results, curve_rows, summary_rows


def results_csv(results: Results) -> str:
    """One row per run. Curves and weights, which are lists, are in curves.csv and in the Parquet files."""
    rows = summary_rows(results)
    columns = [name for name, value in rows[0].items() if not isinstance(value, list)]
    return csv_text(columns, ([row[name] for name in columns] for row in rows))


def curves_csv(results: Results) -> str:
    """One row per run and evaluation point."""
    return csv_text(CURVE, ([*row.values()] for row in curve_rows(results)))


def policy_of(page: str) -> str:
    """A policy for a self-contained report: its own style by its hash, pictures that it carries, and nothing else."""
    styles = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    return f"{policy_for(styles)}; frame-ancestors 'none'"


def media_type(path: Path) -> str:
    """What a file is."""
    kinds = {".md": "text/markdown", ".toml": "application/toml", ".tex": "text/x-tex", ".csv": "text/csv"}
    return kinds.get(path.suffix, "application/octet-stream")
