"""Running studies: what is finished is kept, whatever happens; a second start does only what is missing."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future

import pyarrow.parquet as pq
import pytest
from tests import preloaded
from tests.patience import PATIENCE, wait_until

from rankloop.errors import DataError, SettingsError
from rankloop.studies import options
from rankloop.studies.coverage import Coverage
from rankloop.studies.held import Start
from rankloop.studies.records import read_results
from rankloop.studies.report import _facts
from rankloop.studies.runner import claimed, collect, make_plan, run_plan
from rankloop.studies.specification import cells, parse

from .test_specification import SMALL


class Here:
    """Runs in this very process: quick, and easy to break."""

    slots = 2

    def __init__(self, broken=()):
        self.broken = broken
        self.ran = []

    def submit(self, function, cell):
        future = Future()
        self.ran.append((cell.label, cell.user.name, cell.seed))
        if cell.label in self.broken:
            future.set_exception(RuntimeError("the moon was in the wrong house"))
        else:
            future.set_result(function(cell))
        return future


def run(text, folder, executor=None, change=lambda study: study):
    study = change(parse(text, "small"))
    with claimed(make_plan(study, cells(study), folder)) as plan:
        return run_plan(plan, executor or Here(), lambda _: None)


def numbers(outcome):
    return [(r.label, r.user, r.seed, r.online_ndcg, r.offline_curve, r.weights) for r in outcome.results.records]


def test_a_second_start_does_only_what_is_missing(tmp_path):
    first = run(SMALL, tmp_path)
    again = Here()
    second = run(SMALL, tmp_path, again)
    assert again.ran == []
    assert numbers(first) == numbers(second)
    assert len(first.results.records) == 16


@pytest.mark.thorough
def test_changing_one_learner_runs_that_learner_alone(tmp_path):
    run(SMALL, tmp_path)
    again = Here()
    run(SMALL, tmp_path, again, lambda study: options.with_settings(study, ["PDGD.learning_rate=0.05"]))
    assert {label for label, _, _ in again.ran} == {"PDGD"}
    assert len(again.ran) == 8


def test_grids_that_need_the_same_run_share_it(tmp_path):
    twice = SMALL + '\n[[grids]]\nname = "again"\nlearners = [{ learner = "ROLTR", label = "mine" }]\n'
    executor = Here()
    outcome = run(twice, tmp_path, executor)
    assert len(executor.ran) == 16
    assert outcome.results.values("online_ndcg", label="mine", user="noisy") == outcome.results.values(
        "online_ndcg", grid="methods", label="ROLTR", user="noisy"
    )


def start(text, folder, only=(), change=lambda study: study):
    """A start as the command line makes it: perhaps of a part of the study alone."""
    study = change(parse(text, "small"))
    chosen = options.only(cells(study), only)
    with claimed(make_plan(study, chosen, folder, Start(("rankloop", "run", "small"), tuple(only)))) as plan:
        return run_plan(plan, Here(), lambda _: None).results


@pytest.mark.thorough
def test_a_part_that_is_run_again_does_not_hide_the_rest(tmp_path):
    start(SMALL, tmp_path)
    assert len(start(SMALL, tmp_path, only=["noisy"]).records) == 16
    assert len(read_results(tmp_path).records) == 16
    assert read_results(tmp_path).left_out == ""


def test_parts_of_a_study_add_up_and_what_was_chosen_is_kept(tmp_path):
    noisy = start(SMALL, tmp_path, only=["noisy", "ROLTR"])
    assert (len(noisy.records), Coverage(noisy).of_grid("methods")) == (4, "4 runs each")
    both = start(SMALL, tmp_path, only=["perfect", "ROLTR"])
    assert (len(both.records), len(both.starts), Coverage(both).absent("methods")) == (8, 2, [])
    facts = dict(_facts(Coverage(both)))
    assert facts["runs"] == "8 runs"
    assert facts["chosen"] == (
        "8 of the study's 16 runs, with --only noisy --only ROLTR and --only perfect --only ROLTR"
    )


def test_runs_of_other_settings_are_left_out_and_told(tmp_path):
    start(SMALL, tmp_path, only=["noisy", "ROLTR"])
    results = start(SMALL, tmp_path, ["noisy", "ROLTR"], lambda study: options.with_numbers(study, impressions=300))
    assert len(results.records) == 4
    assert results.left_out == read_results(tmp_path).left_out == "4 runs of 200 impressions"
    assert dict(_facts(Coverage(results)))["left out"].startswith(
        "4 runs of 200 impressions; in the same folder, but not part of the study"
    )
    assert len(results.starts) == 1


def test_a_start_that_comes_to_nothing_leaves_no_folder(tmp_path):
    study = parse(SMALL, "small")
    plan = make_plan(study, cells(study), tmp_path / "results" / "small")
    with pytest.raises(RuntimeError), claimed(plan):
        raise RuntimeError("no cluster")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "results").mkdir()
    with pytest.raises(RuntimeError), claimed(plan):
        raise RuntimeError("no cluster")
    assert [path.name for path in tmp_path.rglob("*")] == ["results"]


def test_a_failed_run_is_reported_with_its_cause_and_does_not_stop_the_others(tmp_path):
    outcome = run(SMALL, tmp_path, Here(broken={"PDGD"}))
    assert len(outcome.failures) == 8
    what, cause = outcome.failures[0]
    assert "PDGD" in what
    assert "wrong house" in cause
    assert {record.label for record in outcome.results.records} == {"ROLTR"}
    assert len(run(SMALL, tmp_path).results.records) == 16


def test_a_run_that_other_sources_computed_is_not_kept(tmp_path):
    class Elsewhere(Here):
        def submit(self, function, cell):
            future = super().submit(function, cell)
            if cell.label == "PDGD":
                future.result().manifest["sources"] = "edited meanwhile"
            return future

    outcome = run(SMALL, tmp_path, Elsewhere())
    assert {record.label for record in outcome.results.records} == {"ROLTR"}
    assert "other sources computed it" in outcome.failures[0][1]


def test_a_folder_of_another_study_is_left_alone(tmp_path):
    run(SMALL, tmp_path)
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    with pytest.raises(SettingsError, match=r"holds the results of study 'small', not of 'other'"):
        run(SMALL.replace('name = "small"', 'name = "other"'), tmp_path)
    assert before == sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))


def test_an_unwritable_folder_and_a_missing_collection_are_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write results"):
        run(SMALL, tmp_path / "file")
    with pytest.raises(DataError, match="nowhere"):
        run(SMALL.replace('data = "tiny"', 'data = "nowhere"'), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_fails_the_run_and_keeps_the_others(tmp_path, monkeypatch):
    written = 0
    real = pq.write_table

    def sometimes_full(table, path, **options):
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")
        return real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", sometimes_full)
    outcome = run(SMALL, tmp_path)
    assert len(outcome.failures) == 1
    assert "No space left" in outcome.failures[0][1]
    assert len(outcome.results.records) == 15
    assert not list(tmp_path.rglob("*.partial"))


def test_a_damaged_record_is_told(tmp_path):
    run(SMALL, tmp_path)
    next((tmp_path / "runs").glob("*.parquet")).write_bytes(b"not parquet")
    study = parse(SMALL, "small")
    with pytest.raises(DataError, match="delete it to run it again"):
        collect(make_plan(study, cells(study), tmp_path))


def test_results_are_read_back_without_the_data(tmp_path):
    outcome = run(SMALL, tmp_path)
    back = read_results(tmp_path)
    assert repr(back.records) == repr(outcome.results.records)  # NaN is not equal to itself
    curves = pq.read_table(tmp_path / "curves.parquet").to_pylist()
    assert len(curves) == 16 * 3
    with pytest.raises(DataError, match=r"runs holds no results of a study: study\.toml is missing"):
        read_results(tmp_path / "runs")


@pytest.mark.thorough
def test_what_is_finished_is_read_before_a_study_ends(tmp_path):
    outcome = run(SMALL, tmp_path)
    for name in ("results.parquet", "curves.parquet"):
        (tmp_path / name).unlink()
    assert repr(read_results(str(tmp_path)).records) == repr(outcome.results.records)
    for path in (tmp_path / "runs").iterdir():
        path.unlink()
    assert read_results(tmp_path).records == []


@pytest.mark.slow
def test_a_second_start_in_a_folder_where_one_works_says_who(tmp_path):
    text = SMALL.replace("= 200", "= 50_000_000").replace("= 100", "= 10_000_000")
    (tmp_path / "long.toml").write_text(text)
    words, said = ("run", "long.toml", "--workers", "1"), tmp_path / "said.txt"
    first = preloaded.Started(words, tmp_path, said, said)
    try:
        begun = lambda: said.exists() and "study small" in said.read_text()  # noqa: E731
        wait_until(lambda: begun() or first.poll() is not None, "the first is at work")
        second = preloaded.run(*words, cwd=tmp_path)
    finally:
        first.kill()
        first.wait(PATIENCE)
    assert second.returncode == 2
    assert f"process {first.pid} on " in second.stderr
    assert "--out" in second.stderr


STARTED = """
import sys
from pathlib import Path
from rankloop.engines import processes
from rankloop.studies.runner import claimed, make_plan, run_plan
from rankloop.studies.specification import cells, parse
if __name__ == "__main__":
    processes.START = "fork"  # everything is imported already
    study = parse(Path(sys.argv[1]).read_text(), "small")
    with claimed(make_plan(study, cells(study), Path(sys.argv[2]))) as plan, processes.LocalProcesses(2) as engine:
        run_plan(plan, engine, lambda _: None)
"""


@pytest.mark.process
@pytest.mark.long
def test_killed_again_and_again_a_study_ends_with_the_same_bits(tmp_path):
    text = SMALL.replace("impressions = 200", "impressions = 20000").replace(
        "evaluate_every = 100", "evaluate_every = 5000"
    )
    (tmp_path / "study.toml").write_text(text)
    (tmp_path / "start.py").write_text(STARTED)
    command = [sys.executable, str(tmp_path / "start.py"), str(tmp_path / "study.toml"), str(tmp_path / "killed")]
    draws = random.Random(1)

    def survived():
        return len(list((tmp_path / "killed").glob("runs/*.parquet")))

    for wanted in (1, 4, 7):
        process = subprocess.Popen(command, start_new_session=True)
        wait_until(lambda: survived() >= wanted, f"{wanted} runs are finished")  # noqa: B023
        time.sleep(draws.uniform(0.0, 0.2))  # not only at the end of a run
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        assert survived() >= wanted
    assert subprocess.run(command, timeout=PATIENCE).returncode == 0
    alone = run(text, tmp_path / "alone")
    assert [
        (r.label, r.user, r.seed, r.online_ndcg, r.offline_curve, r.weights)
        for r in read_results(tmp_path / "killed").records
    ] == numbers(alone)
