"""The queries that docs/studies.md shows work on a results folder, in DuckDB and in polars."""

import re
from pathlib import Path

import pytest

from .test_runner import run
from .test_specification import SMALL

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()


@pytest.mark.thorough
def test_the_query_for_duckdb_ranks_the_learners(tmp_path, monkeypatch):
    import duckdb

    run(SMALL, tmp_path / "results" / "rq2")
    monkeypatch.chdir(tmp_path)
    query = re.search(r'duckdb -c "(.*)"', PAGE).group(1)
    rows = duckdb.sql(query).fetchall()
    assert {label for label, _, _ in rows} == {"ROLTR", "PDGD"}
    assert [value for _, _, value in rows] == sorted((value for _, _, value in rows), reverse=True)


@pytest.mark.thorough
def test_the_snippet_for_polars_averages_the_curves(tmp_path, monkeypatch):
    run(SMALL, tmp_path / "results" / "rq2")
    monkeypatch.chdir(tmp_path)
    snippet = re.search(r"```python\n(import polars.*?)```", PAGE, flags=re.DOTALL).group(1)
    *statements, last = snippet.strip().splitlines()
    names = {}
    exec("\n".join(statements), names)
    assert len(eval(last, names)) == 2 * 2 * 3  # labels × users × points
