"""What only PostgreSQL can do to a log: restart, crash, vanish, refuse."""

import logging
import sys
import threading
import time

import psycopg
import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.live.errors import StoreError
from rankloop.live.log import settle
from rankloop.live.stores import open_store
from rankloop.live.writer import Writer

from ..postgres_server import SECRETS, PostgresServer, sentence
from .pages import settled, shows


@pytest.fixture
def store(postgres_store):
    return postgres_store


def test_without_psycopg_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("rankloop.live.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(StoreError, match=r"pip install 'rankloop\[postgres\]'"):
        open_store("postgresql://127.0.0.1/log")


def test_tables_of_somebody_else_are_refused_and_left_alone(postgres_address):
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE TABLE events (what text)")
        assert "not rankloop's" in sentence(open_store, postgres_address)
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (1,)
        connection.execute("CREATE TABLE facts (name text, value text)")
    assert "not rankloop's" in sentence(open_store, postgres_address)


def test_two_schemas_of_one_database_are_two_logs(postgres_address):
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA one; CREATE SCHEMA two")
    one, two = (open_store(f"{postgres_address}?options=-csearch_path%3D{name}") for name in ("one", "two"))
    with one.transaction() as transaction:
        settle(transaction, shows([0, 1]))
        assert settled(two, *shows([0])) == [1]
    assert (one.last_offset(), two.last_offset()) == (2, 1)
    held = one.lease("model-1"), two.lease("model-1")
    assert all(held)
    one.close()
    two.close()


def test_a_server_without_fsync_is_warned_about(postgres_server, caplog):
    careless = PostgresServer(postgres_server.binaries, settings={"fsync": "off"})
    try:
        with caplog.at_level(logging.WARNING, logger="rankloop.store"):
            open_store(careless.new_database()).close()
    finally:
        careless.remove()
    assert "fsync = off" in caplog.text


# The server goes, and comes back


def test_after_a_restart_everything_goes_on_by_itself(store, stopped):
    settled(store, *shows([0]))
    lease = store.lease("model-1")
    stopped.restart()
    assert settled(store, *shows([1])) == [2]
    assert store.last_offset() == 2
    assert [row[0] for row in store.export_rows("events")] == [1, 2]
    assert not lease.alive()  # somebody else may have had it meanwhile
    again = store.lease("model-1")
    assert again.alive()
    assert not lease.alive()
    lease.release()
    assert again.alive()


def test_nothing_acknowledged_is_lost_when_the_server_crashes_under_load(store, stopped):
    acknowledged, refused = [], []
    writer = Writer(store)
    done = threading.Event()

    def send():
        number = 0
        while not done.is_set():
            batch = [writer.append(show) for show in shows(range(number, number + 20))]
            number += 20
            for future in batch:
                try:
                    acknowledged.append(future.result(PATIENCE))
                except StoreError as error:
                    refused.append(str(error))
            if refused:
                time.sleep(0.01)

    def wait_for_more():
        enough = len(acknowledged) + 100
        wait_until(lambda: len(acknowledged) >= enough, lambda: f"{len(acknowledged)} of {enough} acknowledged")

    thread = threading.Thread(target=send)
    thread.start()
    for _ in range(3):
        wait_for_more()
        stopped.kill()
        stopped.start()
    wait_for_more()
    done.set()
    thread.join(PATIENCE)
    writer.stop()
    there = [event.offset for event in store.events(0, 1_000_000)]
    assert there == list(range(1, len(there) + 1))
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(there)
    assert not [secret for told in refused for secret in SECRETS if secret in told]
