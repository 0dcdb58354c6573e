"""Studies on a device: in batches, beside the CPU, resumed after a kill, and never mistaken for runs of the CPU."""

import threading

import msgspec
import pytest
from tests.patience import PATIENCE

from rankloop.engines.threads import LocalThreads
from rankloop.runs import batches
from rankloop.studies.coverage import Coverage
from rankloop.studies.held import Start
from rankloop.studies.places import WorkDone
from rankloop.studies.records import read_results
from rankloop.studies.report import _facts
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import cells, parse

from .small_studies import SMALL
from .test_runner import Here, numbers, run

ON = Start(("rankloop", "run", "small", "--on", "gpu"), on="gpu")


def run_on_device(text, folder, engine=None, show=lambda _: None, **more):
    study = parse(text, "small")
    with claimed(make_plan(study, cells(study), folder, ON)) as plan:
        return run_plan(plan, engine or Here(), show, **more)


@pytest.mark.thorough
def test_device_and_cpu_share_a_study_and_the_report_says_which_and_why(tmp_path, stand_in):
    there = Here()
    outcome = run_on_device(SMALL, tmp_path, there)
    assert {label for label, _, _ in there.ran} == {"PDGD"}
    assert sum(stand_in.batches) == 8
    assert {(record.label, record.engine) for record in outcome.results.records} == {
        ("ROLTR", "gpu:0123456789abcdef"), ("PDGD", ""),
    }  # fmt: skip
    facts = _facts(Coverage(outcome.results))
    assert [text for name, text in facts if name == "engine"] == [
        "a GPU, device code 0123456789abcdef: 8 runs", "the CPU: 8 runs",
    ]  # fmt: skip
    assert ("beside the GPU", "8 runs on the CPU: PDGD has no device code (8)") in facts
    assert numbers(outcome) == numbers(run(SMALL, tmp_path / "cpu"))  # the stand-in rounds as the CPU does


@pytest.mark.thorough
def test_records_of_a_device_are_not_taken_for_those_of_the_cpu_nor_the_other_way_round(tmp_path, stand_in):
    run_on_device(SMALL, tmp_path)
    there = Here()
    on_cpu = run(SMALL, tmp_path, there)
    assert {label for label, _, _ in there.ran} == {"ROLTR"}  # PDGD ran on the CPU before
    assert {record.engine for record in on_cpu.results.records} == {""}
    assert sum(stand_in.batches) == 8
    again = run_on_device(SMALL, tmp_path)
    assert sum(stand_in.batches) == 8
    assert {record.engine for record in again.results.select(label="ROLTR")} == {"gpu:0123456789abcdef"}
    (tmp_path / "results.parquet").unlink()
    assert {one.engine for one in read_results(tmp_path).select(label="ROLTR")} == {"gpu:0123456789abcdef"}


@pytest.mark.thorough
def test_edited_device_code_is_another_engine(tmp_path, stand_in, monkeypatch):
    from rankloop import gpu

    run_on_device(SMALL, tmp_path)
    monkeypatch.setattr(gpu, "fingerprint", lambda: "fedcba9876543210")
    run_on_device(SMALL, tmp_path)
    assert stand_in.batches == [4, 4] * 2  # two folds


def test_whether_there_is_device_code_is_asked_once_for_all_seeds(tmp_path, stand_in):
    study = parse(SMALL, "small")
    make_plan(study, cells(study), tmp_path, ON)
    assert stand_in.asked == 8  # two methods, two users, two folds


def test_a_plan_knows_that_methods_differ_on_a_device(tmp_path, stand_in):
    """ROLTR's rate was taken for that of all: a study of minutes was announced as one of seconds."""
    stand_in.methods = ("ROLTR", "COLTR")
    announced = {}
    for name in stand_in.methods:
        study = parse(
            SMALL.replace('{ learner = "ROLTR" }, { learner = "PDGD" }', f'{{ learner = "{name}" }}'), "small"
        )
        plan = make_plan(study, cells(study), tmp_path, ON)
        # Records take a part of a second each, whatever they are of; methods differ in long runs.
        longer = msgspec.structs.replace(study, impressions=10**7)
        announced[name] = make_plan(longer, cells(longer), tmp_path, ON).device_seconds - plan.device_seconds
    assert announced["COLTR"] > 5 * announced["ROLTR"]


def test_methods_are_recorded_one_after_the_other(tmp_path, stand_in):
    stand_in.methods = ("ROLTR", "PDGD")
    methods = []
    stand_in.before = lambda asked: methods.append({one.learner.name for one in asked})
    run_on_device(SMALL, tmp_path)
    assert sum(stand_in.batches) == 16
    assert all(len(one) == 1 for one in methods)


class Killed(BaseException):
    """What a kill leaves: no record of the batch under way."""


def test_a_kill_costs_the_batch_in_flight_and_a_restart_does_the_rest(tmp_path, stand_in, monkeypatch):
    monkeypatch.setattr(batches, "RUNS", 3)
    seen = []

    def die(now):
        seen.append(now.done)
        if now.done >= 3:
            raise Killed

    alone = SMALL.replace(', { learner = "PDGD" }', "")
    with pytest.raises(Killed):
        run_on_device(alone, tmp_path, show=die)
    kept = len(list((tmp_path / "runs").glob("*.parquet")))
    assert kept == seen[-1]
    assert 3 <= kept < 8
    stand_in.batches.clear()
    outcome = run_on_device(alone, tmp_path)
    assert sum(stand_in.batches) == 8 - kept
    assert len(outcome.results.records) == 8


def test_a_failing_run_is_reported_and_the_others_are_kept(tmp_path, stand_in):
    def fail(asked):
        if any(one.seed == 2 and one.user.name == "noisy" for one in asked):
            raise RuntimeError("the moon was in the wrong house")

    stand_in.before = fail
    outcome = run_on_device(SMALL, tmp_path)
    assert outcome.failures == [
        ("ROLTR, noisy, tiny, seed 2", "RuntimeError: the moon was in the wrong house"),
    ]
    assert len(outcome.results.records) == 15


def test_device_and_cpu_work_at_the_same_time(tmp_path, stand_in):
    """Each waits for the other to have begun: neither would end if one came after the other."""
    on_device, on_cpu = threading.Event(), threading.Event()

    def meet(asked):
        on_device.set()
        assert on_cpu.wait(PATIENCE), "nothing ran on the CPU meanwhile"

    class Meeting(LocalThreads):
        def submit(self, function, cell):
            def late(cell):
                on_cpu.set()
                assert on_device.wait(PATIENCE), "nothing ran on the device meanwhile"
                return function(cell)

            return super().submit(late, cell)

    stand_in.before = meet
    with Meeting(1) as engine:
        assert run_on_device(SMALL, tmp_path, engine).failures == []


def test_records_can_be_kept_and_nothing_made_of_them(tmp_path, stand_in):
    outcome = run_on_device(SMALL, tmp_path, keep_only=True)
    assert outcome.results.records == []
    assert not (tmp_path / "results.parquet").exists()
    assert len(read_results(tmp_path).records) == 16


def test_the_slower_place_tells_how_far_a_study_is():
    study = parse(SMALL, "small")
    missing = [(cell, str(number)) for number, cell in enumerate(cells(study))]
    costs = {key: 1.0 for _, key in missing}
    standing = WorkDone(missing, costs, frozenset(key for _, key in missing[:8]))
    for cell, key in missing[:8]:
        standing.note(cell, key, None)
    for cell, key in missing[8:10]:
        standing.note(cell, key, "a cause")
    now = standing.progress(["something"], 50)
    assert (now.done, now.failed, now.total, now.share) == (8, 2, 16, 0.25)
    assert now.impressions == 8 * 200 + 50
