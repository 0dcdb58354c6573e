"""Pages for a store, and what it says when it cannot take them."""

import sqlite3

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.log import Show, settle


def shows(numbers, body=b"page"):
    """Pages with these numbers."""
    return [Show(1, number, 0, b"", body, 3, 0, 0.0) for number in numbers]


def settled(store, *entries):
    """Write entries in one transaction; their places."""
    with store.transaction() as transaction:
        return settle(transaction, entries)


def sentence(call, *arguments):
    """What a StoreError says, in one line."""
    with pytest.raises(StoreError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def assert_sound(path):
    """A file is a whole database, and its events are without a gap."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        offsets = [row[0] for row in connection.execute("SELECT position FROM events ORDER BY 1")]
        assert offsets == list(range(1, len(offsets) + 1))
        assert connection.execute("SELECT count(*) FROM open_impressions").fetchone()[0] == len(offsets)
