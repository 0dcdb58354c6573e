"""What only PostgreSQL can do to a log: restart, crash, vanish, refuse."""

import logging
import sys
import threading
import time

import psycopg
import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.live.errors import StoreError
from rankloop.live.log import Show, Writer, settle
from rankloop.live.stores import open_store, postgres_connections

from ..postgres_server import PASSWORD, PostgresServer

SECRETS = (PASSWORD, *PASSWORD.replace("/", " ").replace(":", " ").replace("@", " ").split())


@pytest.fixture
def store(postgres_address):
    store = open_store(postgres_address)
    yield store
    store.close()


@pytest.fixture
def stopped(postgres_server):
    """The server, for a test that stops it."""
    yield postgres_server
    postgres_server.start()


def shows(numbers, model=1):
    return [Show(model, number, 0, b"", b"page", 3, 0, 0.0) for number in numbers]


def settled(store, *entries):
    with store.transaction() as transaction:
        return settle(transaction, entries)


def sentence(call, *arguments):
    """What a StoreError says, which must never be the password."""
    with pytest.raises(StoreError) as caught:
        call(*arguments)
    told = str(caught.value)
    assert "\n" not in told
    assert not [secret for secret in SECRETS if secret in told]
    return told


# Opening


def test_the_password_is_not_shown(store, postgres_server):
    assert repr(store).startswith(f"PostgresStore('postgresql://rankloop@127.0.0.1:{postgres_server.port}/log")
    assert not [secret for secret in SECRETS if secret in repr(store)]


def test_a_wrong_password_an_unknown_database_and_a_wrong_port_are_sentences(postgres_server):
    assert "password authentication failed" in sentence(open_store, postgres_server.address(password="wrong"))
    assert 'database "nowhere" does not exist' in sentence(open_store, postgres_server.address("nowhere"))
    assert "check the address, and that the server is up" in sentence(open_store, "postgresql://a@127.0.0.1:1/b")


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://user:{PASSWORD}@127.0.0.1/log",
        f"postgresql://user:{PASSWORD.replace('/', '')}@127.0.0.1/log",
        "postgresql://user:geheim%wort@127.0.0.1/log",
        "postgresql://user:geheim/wort@127.0.0.1/log",
        "postgresql://user:12/wort@127.0.0.1/log",
        "postgresql://[::1/log",
    ],
)
def test_a_connection_string_that_cannot_be_read_is_not_repeated(address):
    assert "percent-encoded" in sentence(open_store, address)


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


@pytest.mark.parametrize(("told", "used"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_commits_wait_for_the_disk_whatever_the_server_prefers(postgres_address, told, used):
    store = open_store(f"{postgres_address}?options=-csynchronous_commit%3D{told}")
    assert store._rows("SHOW synchronous_commit") == [(used,)]
    with store._server.exclusive("SHOW synchronous_commit") as (_, row):
        assert row == (used,)
    store.close()


def test_bodies_are_stored_as_they_are(store):
    settled(store, Show(1, 0, 0, b"", bytes(60_000), 3, 0, 0.0))
    assert store._rows("SELECT pg_column_size(body) FROM events") == [(60_000,)]


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


def test_while_the_server_is_away_every_call_says_so(store, stopped):
    settled(store, *shows([0]))
    lease = store.lease("model-1")
    stopped.stop()
    assert "the server is up" in sentence(store.last_offset)
    assert "the server is up" in sentence(settled, store, *shows([1]))
    assert "the server is up" in sentence(store.set_fact, "a", "b")
    assert "the server is up" in sentence(store.lease, "model-2")
    assert "the server is up" in sentence(lambda: list(store.export_rows("events")))
    assert not lease.alive()
    stopped.start()
    assert settled(store, *shows([1])) == [2]


def test_a_crash_in_the_middle_of_a_transaction_leaves_nothing_of_it(store, stopped):
    settled(store, *shows([0]))

    def interrupted():
        with store.transaction() as transaction:
            settle(transaction, shows([1]))
            stopped.kill()

    told = sentence(interrupted)
    assert "may or may not be in the log" in told  # it broke when the commit was sent
    stopped.start()
    assert store.last_offset() == 1
    assert settled(store, *shows([1])) == [2]


def test_a_connection_that_breaks_before_the_commit_is_a_plain_failure(store, postgres_server):
    def interrupted():
        with store.transaction() as transaction:
            transaction.create_model("shop", b"", 0)
            assert postgres_server.end_connections()
            settle(transaction, shows([0]))

    told = sentence(interrupted)
    assert "the connection is lost" in told
    assert store.models() == []
    assert settled(store, *shows([0])) == [1]


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


# Others on the same server


def test_a_process_that_holds_the_log_too_long_is_named_as_the_reason(postgres_address, monkeypatch):
    short = postgres_connections.SETTINGS.replace("lock_timeout = '5s'", "lock_timeout = '100ms'")
    monkeypatch.setattr(postgres_connections, "SETTINGS", short)
    first, second = open_store(postgres_address), open_store(postgres_address)
    with first.transaction() as transaction:
        settle(transaction, shows([0]))
        assert "another process holds the log" in sentence(settled, second, *shows([1]))
        assert second.last_offset() == 0  # readers do not wait
    assert settled(second, *shows([1])) == [2]
    first.close()
    second.close()


def test_a_full_house_is_named_as_the_reason(postgres_server):
    address = postgres_server.new_database()
    name = address.rsplit("/", 1)[1]
    open_store(address).close()
    postgres_server.execute("CREATE ROLE guest LOGIN PASSWORD 'geheim' CONNECTION LIMIT 0")
    assert "too many connections" in sentence(
        open_store, postgres_server.address(name, user="guest", password="geheim")
    )


def test_a_user_without_rights_is_told_so(postgres_server):
    address = postgres_server.new_database()
    name = address.rsplit("/", 1)[1]
    open_store(address).close()
    postgres_server.execute("CREATE ROLE reader LOGIN PASSWORD 'geheim'")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    reader = open_store(postgres_server.address(name, user="reader", password="geheim"))
    assert reader.last_offset() == 0
    assert "may not do that" in sentence(settled, reader, *shows([0]))
    reader.close()


def test_a_server_that_accepts_no_writes_is_refused(postgres_address):
    told = sentence(open_store, f"{postgres_address}?options=-cdefault_transaction_read_only%3Don")
    assert "read-only" in told


def test_a_lease_is_lost_when_its_connection_breaks(store, postgres_server, postgres_address):
    other = open_store(postgres_address)
    lease = store.lease("model-1")
    assert other.lease("model-1") is None
    postgres_server.end_connections()
    taken = other.lease("model-1")
    assert taken is not None
    assert not lease.alive()
    assert store.lease("model-1") is None
    assert taken.alive()
    other.close()


def test_a_process_asks_for_few_connections_however_many_threads_read(store, postgres_server):
    settled(store, *shows([0]))
    leases = [store.lease(f"model-{n}") for n in range(20)]
    assert all(leases)
    threads = [threading.Thread(target=lambda: [store.last_offset() for _ in range(5)]) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    name = repr(store).rsplit("/", 1)[1].strip("')")
    kept = postgres_server.execute(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'")[0][0]
    assert kept <= 1 + 1 + postgres_connections.IDLE  # one writes, one holds leases, some wait for readers
