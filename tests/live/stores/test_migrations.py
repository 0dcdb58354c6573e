"""Formats grow: an older store is brought up to date when it is opened, a newer one is refused."""

import threading

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.stores import migrations, open_store
from rankloop.live.stores.migrations import Migration

from .rows import event

COLUMN = "ALTER TABLE models ADD COLUMN owner TEXT NOT NULL DEFAULT 'nobody'"
TABLE = "CREATE TABLE notes (name TEXT PRIMARY KEY)"
TODAY = len(migrations.MIGRATIONS)
FUTURE = [
    *migrations.MIGRATIONS,
    Migration((COLUMN,), (COLUMN,)),
    Migration((TABLE, "INSERT INTO notes VALUES ('moved')"), (TABLE, "INSERT INTO notes VALUES ('moved')")),
]


@pytest.fixture
def old(address):
    """A store of today's version, with a model in it."""
    store = open_store(address)
    with store.transaction() as transaction:
        transaction.create_model("shop", b"{}", 5)
    store.close()
    return address


def columns(store):
    return [len(row) for row in store.export_rows("models")]


def notes(store):
    return [row[0] for row in store._rows("SELECT name FROM notes")]


def test_an_older_store_is_brought_up_to_date_with_what_it_holds(old, monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE)
    for _ in range(2):  # once, and not again
        store = open_store(old)
        assert next(store.export_rows("models"))[1:] == ("shop", b"{}", 5, None, 0, "nobody")
        assert notes(store) == ["moved"]
        store.close()


def test_a_store_of_version_1_gets_digests_from_then_on(address, monkeypatch):
    with monkeypatch.context() as then:
        then.setattr(migrations, "MIGRATIONS", [])
        open_store(address).close()
    store = open_store(address)
    assert store.last_offset() == 0
    with store.transaction() as transaction:
        transaction.write([event(1), event(2)], [], [], [], [])
    assert [digest is None for _, digest in store.with_digests(0, 9)] == [False, False]
    store.close()


def test_every_version_can_be_the_beginning(old, monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE[:-1])
    open_store(old).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE)
    store = open_store(old)
    assert columns(store) == [7]
    assert notes(store) == ["moved"]
    store.close()


def test_a_new_store_takes_the_same_road(address, monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE)
    store = open_store(address)
    assert notes(store) == ["moved"]
    store.close()


def test_a_newer_store_is_refused_and_left_alone(old, monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE)
    open_store(old).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE[:-1])
    with pytest.raises(StoreError, match=rf"newer rankloop \(format {TODAY + 3}, this one reads up to {TODAY + 2}\)"):
        open_store(old)


def test_a_migration_that_fails_changes_nothing(old, monkeypatch):
    wrong = ("CREATE TABLE halfway (name TEXT)", "ALTER TABLE nowhere ADD COLUMN a TEXT")
    monkeypatch.setattr(migrations, "MIGRATIONS", [*FUTURE[:-1], Migration(wrong, wrong)])
    with pytest.raises(StoreError, match="nowhere"):
        open_store(old)
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE[:TODAY])
    store = open_store(old)
    assert columns(store) == [6]
    with pytest.raises(StoreError):
        store._rows("SELECT * FROM halfway")
    store.close()


def test_those_who_open_an_older_store_at_the_same_time_do_not_collide(old, monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", FUTURE)
    found, barrier = [], threading.Barrier(4)

    def enter():
        barrier.wait()
        store = open_store(old)
        found.append((columns(store), notes(store)))
        store.close()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [([7], ["moved"])] * 4
