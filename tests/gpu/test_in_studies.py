"""On a real device: many simulations, a study and a search come to what the CPU does."""

import pytest

import rankloop as rl
from rankloop.runs.batches import engine_of
from rankloop.studies.tuning import tune

from ..studies.small_studies import SMALL
from ..studies.test_places import run_on_device
from ..studies.test_runner import Here, run

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]


def test_a_study_has_the_numbers_of_the_cpu_and_goes_on_where_it_was(tmp_path):
    there, here = run_on_device(SMALL, tmp_path / "there"), run(SMALL, tmp_path / "here")
    assert there.failures == []
    assert all(record.engine.startswith("gpu:") for record in there.results.records)
    for field in ("online_ndcg", "offline_ndcg", "offline_curve", "weights"):
        made = [getattr(record, field) for record in there.results.records]
        for one, other in zip(made, [getattr(record, field) for record in here.results.records], strict=True):
            assert one == pytest.approx(other, rel=1e-9)
    again = Here()
    assert len(run_on_device(SMALL, tmp_path / "there", again).results.records) == 16
    assert again.ran == []


def test_many_simulations_and_a_search_do_too():
    how = {"users": rl.users.noisy(), "data": rl.load("tiny"), "impressions": 200, "seeds": 3}
    there, here = (rl.simulate_many([rl.ROLTR(), rl.PLRank()], on=on, **how) for on in ("gpu", "threads"))
    assert [run.online_ndcg for run in there] == pytest.approx([run.online_ndcg for run in here], rel=1e-9)
    assert [bool(engine_of(run.manifest)) for run in there] == [True] * 3 + [False] * 3
    search = {"search": {"learning_rate": [0.001, 0.03]}, "impressions": 100, "repeats": 2, "workers": 1}
    found, known = (tune(rl.ROLTR(), "noisy", rl.load("tiny"), on=on, **search) for on in ("gpu", "local"))
    assert [one.mean for one in found.candidates] == pytest.approx([one.mean for one in known.candidates], rel=1e-9)
