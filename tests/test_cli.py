"""The command line as people meet it: a real process, its output, its exit code."""

import json
import os
import re

import pytest
from tests import preloaded
from tests.patience import COMMAND, run

import rankloop as rl

pytestmark = pytest.mark.process


def rankloop(*arguments, cwd=".", env=None):
    return preloaded.run(*arguments, cwd=cwd, env=os.environ | (env or {}))


def as_people_do(*arguments, **options):
    """The same, by starting Python."""
    return run([*COMMAND, *map(str, arguments)], **options)


SMALL = ("--data", "tiny", "--scale", 1, "--impressions", 200, "--repeats", 2)


def test_the_main_job_makes_a_table_a_picture_and_numbers(tmp_path):
    done = as_people_do("run", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("DBGD", "PMGD", "COLTR", "PDGD", "ROLTR", "MDPRank"):
        assert len(re.findall(rf"^{name} +\d", done.stdout, flags=re.MULTILINE)) == 2  # once for each user
    assert "\x1b" not in done.stdout  # plain when piped
    pictures = list((tmp_path / "results" / "quick" / "figures").glob("*.png"))
    assert pictures
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert (tmp_path / "results" / "quick" / "report.html").stat().st_size > 10_000
    numbers = json.loads(rankloop("results", tmp_path / "results" / "quick", "--json").stdout)
    assert len(numbers["rows"]) == 12


def test_json_is_one_document_and_does_not_depend_on_the_number_of_workers(tmp_path):
    rows = []
    for workers in (1, 2):
        done = rankloop(
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
        )
        assert done.returncode == 0, done.stderr
        rows.append([row["online_ndcg"]["runs"] for row in json.loads(done.stdout)["rows"]])
    assert rows[0] == rows[1]


def test_the_grid_runs_what_simulate_runs(tmp_path):
    done = rankloop("run", *SMALL, "--only", "ROLTR", "--only", "noisy", "--json", cwd=tmp_path)
    row = json.loads(done.stdout)["rows"][0]
    runs = [rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 200, seed, evaluate_every=10) for seed in (1, 2)]
    assert row["online_ndcg"]["runs"] == [run.online_ndcg for run in runs]
    assert row["offline_ndcg"]["runs"] == [run.offline_ndcg for run in runs]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--data", "msrl-like"), "mslr-like"),
        (("run", "--data", "tiny", "--only", "ROLTER"), "ROLTER"),
        (("run", "no-such-study"), "no-such-study"),
        (("run", "--impressions", 0), "impressions"),
        (("run", "--repeats", 0), "repeats"),
        (("run", "--data", "tiny", "--scale", -1), "scale"),
        (("run", "--data", "tiny", "--workers", 0), "workers"),
        (("run", "--seed", -1), "seed"),
        (("data", "info", "nowhere"), "nowhere"),
        (("data", "add", "../evil", "."), "../evil"),
        (("data", "add", "mine", "no/such/folder"), "no/such/folder"),
        (("data", "remove", "nowhere"), "nowhere"),
        (("data", "make", "moon-like"), "moon-like"),
        (("fly",), "fly"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, arguments, words):
    done = rankloop(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_results_that_cannot_be_written_are_refused_before_anything_runs(tmp_path):
    (tmp_path / "results").write_text("a file where a folder should be")
    done = rankloop("run", *SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot write results" in done.stderr


def test_a_broken_file_is_told_with_line_and_changes_nothing(tmp_path):
    source = tmp_path / "bad"
    source.mkdir()
    for name in ("train", "vali", "test"):
        (source / f"{name}.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:x\n")
    done = rankloop("data", "add", "bad", source, env={"RANKLOOP_HOME": str(tmp_path / "home")})
    assert done.returncode == 2
    assert "train.txt" in done.stderr
    assert "line 2" in done.stderr
    listed = rankloop("data", "list", "--json", env={"RANKLOOP_HOME": str(tmp_path / "home")})
    assert json.loads(listed.stdout) == []


def test_a_collection_comes_and_goes(tmp_path):
    home = {"RANKLOOP_HOME": str(tmp_path / "home")}
    source = tmp_path / "mine"
    source.mkdir()
    for name in ("train", "vali", "test"):
        lines = [f"{q % 3} qid:{q // 4} 1:{q / 40} 2:{1 - q / 40}\n" for q in range(40)]
        (source / f"{name}.txt").write_text("".join(lines))
    added = rankloop("data", "add", "mine", source, "--json", env=home)
    assert json.loads(added.stdout)["features"] == 2
    assert "mine" in rankloop("data", "list", env=home).stdout
    assert "10" in rankloop("data", "info", "mine", env=home).stdout
    assert rankloop("data", "remove", "mine", env=home).returncode == 0
    assert json.loads(rankloop("data", "list", "--json", env=home).stdout) == []


def test_help_teaches():
    for arguments in ((), ("run",), ("study",), ("data",), ("data", "add"), ("bench",)):
        done = rankloop(*arguments, "--help")
        assert done.returncode == 0
        assert len(done.stdout) > 200
    assert "rankloop 0." in as_people_do("--version").stdout
