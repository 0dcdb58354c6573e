"""`rankloop results add`, `table` and `pack`, and studies on a device, as the command line has them."""

import json

import pytest

from rankloop.cli import main


def call(capsys, *words):
    """A command in this process, where the device that is none can be seen: exit code, output, errors."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


SMALL = ("--data", "tiny", "--impressions", 200, "--repeats", 2, "--only", "ROLTR")


@pytest.fixture
def folder(stand_in, tmp_path, capsys):
    """A study of ROLTR, run on a device that is none."""
    code, _, errors = call(capsys, "run", "quick", *SMALL, "--on", "gpu", "--out", tmp_path / "there", "--no-report")
    assert code == 0, errors
    assert "on a device" in errors
    assert stand_in.batches == [4]
    return tmp_path / "there"


def test_a_study_on_a_device_is_packed_reported_and_shown(folder, tmp_path, capsys, monkeypatch):
    assert not (folder / "report.html").exists()
    assert json.loads((folder / "started.json").read_text())[0]["on"] == "gpu"
    code, _, errors = call(capsys, "results", "pack", folder, "--to", tmp_path / "small.tar")
    assert code == 0
    assert "4 runs" in errors
    table = tmp_path / "runs.parquet"
    assert call(capsys, "results", "add", folder, "--to", table)[0] == 0
    code, output, _ = call(capsys, "results", "table", table)
    assert code == 0
    assert output.count("ROLTR") == 2
    assert "GPU" in output
    lines = json.loads(call(capsys, "results", "table", table, "--only", "noisy", "--json")[1])
    assert [(one["label"], one["runs"], one["engines"]) for one in lines] == [("ROLTR", 2, ["gpu:0123456789abcdef"])]


def test_runs_of_a_device_are_verified_on_one(folder, capsys, no_device):
    code, _, errors = call(capsys, "results", "verify", folder)
    assert code == 2
    assert "were computed on a GPU, and can be verified where there is one" in errors


def test_and_there_they_are_the_same_bits(folder, capsys):
    code, output, _ = call(capsys, "results", "verify", folder, "--sample", 2)
    assert code == 0, output
    assert "2 of 2 runs are the same, bit for bit" in output


@pytest.mark.parametrize(
    "words",
    [("run", "quick", *SMALL, "--on", "gpu", "--out"), ("tune", "ROLTR", "--data", "tiny", "--on", "gpu", "--out")],
    ids=["run", "tune"],
)
def test_without_a_device_one_sentence_exit_code_2_and_nothing_written(words, no_device, tmp_path, capsys):
    code, output, errors = call(capsys, *words, tmp_path / "new.toml")
    assert (code, output) == (2, "")
    assert errors == "rankloop: --on gpu: there is no CUDA device on this machine\n"
    assert list(tmp_path.iterdir()) == []


def test_repeats_of_one_method_are_its_own(stand_in, tmp_path, capsys):
    words = ("run", "quick", *SMALL, "--repeats", "ROLTR=3", "--on", "gpu", "--out", tmp_path / "there", "--no-report")
    assert call(capsys, *words)[0] == 0
    assert stand_in.batches == [6]
    code, _, errors = call(capsys, *words[:-5], "--repeats", "SVM=3")
    assert code == 2
    assert "--repeats takes N or METHOD=N; study quick has no method 'SVM'" in errors
