"""Files appear whole or not at all, and nobody writes into another's."""

import os

import pytest

from rankloop.errors import DataError
from rankloop.files import locked, write_text, written_whole


def fail(target, error):
    with written_whole(target) as partial:
        partial.write_text("new")
        raise error


def test_a_failed_write_leaves_what_was_there_and_nothing_else(tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("old")
    with pytest.raises(KeyError):
        fail(target, KeyError())
    with pytest.raises(DataError, match=r"cannot write .*kept\.txt: No space left"):
        fail(target, OSError(28, "No space left on device"))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_two_who_write_the_same_file_do_not_write_into_each_other(tmp_path):
    target = tmp_path / "shared.txt"
    with written_whole(target) as one:
        with written_whole(target) as other:
            one.write_text("one")
            other.write_text("the other")
        assert target.read_text() == "the other"
    assert target.read_text() == "one"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_and_a_missing_folder_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(DataError, match="it is a folder; name a file in it"):
        write_text(tmp_path, ["a"])
    with pytest.raises(DataError, match=r"cannot write .*a\.txt: No such file"):
        write_text(tmp_path / "missing" / "a.txt", ["a"])


def test_a_private_file_is_nobody_elses_from_the_first_byte(tmp_path):
    with written_whole(tmp_path / "log", private=True) as partial:
        assert partial.stat().st_mode & 0o077 == 0
        partial.write_text("secret")
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0


def test_a_lock_names_its_holder_and_is_gone_afterwards(tmp_path):
    path = tmp_path / ".lock"
    with locked(path) as mine:
        assert mine
        assert f"process {os.getpid()} on " in path.read_text()
        with locked(path, wait=False) as second:
            assert not second
        assert path.exists()
    assert not path.exists()
