"""What a run leaves in a results folder says which impressions a number belongs to."""

from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from rankloop.data import load
from rankloop.errors import DataError, SettingsError
from rankloop.learners import ROLTR
from rankloop.runs.run import Run
from rankloop.simulation import simulate
from rankloop.studies import records
from rankloop.studies.records import (
    Results,
    key_of,
    read_queries,
    read_records,
    read_results,
    record_path,
    write_record,
    write_summary,
)
from rankloop.studies.specification import Grid, Study, cells, to_toml
from rankloop.users import noisy

AT = [0, 10, 20, 25]


def study(**more):
    settings = {"users": ("noisy",), "impressions": 25, "evaluate_every": 10, "repeats": 1} | more
    grid = Grid(name="g", title="A grid", learners=({"learner": "ROLTR"},))
    return Study(name="s", grids=(grid,), collections=("tiny",), **settings)


def run_of_known_pages():
    """Impression i showed a page of nDCG i/100; the ranker is worth 0.3 at first and 0.1 more at each evaluation."""
    return Run(
        online_curve=np.arange(25) / 100, offline_curve=np.array([[at, 0.3 + 0.1 * i] for i, at in enumerate(AT)]),
        clicks=np.full(25, 2), weights=np.array([0.5, -1.0]), checkpoints=np.zeros((4, 2)),
        variance_curve=np.zeros(0), settings={"seed": 1}, manifest={"cores": 2},
        seconds={"learning": 1.0, "evaluation": 0.5},
    )  # fmt: skip


@pytest.fixture
def kept(tmp_path):
    """The run as it is read back from its record."""
    (tmp_path / "runs").mkdir()
    [cell] = cells(study())
    write_record(tmp_path, "abc", run_of_known_pages())
    [record] = read_records(tmp_path, [(cell, "abc")])
    return record


def test_an_interval_of_the_online_curve_is_the_mean_of_the_pages_shown_in_it(kept):
    assert kept.offline_at == AT
    assert kept.offline_curve == pytest.approx([0.3, 0.4, 0.5, 0.6])
    # Impressions 0 to 9, 10 to 19 and 20 to 24.
    assert kept.online_curve == pytest.approx([0.045, 0.145, 0.22])
    assert (kept.clicks_per_page, kept.weights) == (2.0, [0.5, -1.0])


def test_in_the_table_of_curves_online_stands_beside_the_impression_that_ends_its_interval(kept, tmp_path, made_up):
    results = made_up(study())
    results.records[:] = [kept]
    write_summary(tmp_path, results)
    rows = pq.read_table(tmp_path / "curves.parquet").to_pylist()
    assert [row["impression"] for row in rows] == AT
    assert rows[0]["online_ndcg"] is None  # nothing was shown before the first evaluation
    assert [row["online_ndcg"] for row in rows[1:]] == pytest.approx([0.045, 0.145, 0.22])
    assert [row["offline_ndcg"] for row in rows] == pytest.approx([0.3, 0.4, 0.5, 0.6])


def test_a_run_has_another_key_when_anything_that_determines_it_is_another():
    def key(content="content", **more):
        return key_of(cells(study(**more))[0], content)

    others = [
        key(content="other content"),
        key(impressions=26),
        key(evaluate_every=5),
        key(users=("perfect",)),
        key(page_size=5),
        key(metrics=("ndcg", "map")),
        key(seed=2),
    ]
    assert key() == key()
    assert len({key(), *others}) == 1 + len(others)


def test_a_run_has_another_key_when_the_sources_that_compute_it_are_others(monkeypatch):
    [cell] = cells(study())
    before = key_of(cell, "content")
    monkeypatch.setattr(records, "fingerprint_of", lambda *settings: f"edited: {settings!r}")
    assert key_of(cell, "content") != before


METRICS = ("map", "ndcg@5", "err")


@pytest.fixture(scope="module")
def measured():
    """A short run by three metrics."""
    return simulate(ROLTR(), noisy(), load("tiny"), 25, seed=1, evaluate_every=10, metrics=METRICS)


def record_of(run, folder):
    (folder / "runs").mkdir()
    [cell] = cells(study(metrics=METRICS))
    write_record(folder, "abc", run)
    [record] = read_records(folder, [(cell, "abc")])
    return record


def test_a_record_keeps_every_metric_and_can_be_seen_by_each(measured, tmp_path):
    kept = record_of(measured, tmp_path)
    assert (kept.metric, [one.metric for one in kept.others]) == ("ndcg@5", ["map", "err@10"])
    assert kept.by("ndcg@5") is kept
    seen = kept.by("err@10")
    assert (seen.metric, seen.online_ndcg, seen.offline_ndcg) == ("err@10", *ends(measured))
    assert seen.offline_curve == measured.by("err").offline_curve[:, 1].tolist()
    assert seen.online_curve == pytest.approx([measured.by("err").online_curve[a:b].mean() for a, b in pairwise(AT)])
    assert np.isnan(kept.by("map").online_ndcg)
    assert kept.by("map").online_curve == []
    with pytest.raises(SettingsError, match=r"not measured by ndcg@10, only by ndcg@5, map, err@10; set `metrics` in"):
        kept.by("ndcg@10")


def ends(run):
    return run.by("err").online, run.by("err").offline


def test_what_each_query_got_is_kept_apart_and_small(measured, tmp_path):
    kept = record_of(measured, tmp_path)
    queries = read_queries(tmp_path, kept)
    assert queries.metrics == ("map", "ndcg@5", "err@10")
    assert queries.query_ids.tolist() == load("tiny").test.query_ids.tolist()
    assert queries.values.tobytes() == measured.by_query.values[-1].tobytes()
    write_record(tmp_path, "none", replace(measured, query_values=np.zeros((0, 3, 0), np.float32)))
    path = record_path(tmp_path, "none")
    # Less than five bytes for each query and metric, and two for its number.
    assert record_path(tmp_path, "abc").stat().st_size - path.stat().st_size < 17 * len(queries.query_ids) + 500
    with pytest.raises(DataError, match="has no query results"):
        read_queries(tmp_path, msgspec.structs.replace(kept, key="missing"))


def test_results_are_seen_by_the_metric_that_the_study_names_first(measured, tmp_path):
    results = Results(study(metrics=METRICS), [record_of(measured, tmp_path)])
    assert results.metric.title == "nDCG@5"
    assert results.by().metric.title == "MAP"
    assert results.by("err").metric.title == "ERR@10"
    assert results.metric.title == "nDCG@5"
    old = Results(study(page_size=3), [msgspec.structs.replace(results.records[0], metric="ndcg@10", others=[])])
    assert old.by().metric.title == "nDCG@10"  # what a version that knew nothing else had measured
    with pytest.raises(SettingsError, match="not measured by p@10"):
        results.by("p")


def test_tables_for_other_tools_have_two_columns_for_each_further_metric(measured, tmp_path):
    kept = record_of(measured, tmp_path)
    write_summary(tmp_path, Results(study(metrics=METRICS), [kept]))
    row = pq.read_table(tmp_path / "results.parquet").to_pylist()[0]
    assert (row["online_err@10"], row["offline_err@10"]) == ends(measured)
    assert row["offline_map"] == measured.by("map").offline
    assert "online_map" not in row
    curves = pq.read_table(tmp_path / "curves.parquet").to_pylist()
    assert [row["offline_map"] for row in curves] == measured.by("map").offline_curve[:, 1].tolist()
    assert curves[0]["online_err@10"] is None
    (tmp_path / "study.toml").write_text(to_toml(study(metrics=METRICS)))
    assert read_results(tmp_path).records[0].others[1] == kept.others[1]
