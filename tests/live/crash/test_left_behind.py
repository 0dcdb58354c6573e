"""What SQLite's write-ahead log holds is read again after a kill, so it stays small: also where every event is small
and has a commit of its own, and over many lives that all end before their time."""

import shutil

import pytest
from tests.patience import wait_until

from rankloop.live.log import Show, settle
from rankloop.live.stores import open_store, sqlite_checkpoints

LIMIT = 1 << 20


def show_one_at_a_time(store, numbers):
    for number in numbers:
        with store.transaction() as transaction:
            settle(transaction, [Show(1, number, 0, b"", bytes(300), 4, 0, 0.0)])


@pytest.fixture(autouse=True)
def _early_checkpoints(monkeypatch):
    monkeypatch.setattr(sqlite_checkpoints, "CHECKPOINT_BYTES", LIMIT)


def test_small_commits_are_counted_with_the_pages_they_write(tmp_path):
    store = open_store(tmp_path / "log.db", serving=True)
    before = (tmp_path / "log.db").stat().st_size
    show_one_at_a_time(store, range(LIMIT // sqlite_checkpoints.COMMIT_BYTES + 2))
    wait_until(lambda: (tmp_path / "log.db").stat().st_size > before, "a checkpoint moves them into the database")
    store.close()


def test_what_a_killed_process_left_in_the_write_ahead_log_is_moved_soon_by_the_next(tmp_path, monkeypatch):
    with monkeypatch.context() as first_life:
        first_life.setattr(sqlite_checkpoints, "CHECKPOINT_BYTES", 100 * LIMIT)
        store = open_store(tmp_path / "log.db", serving=True)
        show_one_at_a_time(store, range(60))
        # The files as a kill leaves them.
        for name in ("log.db", "log.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
        store.close()
    left = tmp_path / "left-log.db"
    before = left.stat().st_size
    assert left.with_name("left-log.db-wal").stat().st_size > LIMIT
    store = open_store(left, serving=True)
    show_one_at_a_time(store, [60])
    wait_until(lambda: left.stat().st_size > before, "a checkpoint moves what was left into the database")
    assert store.last_offset() == 61
    store.close()
