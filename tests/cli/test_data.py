"""`rankloop data` as people meet it: a collection comes and goes, and a broken one never came."""

import json
import os

import pytest
from tests import preloaded

pytestmark = pytest.mark.process


def test_a_broken_file_is_told_with_line_and_changes_nothing(tmp_path):
    source = tmp_path / "bad"
    source.mkdir()
    for name in ("train", "vali", "test"):
        (source / f"{name}.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:x\n")
    done = preloaded.run("data", "add", "bad", source, env=os.environ | {"RANKLOOP_HOME": str(tmp_path / "home")})
    assert done.returncode == 2
    assert "train.txt" in done.stderr
    assert "line 2" in done.stderr
    listed = preloaded.run("data", "list", "--json", env=os.environ | {"RANKLOOP_HOME": str(tmp_path / "home")})
    assert json.loads(listed.stdout) == []


def test_a_collection_comes_and_goes(tmp_path):
    home = os.environ | {"RANKLOOP_HOME": str(tmp_path / "home")}
    source = tmp_path / "mine"
    source.mkdir()
    for name in ("train", "vali", "test"):
        lines = [f"{q % 3} qid:{q // 4} 1:{q / 40} 2:{1 - q / 40}\n" for q in range(40)]
        (source / f"{name}.txt").write_text("".join(lines))
    added = preloaded.run("data", "add", "mine", source, "--json", env=home)
    assert json.loads(added.stdout)["features"] == 2
    assert "mine" in preloaded.run("data", "list", env=home).stdout
    assert "10" in preloaded.run("data", "info", "mine", env=home).stdout
    assert preloaded.run("data", "remove", "mine", env=home).returncode == 0
    assert json.loads(preloaded.run("data", "list", "--json", env=home).stdout) == []
