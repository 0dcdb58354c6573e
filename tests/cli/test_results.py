"""`rankloop results`: what a results folder holds, as tables and as JSON."""

import json
import shutil

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.cli.results import _show_regret, show_results
from rankloop.engines.threads import LocalThreads
from rankloop.studies.records import Results
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import Study, cells

from ..studies.regret.test_findings import findings
from ..studies.small_studies import SMALL
from .kept import results_folder


@pytest.fixture
def folder(tmp_path):
    """Results of ROLTR and PDGD, three runs each, as if they had been run."""
    return results_folder(tmp_path, "ROLTR", "PDGD", repeats=3)


def test_every_cell_has_a_row_with_all_of_its_runs(rankloop, folder):
    code, out, _ = rankloop("results", folder, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["study"], found["runs"]) == ("mine", 6)
    assert [row["label"] for row in found["rows"]] == ["ROLTR", "PDGD"]
    for row in found["rows"]:
        online = row["online_ndcg"]
        assert online["mean"] == pytest.approx(sum(online["runs"]) / 3)


def test_the_tables_compare_roltr_with_pdgd(rankloop, folder):
    code, out, _ = rankloop("results", folder)
    assert code == 0
    assert "noisy clicks, tiny" in out
    assert "Against PDGD online: ROLTR" in out
    assert "Against PDGD offline: ROLTR" in out
    assert "for this collection (seeds random)" in out
    assert "after 2,000 impressions" in out
    assert "MDPRank" not in out


def test_the_skyline_is_explained_where_it_ran(rankloop, tmp_path):
    results_folder(tmp_path, "MDPRank", "PDGD", repeats=3)
    assert "MDPRank learns from the true grades: a skyline." in rankloop("results", tmp_path)[1]


def test_one_run_of_each_is_not_compared(rankloop, tmp_path):
    results_folder(tmp_path, "ROLTR", "PDGD", repeats=1)
    code, out, _ = rankloop("results", tmp_path)
    assert code == 0
    assert "Against PDGD" not in out


def test_any_method_can_be_the_baseline(rankloop, folder):
    code, out, _ = rankloop("results", folder, "--against", "ROLTR", "--json")
    found = json.loads(out)["comparisons"]
    assert code == 0
    assert [(one["label"], one["against"], one["measure"]) for one in found] == [
        ("PDGD", "ROLTR", "online_ndcg"),
        ("PDGD", "ROLTR", "offline_ndcg"),
    ]
    assert all(one["pairs"] == 3 for one in found)


def test_unknown_choices_are_refused(rankloop, folder):
    code, _, said = rankloop("results", folder, "--against", "nobody")
    assert code == 2
    assert "choose from 'ROLTR', 'PDGD'" in said
    code, _, said = rankloop("results", folder, "--generalise-to", "everything")
    assert code == 2
    assert "similar-collections" in said


def test_one_fold_says_nothing_about_similar_collections(rankloop, folder):
    code, out, _ = rankloop("results", folder, "--generalise-to", "similar-collections")
    assert code == 0
    assert "for similar collections (not known from one fold)" in out


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small study that was run."""
    folder = tmp_path_factory.mktemp("finished")
    study = msgspec.toml.decode(SMALL, type=Study)
    plan = make_plan(study, cells(study), folder)
    with claimed(plan) as plan, LocalThreads(2) as threads:
        run_plan(plan, threads, lambda _: None)
    return folder


def test_records_are_verified_by_computing_some_again(rankloop, finished):
    code, out, said = rankloop("results", "verify", finished, "--sample", "2")
    assert code == 0
    assert out.count("same bits: ") == 2
    assert "2 of 2 runs are the same, bit for bit; the study has 16 finished runs." in out
    assert "computing again: 2 of 2 done" in said


def test_runs_that_are_not_of_the_study_are_said_to_be_not_verified(rankloop, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    record = next((tmp_path / "runs").glob("*.parquet"))
    shutil.copy(record, record.with_name("another.parquet"))
    _, out, _ = rankloop("results", "verify", tmp_path, "--sample", "1")
    assert "Not verified, though in this folder: 1 run " in " ".join(out.split())


def test_a_study_that_was_killed_shows_what_is_finished(rankloop, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "results.parquet").unlink()
    code, out, _ = rankloop("results", tmp_path, "--json")
    assert (code, json.loads(out)["runs"]) == (0, 16)
    assert rankloop("report", tmp_path)[0] == 0
    assert rankloop("results", "verify", tmp_path, "--sample", "1")[0] == 0
    for path in (tmp_path / "runs").iterdir():
        path.unlink()
    code, out, _ = rankloop("results", tmp_path, "--json")
    assert (code, json.loads(out)["runs"]) == (0, 0)
    assert rankloop("results", tmp_path)[:2] == (0, "No run is finished.\n")
    for words in (("verify", tmp_path), ("queries", tmp_path, "ROLTR")):
        code, _, said = rankloop("results", *words)
        assert code == 2
        assert "is finished; the same `rankloop run` command continues the study" in " ".join(said.split())


def test_a_record_that_is_missing_is_not_called_different(rankloop, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "runs").iterdir():
        path.unlink()
    code, out, _ = rankloop("results", "verify", tmp_path, "--sample", "1")
    assert code == 1
    assert out.startswith("NOT COMPARED: ")
    assert "0 of 1 run are the same, bit for bit; 1 could not be compared; the study has 16 finished runs." in out


def test_a_record_that_was_changed_is_exit_code_1(rankloop, finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "results.parquet", *(tmp_path / "runs").glob("*.parquet")):
        table = pq.read_table(path)
        rows = [row | {"online_ndcg": row["online_ndcg"] + 1e-9} for row in table.to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    code, out, _ = rankloop("results", "verify", tmp_path, "--sample", "1")
    assert code == 1
    assert "DIFFERS: " in out
    assert "off by 1e-09" in out
    code, out, _ = rankloop("results", "verify", tmp_path, "--sample", "1", "--json")
    assert (code, json.loads(out)[0]["same"]) == (1, False)


@pytest.mark.parametrize("words", [("--sample", "0"), ("--workers", "0")])
def test_what_cannot_be_verified_is_a_sentence(rankloop, finished, words):
    code, _, said = rankloop("results", "verify", finished, *words)
    assert code == 2
    assert "must be a whole number, at least 1" in said


def test_show_may_be_named_or_left_out(rankloop, folder):
    assert rankloop("results", folder, "--json") == rankloop("results", "show", "--json", folder)


def test_where_nothing_is_finished_nothing_is_explained(capsys):
    show_results(Results(Study(name="mine"), []), json=False)
    assert capsys.readouterr().out == "No run is finished.\n"


def test_what_is_bold_in_a_table_of_regret_is_starred_too(capsys):
    _show_regret(findings(), json=False)
    printed = capsys.readouterr().out
    assert ".40 (.35 to .45) ★" in printed
    assert "★: its interval ends below every other ratio." in printed
    assert "Bold" not in printed
