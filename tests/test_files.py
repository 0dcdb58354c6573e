"""Files appear whole or not at all, and nobody writes into another's."""

import os
import threading

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


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("real.txt")
    write_text(link, ["new"])
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)
    target.unlink()
    write_text(link, ["again"])
    assert (link.is_symlink(), target.read_text()) == (True, "again")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.txt", "real.txt"]


def test_a_pipe_and_standard_output_are_written_to_and_stay_what_they_are(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, ["a", "b"])
    reader.join()
    assert (heard, pipe.is_fifo()) == (["ab"], True)
    # As `> kept.txt` and /dev/stdout are: an open file under another name.
    with (tmp_path / "kept.txt").open("w") as file:
        number = os.fstat(file.fileno()).st_ino
        write_text(f"/proc/self/fd/{file.fileno()}", ["c"])
    assert ((tmp_path / "kept.txt").read_text(), (tmp_path / "kept.txt").stat().st_ino) == ("c", number)
    with pytest.raises(DataError, match="cannot write /dev/full: No space left"):
        write_text("/dev/full", ["d"])


def test_on_a_full_disk_a_lock_holds_without_a_name(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with locked(tmp_path / ".lock") as mine, locked(tmp_path / ".lock", wait=False) as second:
        assert (mine, second) == (True, False)
