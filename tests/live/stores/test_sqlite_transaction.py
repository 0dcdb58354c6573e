"""Many rows travel in a few statements, and all of them arrive."""

import pytest

from rankloop.live.events import Event, Kind
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Open, Tally

MANY = 1203  # more than two statements take, and not a whole number of them


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


def test_a_transaction_of_many_rows_keeps_every_one_of_them(store):
    events = [Event(place, 1, int(Kind.SHOWN), place, 0, b"", b"") for place in range(1, MANY + 1)]
    waiting = [Open(1, number, number, number, 0, 0.0, b"") for number in range(MANY)]
    tallies = [Tally(1, 1, minute, 0, 0, 1, 0.5, 0.25, 0.0) for minute in range(MANY)]
    with store.transaction() as transaction:
        transaction.write(events, waiting, [], [], tallies)
    assert store.events(0, 2 * MANY) == events
    assert store.open_count(1) == MANY
    assert store.tallies(1) == tallies


def test_many_impressions_are_found_and_closed_at_once(store):
    waiting = [Open(1 + number % 2, number, number, 0, 0, 0.0, b"") for number in range(2 * MANY)]
    keys = [(row.model, row.number) for row in waiting]
    with store.transaction() as transaction:
        transaction.write([], waiting, [], [], [])
        assert set(transaction.open_impressions(keys)) == set(keys)
        transaction.write([], [], [], keys[:-3], [])
        assert set(transaction.open_impressions(keys)) == set(keys[-3:])
