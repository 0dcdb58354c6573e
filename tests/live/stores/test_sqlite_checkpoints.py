"""Checkpoints beside the writer: the write-ahead log stays small, and no commit waits for them."""

import os
import sqlite3
import threading
from contextlib import nullcontext

from tests.patience import PATIENCE, wait_until

from rankloop.live.stores import open_store, sqlite_checkpoints
from rankloop.live.stores.sqlite_checkpoints import COMMIT_BYTES, Checkpointer

from .pages import assert_sound, sentence, settled, shows

BODY = os.urandom(60_000)


def test_checkpoints_beside_the_writer_keep_the_write_ahead_log_small(tmp_path, monkeypatch):
    path = tmp_path / "log.db"
    monkeypatch.setattr(sqlite_checkpoints, "CHECKPOINT_BYTES", 1 << 20)
    store = open_store(path, serving=True)
    for batch in range(60):
        settled(store, *shows(range(10 * batch, 10 * batch + 10), BODY))
    wal = path.with_name("log.db-wal").stat().st_size
    store.close()
    assert wal < 600 * len(BODY) / 3
    assert_sound(path)


def test_it_is_time_when_what_was_written_and_what_was_found_exceed_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_checkpoints, "CHECKPOINT_BYTES", 100_000)
    copied = threading.Event()

    class Watched:
        def execute(self, sql):
            if "checkpoint" in sql:
                copied.set()
            return self

        def fetchone(self):
            return 0, 0, 0

    (tmp_path / "wal").write_bytes(bytes(40_000))
    checkpointer = Checkpointer(tmp_path / "wal", Watched, nullcontext())
    checkpointer.consider(100_000 - 40_000 - COMMIT_BYTES)
    assert not checkpointer._wanted.is_set()
    checkpointer.consider(0)
    assert copied.wait(PATIENCE), "there was no checkpoint"
    checkpointer.stop()


def test_a_checkpoint_that_fails_ends_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_checkpoints, "CHECKPOINT_BYTES", 0)
    tried = threading.Semaphore(0)

    class Locked:
        def execute(self, sql):
            if "checkpoint" in sql:
                tried.release()
                raise sqlite3.OperationalError("database is locked")

    checkpointer = Checkpointer(tmp_path / "none", Locked, nullcontext())
    for _ in range(2):
        checkpointer.consider(1)
        assert tried.acquire(timeout=PATIENCE), "no checkpoint was tried"
    checkpointer.stop()


def test_on_a_small_disk_it_is_time_sooner_and_a_full_one_is_gone_on_from_with_little_room(tmp_path, monkeypatch):
    path, wal = tmp_path / "log.db", tmp_path / "log.db-wal"
    free = [1_000_000]
    monkeypatch.setattr(sqlite_checkpoints, "free_bytes", lambda folder: free[0])
    store = open_store(path, serving=True)
    settled(store, *shows(range(10), BODY))
    wait_until(lambda: path.stat().st_size > 10 * len(BODY), "what was written is in the database")
    settled(store, *shows(range(10, 15), BODY))
    free[0] = 5 * len(BODY) - 1
    assert "make room, and it goes on by itself" in sentence(settled, store, *shows([15], BODY))
    wait_until(lambda: wal.stat().st_size == 0, "the write-ahead log gives its room back")
    wait_until(store._checkpointer.has_room, "and the writer knows it")
    assert settled(store, *shows([15], BODY)) == [16]
    store.close()
    assert_sound(path)
