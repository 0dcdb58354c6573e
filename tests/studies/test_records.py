"""What a run leaves in a results folder says which impressions a number belongs to."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from rankloop.run import Run
from rankloop.studies import records
from rankloop.studies.records import key_of, read_records, write_record, write_summary
from rankloop.studies.specification import Grid, Study, cells

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
        key(seed=2),
    ]
    assert key() == key()
    assert len({key(), *others}) == 1 + len(others)


def test_a_run_has_another_key_when_the_sources_that_compute_it_are_others(monkeypatch):
    [cell] = cells(study())
    before = key_of(cell, "content")
    monkeypatch.setattr(records, "fingerprint_of", lambda *settings: f"edited: {settings!r}")
    assert key_of(cell, "content") != before
