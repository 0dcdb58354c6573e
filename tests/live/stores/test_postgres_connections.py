"""Connections to a PostgreSQL server: what breaks is mended or told in a sentence without the password."""

import threading
from contextlib import suppress

import psycopg
import pytest
from tests.patience import wait_until

from rankloop.live.errors import StoreError
from rankloop.live.log import settle
from rankloop.live.stores import open_store, postgres_connections

from ..postgres_server import PASSWORD, SECRETS, sentence
from .pages import settled, shows


@pytest.fixture
def store(postgres_store):
    return postgres_store


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


@pytest.mark.parametrize(("told", "used"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_commits_wait_for_the_disk_whatever_the_server_prefers(postgres_address, told, used):
    store = open_store(f"{postgres_address}?options=-csynchronous_commit%3D{told}")
    assert store._rows("SHOW synchronous_commit") == [(used,)]
    with store._server.exclusive("SHOW synchronous_commit") as (_, row):
        assert row == (used,)
    store.close()


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


def test_a_server_that_hangs_is_not_waited_for_by_a_service_and_it_goes_on_by_itself(postgres_server, monkeypatch):
    store = open_store(postgres_server.new_log(), serving=True)
    assert settled(store, *shows([0])) == [1]
    lease = store.lease("model-1")
    with postgres_server.hanging(), monkeypatch.context() as impatient:
        impatient.setattr(postgres_connections, "ANSWER_SECONDS", 0.2)
        impatient.setitem(store._server._parameters, "connect_timeout", "2")  # the least that libpq knows
        for waits in (store.last_offset, lambda: settled(store, *shows([1]))):
            assert "check the address, and that the server is up" in sentence(waits)
        assert not lease.alive()
    wait_until(lambda: works(lambda: settled(store, *shows([2]))), "the store is written to again")
    wait_until(lambda: works(lambda: store.lease("model-1").alive()), "the lease is taken again")
    store.close()


def works(call):
    with suppress(StoreError, AttributeError):
        return call()
