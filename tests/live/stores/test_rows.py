"""What both stores say in the same words, asked of each: open impressions, tallies, models, snapshots, keys, facts."""

import threading

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.events import Kind
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import ApiKey, Snapshot, Tally

from .rows import BODY, event, new_model, save, waiting, write

# Open impressions and tallies


def test_open_impressions_are_found_changed_and_closed(store):
    write(store, [event(1)], [waiting(n, at=100 - n) for n in range(4)])
    write(store, clicked=[waiting(1, clicks=b"\x00\x00\x80?" * 2)], closed=[(1, 2), (1, 77)])
    assert store.open_impression(1, 0) == waiting(0, at=100)
    assert store.open_impression(1, 1) == waiting(1, at=99, clicks=b"\x00\x00\x80?" * 2)
    assert store.open_impression(1, 2) is None
    assert store.open_impression(2, 0) is None
    assert (store.open_count(1), store.open_count(2)) == (3, 0)
    with store.transaction() as transaction:
        found = transaction.open_impressions([(1, 0), (1, 2), (1, 3), (2, 0)])
        assert transaction.open_impressions([]) == {}
    assert found == {(1, 0): waiting(0, at=100), (1, 3): waiting(3, at=97)}


def test_due_impressions_come_oldest_first_and_only_of_their_model(store):
    rows = [waiting(0, at=30), waiting(1, at=10), waiting(2, at=20), waiting(3, at=20), waiting(9, at=1, model=2)]
    write(store, opened=rows)
    assert [row.number for row in store.due(1, 30, 10)] == [1, 2, 3]
    assert [row.number for row in store.due(1, 31, 2)] == [1, 2]


def test_an_impression_cannot_be_opened_twice(store):
    write(store, opened=[waiting(0)])
    with pytest.raises(StoreError):
        write(store, opened=[waiting(0)])


def test_tallies_add_up_exactly(store):
    row = Tally(1, 1, 10, 0, 1, 1, 0.1, 0.01, 0.3)
    write(
        store, tallies=[row, row._replace(rank=0), row._replace(minute=9), row._replace(model=2), row._replace(span=60)]
    )
    write(store, tallies=[row])
    write(store, tallies=[row])
    added = Tally(1, 1, 10, 0, 1, 3, 0.1 + 0.1 + 0.1, 0.01 + 0.01 + 0.01, 0.3 + 0.3 + 0.3)
    assert store.tallies(1) == [row._replace(minute=9), row._replace(rank=0), added]
    assert store.tallies(1, since_minute=10) == [row._replace(rank=0), added]
    assert store.tallies(1, span=60) == [row._replace(span=60)]
    assert store.tallies(1, rank=0) == [row._replace(rank=0)]


def test_the_newest_pages_are_found_first(store):
    write(store, opened=[waiting(number)._replace(at=100 + number) for number in range(5)])
    assert [row.number for row in store.newest_open(1, 2)] == [4, 3]
    write(
        store, [event(place, kind=(Kind.SHOWN, Kind.CLOSED)[place % 2], model=1 + place // 8) for place in range(1, 10)]
    )
    assert [found.offset for found in store.newest_closings(1, 3)] == [7, 5, 3]
    assert store.newest_closings(3, 3) == []


# Models


def test_models_have_names_of_their_own_and_ids_that_never_return(store):
    first, second = new_model(store), new_model(store, "Shop")
    assert (first, second) == (1, 2)
    assert new_model(store) is None
    assert [(m.id, m.name, m.settings, m.created) for m in store.models()] == [
        (1, "shop", b'{"a": 1}', 5),
        (2, "Shop", b'{"a": 1}', 5),
    ]
    write(store, opened=[waiting(0, model=2), waiting(0, model=1)])
    with store.transaction() as transaction:
        transaction.delete_model(2, 9)
    assert [m.id for m in store.models()] == [1]
    assert (store.open_count(1), store.open_count(2)) == (1, 0)
    assert new_model(store, "Shop") == 3


def test_a_name_that_was_taken_does_not_spoil_the_transaction(store):
    new_model(store)
    with store.transaction() as transaction:
        assert transaction.create_model("shop", b"", 0) is None
        transaction.write([event(1)], [], [], [], [])
    assert store.last_offset() == 1


def test_reserved_numbers_are_never_given_twice(store, address):
    model = new_model(store)
    assert store.reserve(model, 10) == 0
    assert store.reserve(model, 5) == 10
    given = []
    other = open_store(address)

    def take(where):
        given.extend(where.reserve(model, 3) for _ in range(20))

    threads = [threading.Thread(target=take, args=[where]) for where in (store, other, store)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert sorted(given) == [15 + 3 * n for n in range(60)]
    with pytest.raises(StoreError, match="model 9"):
        store.reserve(9, 1)


# Snapshots


def test_a_snapshot_is_kept_only_if_it_builds_on_the_newest(store):
    assert save(store, Snapshot(1, 0, 3, 1, BODY), -1)
    assert not save(store, Snapshot(1, 1, 9, 1, b"late"), -1)
    assert save(store, Snapshot(1, 1, 9, 1, b"one"), 3)
    assert not save(store, Snapshot(1, 1, 12, 1, b"other"), 3)
    assert not save(store, Snapshot(2, 0, 12, 1, b"other"), 3)
    assert store.newest_snapshot(1) == Snapshot(1, 1, 9, 1, b"one")
    assert store.snapshot(1, 0) == Snapshot(1, 0, 3, 1, BODY)


def test_a_version_is_moved_up_the_log_in_its_place(store):
    save(store, Snapshot(1, 4, 3, 1, b"a"), -1)
    assert save(store, Snapshot(1, 4, 8, 2, b"b"), 3)
    assert store.snapshots(1) == [Snapshot(1, 4, 8, 2, b"")]


def test_snapshots_are_listed_newest_first_and_forgotten_by_version(store):
    before = -1
    for version in range(5):
        save(store, Snapshot(1, version, version * 10, version, b"state"), before)
        before = version * 10
    save(store, Snapshot(2, 7, 5, 0, b"state"), -1)
    assert store.newest_versions() == {1: (4, 40), 2: (7, 5)}
    store.forget_snapshots(1, iter([0, 2, 99]))
    store.forget_snapshots(1, [])
    assert [s.version for s in store.snapshots(1)] == [4, 3, 1]
    assert store.snapshot(1, 2) is None
    assert store.newest_snapshot(3) is None


# Keys, secrets, facts


def test_api_keys_have_one_name_and_are_revoked_once(store):
    first, second = ApiKey("b", b"\x01" * 32, "rank click", 5, None), ApiKey("a", b"\x02", "admin", 5, None)
    assert store.add_api_key(first)
    assert store.add_api_key(second)
    assert not store.add_api_key(first._replace(digest=b"other"))
    assert store.api_keys() == [second, first]
    assert store.revoke_api_key("a", 9)
    assert not store.revoke_api_key("a", 10)
    assert not store.revoke_api_key("nobody", 10)
    assert store.api_keys() == [second._replace(revoked=9), first]
    store.replace_api_key(first._replace(digest=b"new", created=6))
    assert store.api_keys() == [second._replace(revoked=9), first._replace(digest=b"new", created=6)]


def test_secrets_are_dropped_when_their_successor_is_old_enough(store):
    for at in (10, 20, 30):
        store.add_secret(b"secret %d" % at, at)
    assert [(s.id, s.value, s.created) for s in store.secrets()] == [
        (3, b"secret 30", 30),
        (2, b"secret 20", 20),
        (1, b"secret 10", 10),
    ]
    assert store.drop_secrets(20) == 0  # the first was replaced at 20, not before
    assert store.drop_secrets(21) == 1
    assert store.drop_secrets(1000) == 1
    assert [s.created for s in store.secrets()] == [30]
    store.add_secret(b"next", 40)
    assert store.secrets()[0].id == 4


def test_facts_are_replaced_or_kept(store):
    assert store.fact("a") is None
    store.set_fact("a", "ä")
    store.set_fact("a", "ö")
    assert store.fact("a") == "ö"
    assert store.keep_fact("a", "ü") == "ö"
    assert store.keep_fact("salt", "first") == "first"
    assert store.keep_fact("salt", "second") == "first"
    assert store.fact("salt") == "first"
