"""`rankloop results`: what a results folder holds, as tables and as JSON."""

import json

import pytest

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
    assert "choose from ROLTR, PDGD" in said
    code, _, said = rankloop("results", folder, "--generalise-to", "everything")
    assert code == 2
    assert "similar-collections" in said


def test_one_fold_says_nothing_about_similar_collections(rankloop, folder):
    code, out, _ = rankloop("results", folder, "--generalise-to", "similar-collections")
    assert code == 0
    assert "for similar collections (not known from one fold)" in out
