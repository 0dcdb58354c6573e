"""`rankloop results queries`: two methods query by query."""

import json
import re

import pytest

from ..studies.test_by_query import MEASURED
from ..studies.test_runner import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    run(MEASURED.replace("repeats = 4", 'repeats = 2\nusers = ["noisy"]'), folder)
    return folder


def test_the_comparison_and_the_worst_queries_are_printed(rankloop, folder, tmp_path):
    code, out, _ = rankloop(
        "results", "queries", folder, "ROLTR", "--metric", "map", "--worst", 3, "--picture", tmp_path / "q.svg"
    )
    assert code == 0
    assert "ROLTR − PDGD, noisy clicks, tiny: MAP" in out
    assert "paired over" in out
    assert re.search(r", p (= 0\.\d|< 0\.0001)", out)
    assert (tmp_path / "q.svg").exists()
    code, out, _ = rankloop("results", "queries", folder, "PDGD", "--against", "ROLTR", "--json")
    [found] = json.loads(out)
    assert (found["metric"], found["pairs"]) == ("ndcg@10", 2)
    assert found["better"] + found["equal"] + found["worse"] == len(found["queries"])
    losses = [query["ours"] - query["theirs"] for query in found["queries"]]
    assert losses == sorted(losses)


def test_a_query_counts_by_the_runs_on_its_own_fold(rankloop, folder, tmp_path):
    text = MEASURED.replace("folds = [1, 2]", "folds = [1]")
    run(text.replace("repeats = 4", 'repeats = 2\nusers = ["noisy"]'), tmp_path)
    _, one_fold, _ = rankloop("results", "queries", tmp_path, "ROLTR")
    assert "a query counts by its mean over 2 runs of each." in one_fold
    _, two_folds, _ = rankloop("results", "queries", folder, "ROLTR")
    assert "a query counts by its mean over the runs on its fold; in all, 2 runs of each on 2 folds." in two_folds


def test_a_method_that_was_not_run_is_named(rankloop, folder):
    code, _, err = rankloop("results", "queries", folder, "RankNut")
    assert code == 2
    assert "no method 'RankNut'; choose from 'ROLTR', 'PDGD'" in err
    code, _, err = rankloop("results", "queries", folder, "ROLTR", "--user", "nosy")
    assert code == 2
    assert "no user 'nosy'; choose from 'noisy'" in err


def test_results_and_report_show_the_metric_that_is_asked_for(rankloop, folder):
    code, out, _ = rankloop("results", folder, "--metric", "map")
    assert code == 0
    assert "offline MAP" in out
    assert "nDCG" not in out
    code, out, _ = rankloop("results", folder, "--json")
    row = json.loads(out)["rows"][0]
    assert {"offline_map", "online_ndcg", "offline_ndcg"} <= row.keys()
    code, out, _ = rankloop("results", folder, "--metric", "map", "--json")
    found = json.loads(out)
    assert (found["metric"], found["rows"][0]) == ("map", row)
    [one] = found["comparisons"]
    [theirs] = (other["offline_map"]["mean"] for other in found["rows"] if other["label"] == "PDGD")
    assert one["measure"] == "offline_map"
    assert one["difference"] == pytest.approx(row["offline_map"]["mean"] - theirs)
    code, out, _ = rankloop("report", folder, "--metric", "map")
    assert code == 0
    assert "MAP on held-out queries" in (folder / "report.md").read_text()
    code, _, err = rankloop("results", folder, "--metric", "err")
    assert code == 2
    assert "not measured by err@10, only by ndcg@10, map" in err
