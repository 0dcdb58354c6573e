"""The manifest names the commit of the code: of rankloop's checkout, the working directory, and what lies outside."""

import shutil
import subprocess
from pathlib import Path

import pytest

import rankloop
from rankloop.runs import commits as room
from rankloop.runs.commits import commits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *words):
    named = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    (tmp_path / "mine.py").write_text("A = 1\n")
    git(tmp_path, "add", "mine.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.chdir(tmp_path)
    room._commit.cache_clear()
    yield tmp_path
    room._commit.cache_clear()


def head(folder):
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True).stdout.strip()


def test_the_working_directory_and_a_plugin_are_at_a_commit(repository):
    found = commits([repository / "mine.py"])
    wanted = {"commit": head(repository), "dirty": False}
    assert found["working directory"] == found["plugin mine"] == wanted


def test_changes_and_files_that_were_never_added_are_dirty(repository):
    (repository / "new.py").write_text("")
    assert not commits()["working directory"]["dirty"]
    assert commits([repository / "new.py"])["plugin new"]["dirty"]
    room._commit.cache_clear()
    (repository / "mine.py").write_text("A = 2\n")
    assert commits()["working directory"]["dirty"]


def test_what_is_not_under_version_control_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "working directory" not in commits()
    monkeypatch.setattr(room, "_git", lambda *_: None)
    room._commit.cache_clear()
    assert commits() == {}
    room._commit.cache_clear()


def test_an_installed_package_is_not_taken_for_the_repository_that_it_was_installed_in(repository, monkeypatch):
    inside = repository / ".venv" / "site-packages" / "rankloop"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text("")
    monkeypatch.setattr(rankloop, "__file__", str(inside / "__init__.py"))
    assert "rankloop" not in commits()


def test_a_checkout_of_rankloop_is_named():
    root = Path(rankloop.__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("rankloop does not run from a checkout")
    room._commit.cache_clear()
    assert commits()["rankloop"]["commit"] == head(root)
