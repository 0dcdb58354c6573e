"""The public table of runs: rows that others add to, read back as means with intervals."""

import json

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.errors import DataError
from rankloop.statistics import interval
from rankloop.studies.published_runs import COLUMNS, add_runs, read_runs, rows_of, summary
from rankloop.studies.records import Results

from .small_studies import small

MINE = {"engine": {"name": "gpu", "sources": "0"}, "versions": {"rankloop": "99.0"}}


@pytest.fixture(scope="module")
def results(made_up):
    """Two methods on two folds, made up."""
    learners = {"learner": "ROLTR"}, {"learner": "PDGD"}
    return made_up(small(*learners, repeats=4, collections=({"data": "tiny", "folds": (1, 2)},)))


def test_a_row_says_what_a_run_was_and_what_it_came_to(results):
    rows = rows_of(results).to_pylist()
    assert len(rows) == len(results.records) == 16
    record, row = results.records[0], rows[0]
    assert list(row) == COLUMNS.names
    assert (row["online"], row["offline"]) == (record.online_ndcg, record.offline_ndcg)
    assert row["speed"] == record.learning_speed
    assert json.loads(row["settings"])["learner"] == "ROLTR"
    assert row["engine"] == ""


def test_adding_twice_changes_nothing_and_adding_more_keeps_what_was_there(results, tmp_path):
    path = tmp_path / "runs.parquet"
    half = Results(results.study, results.records[:5])
    assert add_runs(path, rows_of(half)) == (5, 5)
    assert add_runs(path, rows_of(results)) == (11, 16)
    before = path.read_bytes()
    assert add_runs(path, rows_of(results)) == (0, 16)
    assert path.read_bytes() == before


def test_a_method_of_somebody_else_stands_beside_the_others(results, tmp_path):
    path = tmp_path / "runs.parquet"
    add_runs(path, rows_of(results))
    theirs = [
        msgspec.structs.replace(one, key=f"their-{one.key}", label="Mine", learner="Mine", manifest=MINE)
        for one in results.records
        if one.label == "ROLTR"
    ]
    add_runs(path, rows_of(Results(results.study, theirs)))
    lines = summary(read_runs(path), ["noisy"])
    assert {line.label for line in lines} == {"ROLTR", "PDGD", "Mine"}
    assert {line.runs for line in lines} == {4}
    assert next(line for line in lines if line.label == "Mine").engines == ("gpu:0",)


def test_means_have_the_intervals_of_runs_within_folds(results, tmp_path):
    (line,) = summary(rows_of(results), ["ROLTR", "perfect"])
    runs = results.select(label="ROLTR", user="perfect")
    assert line.offline == interval([one.offline_ndcg for one in runs], [one.fold for one in runs])


def test_a_run_that_two_grids_share_counts_once(results):
    twice = [*results.records, *(msgspec.structs.replace(one, grid="again") for one in results.records)]
    assert {line.runs for line in summary(rows_of(Results(results.study, twice)))} == {4}


def test_a_run_made_again_elsewhere_or_by_later_code_is_no_second_run(results, tmp_path):
    """The same seed twice says nothing new: intervals would be too narrow by a factor of √2."""
    path = tmp_path / "runs.parquet"
    add_runs(path, rows_of(results))
    again = [msgspec.structs.replace(one, key=f"again-{one.key}", manifest=MINE) for one in results.records]
    assert add_runs(path, rows_of(Results(results.study, again))) == (0, 16)
    other = [msgspec.structs.replace(one, offline_ndcg=0.5) for one in again]
    assert add_runs(path, rows_of(Results(results.study, other))) == (16, 32)
    lines = summary(read_runs(path))
    assert {line.runs for line in lines} == {4}
    assert {line.offline.mean for line in lines} == {0.5}


@pytest.mark.parametrize(
    ("column", "other"),
    [("metric", "mrr"), ("data", "another"), ("page_size", 5), ("settings", "{}"), ("people", "{}")],
)
def test_what_was_measured_otherwise_has_a_line_of_its_own(results, column, other):
    rows = rows_of(results).to_pylist()
    both = pa.Table.from_pylist([*rows, *({**row, column: other} for row in rows)], schema=COLUMNS)
    lines = summary(both)
    assert {line.runs for line in lines} == {4}
    assert len(lines) == 2 * len(summary(rows_of(results)))


@pytest.mark.parametrize("later_first", [True, False])
def test_a_run_made_again_counts_as_the_later_version_has_it(results, later_first):
    rows = rows_of(results).to_pylist()
    made = [{**row, "version": "0.9.0"} for row in rows], [{**row, "version": "0.10.0", "offline": 0.5} for row in rows]
    both = [*made[later_first], *made[not later_first]]
    assert {line.offline.mean for line in summary(pa.Table.from_pylist(both, schema=COLUMNS))} == {0.5}


def test_a_word_that_matches_nothing_is_told(results):
    with pytest.raises(DataError, match="--only 'nobody' matches nothing; choose from"):
        summary(rows_of(results), ["nobody"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"a": [1]}), "its metadata names no format"),
        (pa.table({"a": [1]}).replace_schema_metadata({"rankloop.runs": "2"}), "has format 2; this version reads 1"),
        (pa.table({"a": [1]}).replace_schema_metadata({"rankloop.runs": "1"}), "lacks columns of a table of runs"),
    ],
)
def test_another_file_is_refused(table, words, tmp_path):
    pq.write_table(table, tmp_path / "other.parquet")
    with pytest.raises(DataError, match=words):
        read_runs(tmp_path / "other.parquet")


def test_what_is_no_parquet_file_and_what_is_not_there_are_told(tmp_path):
    (tmp_path / "text.parquet").write_text("hello", encoding="utf-8")
    with pytest.raises(DataError, match="is not a table of runs, or is damaged"):
        read_runs(tmp_path / "text.parquet")
    with pytest.raises(DataError, match="does not exist; create it with `rankloop results add FOLDER --to"):
        read_runs(tmp_path / "absent.parquet")
