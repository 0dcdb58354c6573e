"""One writer, group commit: whoever is told has their entry on disk, and those who wait share a transaction."""

import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.patience import PATIENCE

from rankloop.live.errors import StoreError
from rankloop.live.stores import open_store
from rankloop.live.writer import BATCH, Writer, deliver

from .test_log import close, show


@pytest.fixture
def sqlite(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


class Watched:
    """A store whose transactions are written down, and can be held up or broken."""

    def __init__(self, store) -> None:
        self.store = store
        self.happened: list[str] = []
        self.open = threading.Event()
        self.open.set()
        self.reached = threading.Event()
        self.broken: Exception | None = None

    @contextmanager
    def transaction(self):
        self.reached.set()
        self.open.wait(PATIENCE)
        if self.broken:
            raise self.broken
        with self.store.transaction() as transaction:
            yield transaction
        self.happened.append("on disk")


def test_nobody_is_told_before_it_is_on_disk(sqlite):
    watched = Watched(sqlite)

    def delivery(acknowledged):
        watched.happened.append("told")
        deliver(acknowledged)

    writer = Writer(watched, committed=lambda: watched.happened.append("learner woken"), delivery=delivery)
    for number in range(3):
        writer.append(show(number)).result(PATIENCE)
    writer.stop()
    assert watched.happened == ["on disk", "told", "learner woken"] * 3


def held_up(sqlite):
    """A writer in the middle of its first transaction, and the first entry's future."""
    watched = Watched(sqlite)
    watched.open.clear()
    writer = Writer(watched)
    first = writer.append(show(0))
    assert watched.reached.wait(PATIENCE), "the writer did not reach the store"
    return watched, writer, first


def test_all_who_came_meanwhile_share_one_transaction_in_the_order_they_came(sqlite):
    watched, writer, first = held_up(sqlite)
    futures = [writer.append(show(number)) for number in range(1, 101)]
    assert not first.done()
    watched.open.set()
    assert [future.result(PATIENCE) for future in [first, *futures]] == list(range(1, 102))
    writer.stop()
    assert watched.happened == ["on disk"] * 2


def test_while_the_store_hangs_no_more_waits_than_memory_should_hold(sqlite, monkeypatch):
    monkeypatch.setattr("rankloop.live.writer.WAITING_BYTES", 100_000)
    watched, writer, first = held_up(sqlite)
    taken = [writer.append_all([show(number, body=bytes(10_000))]) for number in range(1, 11)]
    with pytest.raises(StoreError, match="too much waits for it already"):
        writer.append_all([show(11)])
    voided = writer.append(close(0, "void"))  # little, and needed
    watched.open.set()
    assert all(future.result(PATIENCE) for future in (first, *taken, voided))
    writer.append_all([show(11)]).result(PATIENCE)
    writer.stop()
    assert writer._waiting_bytes == 0


def test_a_transaction_has_an_end_however_many_wait(sqlite):
    watched, writer, _ = held_up(sqlite)
    futures = [writer.append(show(number)) for number in range(1, 2 * BATCH + 2)]
    watched.open.set()
    assert futures[-1].result(PATIENCE) == 2 * BATCH + 2
    writer.stop()
    assert watched.happened == ["on disk"] * 4


def test_if_it_cannot_be_written_everybody_who_shared_the_transaction_is_told_so_and_nothing_is_there(sqlite):
    watched, writer, first = held_up(sqlite)
    futures = [writer.append(show(number)) for number in range(1, 4)]
    watched.broken = StoreError("no room")
    watched.open.set()
    for future in [first, *futures]:
        with pytest.raises(StoreError, match="no room"):
            future.result(PATIENCE)
    assert sqlite.last_offset() == 0
    watched.broken = None
    assert writer.append(show(9)).result(PATIENCE) == 1
    writer.stop()


def test_an_error_that_is_nobodys_fault_does_not_end_the_writer(sqlite):
    watched = Watched(sqlite)
    watched.broken = ValueError("a bug")
    writer = Writer(watched)
    with pytest.raises(ValueError, match="a bug"):
        writer.append(show(0)).result(PATIENCE)
    watched.broken = None
    assert writer.append(show(0)).result(PATIENCE) == 1
    writer.stop()


def test_what_waits_when_it_is_stopped_is_written(sqlite):
    watched, writer, _ = held_up(sqlite)
    futures = [writer.append(show(number)) for number in range(1, 20)]
    watched.open.set()
    writer.stop()
    assert [future.result(0) for future in futures] == list(range(2, 21))
    assert sqlite.last_offset() == 20


def test_somebody_who_has_left_is_passed_over(sqlite):
    left, there = Future(), Future()
    left.cancel()
    deliver([(left, 1, None), (there, 2, None)])
    assert there.result(0) == 2


def test_a_closing_of_what_is_not_open_is_answered_and_leaves_no_event(sqlite):
    writer = Writer(sqlite)
    assert writer.append(close(5, "void")).result(PATIENCE) is None
    writer.stop()
    assert sqlite.last_offset() == 0


def test_a_store_is_not_closed_under_somebody_who_is_using_it(sqlite, tmp_path):
    """SQLite does not survive that: the whole process would end, and with it every page under way."""
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(2) as pool:
        using = pool.submit(sqlite.reserve, 1, 10)
        while sqlite._lock.acquire(blocking=False):  # until it waits for the database, with the lock held
            sqlite._lock.release()
        closing = pool.submit(sqlite.close)
        with pytest.raises(TimeoutError):
            closing.result(0.1)
        other.execute("ROLLBACK")
        other.close()
        with pytest.raises(StoreError, match="model 1 is no longer in the store"):
            using.result(PATIENCE)
        closing.result(PATIENCE)
