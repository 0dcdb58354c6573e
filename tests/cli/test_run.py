"""`rankloop run` as people meet it: a real process, its output, its exit code."""

import json
import re

import pytest
from tests import preloaded
from tests.patience import COMMAND, run

import rankloop as rl

pytestmark = pytest.mark.process


SMALL = ("--data", "tiny", "--scale", 1, "--impressions", 200, "--repeats", 2)


def as_people_do(*words, cwd):
    """In a process that imports everything anew, and so do its workers: eight seconds of a processor."""
    return run([*COMMAND, *map(str, words)], cwd=cwd)


def at_once(*words, cwd):
    return preloaded.run(*words, cwd=cwd, forks=True)


@pytest.mark.parametrize("started", [at_once, pytest.param(as_people_do, marks=pytest.mark.long)])
def test_the_main_job_makes_a_table_a_picture_and_numbers(tmp_path, started):
    done = started("run", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR", "MDPRank"):
        assert len(re.findall(rf"^{name} +\d", done.stdout, flags=re.MULTILINE)) == 2  # once for each user
    assert "\x1b" not in done.stdout  # plain when piped
    pictures = list((tmp_path / "results" / "quick" / "figures").glob("*.png"))
    assert pictures
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert (tmp_path / "results" / "quick" / "report.html").stat().st_size > 10_000
    numbers = json.loads(preloaded.run("results", tmp_path / "results" / "quick", "--json").stdout)
    assert len(numbers["rows"]) == 12


def test_json_is_one_document_and_does_not_depend_on_the_number_of_workers(tmp_path):
    rows = []
    for workers in (1, 2):
        done = preloaded.run(
            "run",
            *SMALL,
            "--only",
            "ROLTR",
            "--only",
            "PDGD",
            "--workers",
            workers,
            "--out",
            tmp_path / f"w{workers}",
            "--json",
            forks=True,
        )
        assert done.returncode == 0, done.stderr
        rows.append([row["online_ndcg"]["runs"] for row in json.loads(done.stdout)["rows"]])
    assert rows[0] == rows[1]


def test_the_grid_runs_what_simulate_runs(tmp_path):
    done = preloaded.run("run", *SMALL, "--only", "ROLTR", "--only", "noisy", "--json", cwd=tmp_path, forks=True)
    row = json.loads(done.stdout)["rows"][0]
    runs = [rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 200, seed, evaluate_every=10) for seed in (1, 2)]
    assert row["online_ndcg"]["runs"] == [run.online_ndcg for run in runs]
    assert row["offline_ndcg"]["runs"] == [run.offline_ndcg for run in runs]


def test_results_that_cannot_be_written_are_refused_before_anything_runs(tmp_path):
    (tmp_path / "results").write_text("a file where a folder should be")
    done = preloaded.run("run", *SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot write results" in done.stderr


def test_a_wrong_scale_leaves_no_folder(tmp_path):
    done = preloaded.run("run", "--scale", "-1", cwd=tmp_path)
    assert done.returncode == 2
    assert "scale must be a positive number" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_second_start_says_what_the_report_leaves_out_and_how_to_see_it_again(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("train", "vali", "test"):
        lines = [f"{d % 5} qid:{d // 20} 1:{(d % 5) / 5} 2:{d % 7}\n" for d in range(400)]
        (mine / f"{name}.txt").write_text("".join(lines))
    few = ("--impressions", 200, "--repeats", 2, "--only", "ROLTR", "--only", "noisy")
    assert preloaded.run("run", "--data", "mine", *few, cwd=tmp_path, forks=True).returncode == 0
    again = preloaded.run("run", "--data", "tiny", *few, cwd=tmp_path, forks=True)
    assert "Not shown, though in this folder: 2 runs on mine (--data may name several collections)." in again.stdout
    both = preloaded.run("run", "--data", "tiny", "--data", "mine", *few, cwd=tmp_path, forks=True)
    assert "Not shown" not in both.stdout
    report = (tmp_path / "results" / "quick" / "report.md").read_text()
    command = f"rankloop run quick --impressions 200 --repeats 2 --data tiny --data {mine} --only ROLTR --only noisy"
    assert command in report
    assert "- **runs**: 4 runs\n" in report
    (tmp_path / "elsewhere").mkdir()
    anywhere = preloaded.run(*command.split()[1:], "--out", "../results/quick", cwd=tmp_path / "elsewhere")
    assert "4 done, 0 to do" in " ".join(anywhere.stderr.split())
