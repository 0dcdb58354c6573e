"""Leases beside a database file: one holder at a time, one file for all, and a sentence where there can be none."""

import fcntl
from pathlib import Path

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.stores import open_store
from rankloop.live.stores.file_lease import FileLeases, _byte_of, _set


@pytest.fixture
def both(tmp_path):
    """Two who want the same leases."""
    one, other = FileLeases(tmp_path / "log.db.lease"), FileLeases(tmp_path / "log.db.lease")
    yield one, other
    one.close()
    other.close()


def test_a_lease_is_held_by_one_and_free_when_it_is_let_go_of(both):
    one, other = both
    lease = one.take("model-1")
    assert lease.alive()
    assert other.take("model-1") is None
    assert other.take("model-2").alive()
    lease.release()
    assert not lease.alive()
    assert other.take("model-1").alive()


def test_a_failed_attempt_does_not_free_what_another_holds(both):
    one, other = both
    lease = one.take("model-1")
    for _ in range(3):
        assert other.take("model-1") is None
        assert one.take("model-1") is None
    assert lease.alive()
    lease.release()
    lease.release()  # a second time changes nothing


def test_what_is_closed_is_free(both):
    one, other = both
    lease = one.take("model-1")
    one.close()
    assert not lease.alive()
    lease.release()
    assert other.take("model-1").alive()


def test_where_locks_belong_to_processes_a_lease_excludes_all_others_too(both, monkeypatch):
    one, other = both
    with monkeypatch.context() as elsewhere:
        elsewhere.delattr(fcntl, "F_OFD_SETLK")
        assert one.take("model-1").alive()
    assert other.take("model-1") is None
    assert not _set(other._file, fcntl.F_RDLCK, _byte_of("model-1"))  # nor with anybody who would share it


def test_a_lease_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(StoreError, match=r"No such file or directory.*the learner needs it as its lock"):
        FileLeases(tmp_path / "nowhere" / "lease").take("model-1")


def test_the_leases_of_any_number_of_models_take_one_file(tmp_path):
    store = open_store(tmp_path / "log.db")
    before = open_files()
    leases = [store.lease(f"model-{model}") for model in range(400)]
    assert all(lease.alive() for lease in leases)
    assert len(open_files() - before) <= 1
    assert [path.name for path in tmp_path.glob("*.lease")] == ["log.db.lease"]
    store.close()


def open_files():
    """Numbers of this process's open files, on a system that lists them."""
    listed = Path("/proc/self/fd")
    return {path.name for path in listed.iterdir()} if listed.is_dir() else set()
