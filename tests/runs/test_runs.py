"""Tables, summaries and comparisons of runs are what one would compute from the runs by hand."""

import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from rankloop.data import load
from rankloop.errors import SettingsError
from rankloop.learners import PDGD, ROLTR
from rankloop.runs.many import simulate_many
from rankloop.runs.runs import Place, Runs, _distinct
from rankloop.simulation import simulate
from rankloop.users import noisy, perfect

from ..proofs import small

DATA = small.collection()
RUNS = simulate_many([ROLTR(), PDGD()], [noisy(), perfect()], DATA, 60, seeds=4, evaluate_every=20)


def test_runs_are_a_sequence():
    assert len(RUNS) == 16
    assert RUNS[0].settings["seed"] == 1
    assert [run.settings["seed"] for run in RUNS[2:4]] == [3, 4]
    assert isinstance(RUNS[2:4], Runs)
    assert len(RUNS[:2] + RUNS[2:5]) == 5
    assert repr(RUNS) == "Runs(16 runs of ROLTR and PDGD with noisy and perfect on small)"
    assert repr(Runs([])) == "Runs(none)"


def test_names_that_tell_runs_apart_leave_out_what_a_method_does_not_have():
    linear = {"learner": "PDGD", "ranker": {"kind": "linear"}}
    network = {"learner": "PDGD", "ranker": {"kind": "mlp", "hidden": [64]}}
    assert _distinct([("PDGD", linear), ("PDGD", network), ("PDGD", linear)]) == [
        "PDGD ranker.kind=linear",
        "PDGD ranker.kind=mlp ranker.hidden=[64]",
        "PDGD ranker.kind=linear",
    ]


def test_runs_are_selected_by_place_seed_and_fold():
    chosen = RUNS.select(label="PDGD", user="noisy", seed=3, fold=None)
    assert [run.settings["seed"] for run in chosen] == [3]
    assert chosen.places == (Place("small", "noisy", "PDGD"),)
    with pytest.raises(SettingsError, match="select: name must be one of 'collection'"):
        RUNS.select(learner="PDGD")


def test_a_table_has_a_row_for_each_run():
    rows = RUNS.to_arrow().to_pylist()
    assert len(rows) == 16
    assert rows[5]["online_ndcg"] == RUNS[5].online_ndcg
    assert (rows[5]["user"], rows[5]["label"], rows[5]["seed"]) == ("perfect", "ROLTR", 2)
    assert json.loads(rows[5]["settings"]) == json.loads(json.dumps(RUNS[5].settings))


def test_curves_have_a_row_for_each_point_and_names_as_in_a_study():
    from rankloop.studies.columns import CURVE

    table = RUNS.to_arrow("curves")
    assert set(table.column_names) == set(CURVE) - {"key", "grid"}
    first = table.slice(0, 4).to_pylist()
    assert [row["impression"] for row in first] == [0, 20, 40, 60]
    assert [row["offline_ndcg"] for row in first] == RUNS[0].offline_curve[:, 1].tolist()
    wanted = [None, *(RUNS[0].online_curve[at : at + 20].mean() for at in (0, 20, 40))]
    assert [row["online_ndcg"] for row in first] == wanted


def test_runs_and_studies_have_the_same_columns(tmp_path):
    from rankloop.engines.threads import LocalThreads
    from rankloop.studies.runner import claimed, make_plan, run_plan
    from rankloop.studies.specification import Grid, Study, cells

    metrics = ("ndcg", "map", "err")
    study = Study(
        name="mine", impressions=60, repeats=1, evaluate_every=20, users=("noisy",),
        collections=({"data": "tiny", "folds": [1]},), metrics=metrics,
        grids=(Grid(name="g", learners=({"learner": "PDGD"},)),),
    )  # fmt: skip
    with claimed(make_plan(study, cells(study), tmp_path)) as plan, LocalThreads(1) as threads:
        results = run_plan(plan, threads, lambda _: None).results
    run = simulate(PDGD(), noisy(), load("tiny"), 60, seed=1, evaluate_every=20, metrics=metrics)
    for rows, places in (("runs", {"key", "grid", "stands_for", "is_published"}), ("curves", {"key", "grid"})):
        ours, theirs = run.to_arrow(rows), results.to_arrow(rows)
        assert set(ours.column_names) == set(theirs.column_names) - places
        for name in set(ours.column_names) - {"learning_seconds", "evaluation_seconds", "settings", "manifest"}:
            assert str(ours.column(name).to_pylist()) == str(theirs.column(name).to_pylist()), name  # nan too
    assert pq.read_table(tmp_path / "results.parquet").column_names == results.to_arrow().column_names


def test_a_frame_holds_the_same_as_the_table():
    pandas = pytest.importorskip("pandas")
    frame = RUNS.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["online_ndcg"].tolist() == [run.online_ndcg for run in RUNS]
    assert RUNS[0].to_pandas("curves")["impression"].tolist() == [0, 20, 40, 60]


def test_without_pandas_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr("rankloop.display.sheets.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match="needs pandas, which is not installed"):
        RUNS.to_pandas()


def test_a_summary_has_the_mean_and_the_interval_of_each_place():
    summary = RUNS.summary()
    assert [(row["user"], row["label"]) for row in summary] == [
        ("noisy", "ROLTR"), ("noisy", "PDGD"), ("perfect", "ROLTR"), ("perfect", "PDGD"),
    ]  # fmt: skip
    values = np.array([run.online_ndcg for run in RUNS.select(label="PDGD", user="noisy")])
    row = summary[1]
    assert row["online_mean"] == pytest.approx(values.mean())
    assert row["online_half_width"] == pytest.approx(stats.t.ppf(0.975, 3) * values.std(ddof=1) / 2)
    assert row["online_iqm"] == pytest.approx(np.sort(values)[1:3].mean())
    assert f"{values.mean():.1f} ± " in str(summary).splitlines()[2]
    assert summary.to_arrow().num_rows == 4


def test_fewer_than_four_runs_have_no_middle_half():
    row = RUNS.summary()[0]
    assert f"  {row['online_iqm']:.1f}  " in str(RUNS.summary()).splitlines()[1]
    few = Runs([run for run in RUNS if run.settings["seed"] < 4]).summary()
    assert str(few).splitlines()[1].count(" – ") == 2


def test_a_comparison_pairs_runs_that_share_a_seed():
    compared = RUNS.compare("ROLTR", "PDGD")
    assert [(row["user"], row["measure"]) for row in compared] == [
        ("noisy", "online"), ("noisy", "offline"), ("perfect", "online"), ("perfect", "offline"),
    ]  # fmt: skip
    a, b = ([run.online_ndcg for run in RUNS.select(user="noisy", label=one)] for one in ("ROLTR", "PDGD"))
    assert compared[0]["difference"] == pytest.approx(np.mean(a) - np.mean(b))
    assert compared[0]["p"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    wins = [(x > y) + 0.5 * (x == y) for x in a for y in b]
    assert compared[0]["probability_of_improvement"] == pytest.approx(np.mean(wins))
    # The order of the runs does not matter: pairs are found by seed.
    shuffled = Runs(list(RUNS)[::-1], RUNS.places[::-1]).compare("ROLTR", "PDGD")
    assert sorted(row["p"] for row in shuffled) == pytest.approx(sorted(row["p"] for row in compared))


def test_what_cannot_be_compared_is_a_sentence():
    with pytest.raises(SettingsError, match="compare: b must be one of 'ROLTR', 'PDGD'; got 'DBGD'"):
        RUNS.compare("ROLTR", "DBGD")
    apart = RUNS.select(label="ROLTR", seed=1) + RUNS.select(label="PDGD", seed=2)
    with pytest.raises(SettingsError, match="share no collection, user, fold and seed"):
        apart.compare("ROLTR", "PDGD")


def test_a_run_has_the_same_verbs():
    run, other = RUNS[0], RUNS.select(label="PDGD")[0]
    assert run.to_arrow().num_rows == 1
    assert run.summary()[0]["online_mean"] == run.online_ndcg
    compared = run.compare(other)[0]
    assert compared["difference"] == pytest.approx(run.online_ndcg - other.online_ndcg)
    assert math.isnan(compared["p"])
    assert str(run.compare(simulate(ROLTR(), noisy(), DATA, 60, seed=9))).split()[:2] == ["this", "other"]


def test_a_run_without_evaluation_has_tables_too():
    runs = Runs([simulate(ROLTR(), noisy(), DATA, 30, seed=1, evaluate_every=0)])
    assert runs.to_arrow("curves").num_rows == 0
    assert math.isnan(runs.summary()[0]["offline_mean"])


def test_other_metrics_have_columns_summaries_comparisons_and_pictures():
    metrics = ["ndcg", "map", "mrr@10"]
    runs = simulate_many([ROLTR(), PDGD()], noisy(), DATA, 60, seeds=3, evaluate_every=20, metrics=metrics)
    rows = runs.to_arrow().to_pylist()
    assert rows[1]["offline_map"] == runs[1].by("map").offline
    assert rows[1]["online_mrr@10"] == runs[1].by("mrr@10").online
    assert runs.summary("map")[0]["offline_mean"] == pytest.approx(np.mean([run.by("map").offline for run in runs[:3]]))
    assert "online" not in str(runs.summary("map")).lower()
    assert "Offline: MAP on held-out queries" in str(runs.summary("map"))
    assert "Online: Σ 0.9995^i · MRR@10 of the pages shown" in str(runs.summary("mrr@10"))
    assert [row["measure"] for row in runs.compare("ROLTR", "PDGD", metric="map")] == ["offline"]
    assert [row["measure"] for row in runs.compare("ROLTR", "PDGD", metric="mrr@10")] == ["online", "offline"]
    drawn = runs.plot(metric="map").figure.axes[0].lines[0].get_ydata()
    assert np.allclose(drawn, np.mean([run.by("map").offline_curve[:, 1] for run in runs[:3]], axis=0))
    with pytest.raises(SettingsError, match="no page shows enough for MAP; plot its offline curve"):
        runs.plot("online", metric="map")
    with pytest.raises(SettingsError, match="not measured by err@10, only by ndcg@10, map, mrr@10"):
        runs.summary("err@10")
