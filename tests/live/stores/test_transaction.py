"""What both stores' transactions do with the same statements: models, snapshots, digests, a sign of life."""

import pytest

from rankloop.live.events import Event, Kind
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Open, Snapshot
from rankloop.live.stores.transaction import BEAT, listed


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


def test_models_are_numbered_and_a_name_is_given_once(store):
    with store.transaction() as transaction:
        assert transaction.create_model("shop", b"{}", 1) == 1
        assert transaction.create_model("shop", b"{}", 2) is None
        assert transaction.create_model("books", b"{}", 3) == 2


def test_a_deleted_model_is_known_as_such_and_no_page_of_it_waits(store):
    waiting = [Open(model, 1, 1, 0, 0, 0.0, b"") for model in (1, 2)]
    with store.transaction() as transaction:
        for name in ("shop", "books"):
            transaction.create_model(name, b"{}", 1)
        transaction.write([], waiting, [], [], [])
        transaction.delete_model(1, 5)
        assert transaction.deleted([1, 2, 3]) == {1}
        assert transaction.deleted([]) == set()
        assert set(transaction.open_impressions([(1, 1), (2, 1)])) == {(2, 1)}


def test_a_snapshot_is_kept_only_by_whoever_knows_the_newest(store):
    first, second = Snapshot(1, 3, 30, 0, b"a"), Snapshot(1, 4, 40, 0, b"b")
    with store.transaction() as transaction:
        assert not transaction.save_snapshot(second, expects=30)
        assert transaction.save_snapshot(first, expects=-1)
        assert not transaction.save_snapshot(second, expects=-1)
        assert transaction.save_snapshot(second, expects=30)


def test_the_first_events_make_the_key_that_later_ones_are_digested_with(store):
    with store.transaction() as transaction:
        assert transaction.digests is None
        transaction.write([Event(1, 1, int(Kind.CREATED), 0, 0, b"", b"")], [], [], [], [])
        made = transaction.digests
    with store.transaction() as transaction:
        transaction.write([Event(2, 1, int(Kind.PAUSED), 0, 0, b"", b"")], [], [], [], [])
        assert made is not None
        assert transaction.digests.fact() == made.fact()


def test_a_sign_of_life_is_written_over_the_one_before(store):
    for at in (17, 18):
        with store.transaction() as transaction:
            transaction.beat(at)
    with store.transaction() as transaction:
        held = transaction._held.execute("SELECT value FROM facts WHERE name = ?", [BEAT]).fetchall()
    assert [row[0] for row in held] == ["18"]


def test_numbers_become_sql_and_nothing_else_does():
    assert listed([3, 1]) == "3, 1"
    with pytest.raises(ValueError, match="invalid literal"):
        listed(["1; DROP TABLE events"])
