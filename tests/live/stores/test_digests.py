"""A digest tells which half of an event was changed, and is another in every log and at every place."""

import pytest

from rankloop.live.stores import open_store
from rankloop.live.stores.digests import Digests, new_digests, parts_changed, read_digests

from .rows import event, write

MADE = Digests(1, bytes(range(16)))
PAGE = event(7, model=2, number=3, at=4, client=b"ann", body=b"page")


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({}, (False, False)),
        ({"model": 3}, (True, False)),
        ({"kind": 3}, (True, False)),
        ({"number": 4}, (True, False)),
        ({"at": 5}, (True, False)),
        ({"client": b""}, (True, False)),
        ({"body": b"pagE"}, (False, True)),
        ({"offset": 8}, (True, True)),
    ],
)
def test_a_digest_tells_what_was_changed(changed, parts):
    assert parts_changed(MADE.of(PAGE), MADE.of(PAGE._replace(**changed))) == parts


def test_every_log_has_a_key_of_its_own():
    one, other = new_digests(1), new_digests(1)
    assert parts_changed(one.of(PAGE), other.of(PAGE)) == (True, True)
    assert read_digests(one.fact()) == one


def test_what_rankloop_writes_has_a_digest_with_one_key_for_all_writers(store, address):
    second = open_store(address)
    write(store, [event(1)])
    write(second, [event(2)])
    write(store, [event(3)])
    second.close()
    made = store._digests
    assert made is not None
    assert made.since == 1
    assert store.with_digests(0, 9) == [(event(place), made.of(event(place))) for place in (1, 2, 3)]


def test_a_key_that_was_rolled_back_is_not_used(store):
    def fail():
        with store.transaction() as transaction:
            transaction.write([event(1)], [], [], [], [])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store._digests is None
