"""Leases beside a database file: one holder at a time, and a sentence where there can be none."""

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.stores.file_lease import FileLease


def test_a_lease_is_held_by_one_and_free_when_it_is_let_go_of(tmp_path):
    lease = FileLease.take(tmp_path / "log.db.lease")
    assert lease.alive()
    assert FileLease.take(tmp_path / "log.db.lease") is None
    assert FileLease.take(tmp_path / "other.lease").alive()
    lease.release()
    assert not lease.alive()
    assert FileLease.take(tmp_path / "log.db.lease").alive()


def test_a_failed_attempt_does_not_free_what_another_holds(tmp_path):
    lease = FileLease.take(tmp_path / "lease")
    for _ in range(3):
        assert FileLease.take(tmp_path / "lease") is None
    assert lease.alive()
    lease.release()
    lease.release()  # a second time changes nothing


def test_a_lease_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(StoreError, match=r"No such file or directory.*the learner needs it as its lock"):
        FileLease.take(tmp_path / "nowhere" / "lease")
