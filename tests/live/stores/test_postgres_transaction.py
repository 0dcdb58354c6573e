"""A transaction of PostgreSQL's that is interrupted: all of it is there, or nothing."""

import pytest

from rankloop.live.log import Show, settle

from ..postgres_server import sentence
from .pages import settled, shows


@pytest.fixture
def store(postgres_store):
    return postgres_store


def test_bodies_are_stored_as_they_are(store):
    settled(store, Show(1, 0, 0, b"", bytes(60_000), 3, 0, 0.0))
    assert store._rows("SELECT pg_column_size(body) FROM events") == [(60_000,)]


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
