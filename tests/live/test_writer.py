"""One writer, group commit: whoever is told has their entry on disk, and those who wait share a transaction."""

import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.patience import PATIENCE

from rankloop.live.errors import StoreError
from rankloop.live.log import BATCH, Close, Show, Writer, deliver
from rankloop.live.stores import open_store


def show(number: int) -> Show:
    return Show(1, number, 0, b"", b"page", 3, 0, 0.0)


@pytest.fixture
def store(tmp_path):
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


def test_nobody_is_told_before_it_is_on_disk(store):
    watched = Watched(store)

    def delivery(acknowledged):
        watched.happened.append("told")
        deliver(acknowledged)

    writer = Writer(watched, committed=lambda: watched.happened.append("learner woken"), delivery=delivery)
    for number in range(3):
        writer.append(show(number)).result(PATIENCE)
    writer.stop()
    assert watched.happened == ["on disk", "told", "learner woken"] * 3


def held_up(store):
    """A writer in the middle of its first transaction, and the first entry's future."""
    watched = Watched(store)
    watched.open.clear()
    writer = Writer(watched)
    first = writer.append(show(0))
    assert watched.reached.wait(PATIENCE)
    return watched, writer, first


def test_all_who_came_meanwhile_share_one_transaction_in_the_order_they_came(store):
    watched, writer, first = held_up(store)
    futures = [writer.append(show(number)) for number in range(1, 101)]
    assert not first.done()
    watched.open.set()
    assert [future.result(PATIENCE) for future in [first, *futures]] == list(range(1, 102))
    writer.stop()
    assert watched.happened == ["on disk"] * 2


def test_a_transaction_has_an_end_however_many_wait(store):
    watched, writer, _ = held_up(store)
    futures = [writer.append(show(number)) for number in range(1, 2 * BATCH + 2)]
    watched.open.set()
    assert futures[-1].result(PATIENCE) == 2 * BATCH + 2
    writer.stop()
    assert watched.happened == ["on disk"] * 4


def test_if_it_cannot_be_written_everybody_who_shared_the_transaction_is_told_so_and_nothing_is_there(store):
    watched, writer, first = held_up(store)
    futures = [writer.append(show(number)) for number in range(1, 4)]
    watched.broken = StoreError("no room")
    watched.open.set()
    for future in [first, *futures]:
        with pytest.raises(StoreError, match="no room"):
            future.result(PATIENCE)
    assert store.last_offset() == 0
    watched.broken = None
    assert writer.append(show(9)).result(PATIENCE) == 1
    writer.stop()


def test_an_error_that_is_nobodys_fault_does_not_end_the_writer(store):
    watched = Watched(store)
    watched.broken = ValueError("a bug")
    writer = Writer(watched)
    with pytest.raises(ValueError, match="a bug"):
        writer.append(show(0)).result(PATIENCE)
    watched.broken = None
    assert writer.append(show(0)).result(PATIENCE) == 1
    writer.stop()


def test_what_waits_when_it_is_stopped_is_written(store):
    watched, writer, _ = held_up(store)
    futures = [writer.append(show(number)) for number in range(1, 20)]
    watched.open.set()
    writer.stop()
    assert [future.result(0) for future in futures] == list(range(2, 21))
    assert store.last_offset() == 20


def test_somebody_who_has_left_is_passed_over(store):
    left, there = Future(), Future()
    left.cancel()
    deliver([(left, 1, None), (there, 2, None)])
    assert there.result(0) == 2


def test_a_closing_of_what_is_not_open_is_answered_and_leaves_no_event(store):
    writer = Writer(store)
    assert writer.append(Close(1, 5, 0, "void")).result(PATIENCE) is None
    writer.stop()
    assert store.last_offset() == 0


def test_a_store_is_not_closed_under_somebody_who_is_using_it(store, tmp_path):
    """SQLite does not survive that: the whole process would end, and with it every page under way."""
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(2) as pool:
        using = pool.submit(store.reserve, 1, 10)
        while store._lock.acquire(blocking=False):  # until it waits for the database, with the lock held
            store._lock.release()
        closing = pool.submit(store.close)
        with pytest.raises(TimeoutError):
            closing.result(0.1)
        other.execute("ROLLBACK")
        other.close()
        with pytest.raises(StoreError, match="model 1 is no longer in the store"):
            using.result(PATIENCE)
        closing.result(PATIENCE)
