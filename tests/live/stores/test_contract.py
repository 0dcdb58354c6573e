"""What every store promises: one suite, run against SQLite and PostgreSQL."""

import threading

import pytest

from rankloop.live.errors import StoreError
from rankloop.live.events import Kind
from rankloop.live.stores import open_store, opened_copy
from rankloop.live.stores.rows import TABLES, Snapshot, Tally

from .rows import BODY, event, filled, new_model, save, waiting, write

# Events


def test_a_new_log_is_empty(store):
    assert store.last_offset() == 0
    assert store.events(0, 10) == []
    assert store.event(1) is None
    with store.transaction() as transaction:
        assert transaction.next_offset() == 1


def test_events_come_back_as_they_went_in_also_after_reopening(store, address):
    large = 2**53 + 1
    written = [event(1, 3, Kind.CREATED, large, 7, b"\x00\xff", BODY), event(2, body=b"")]
    write(store, written)
    assert store.events(0, 10) == written
    store.close()
    again = open_store(address)
    assert again.events(0, 10) == written
    assert [type(value) for value in again.events(0, 1)[0]] == [int, int, int, int, int, bytes, bytes]
    assert again.event(2) == written[1]
    assert again.last_offset() == 2
    again.close()


def test_decisions_are_found_newest_first_among_the_pages_of_a_model_alone(store):
    kinds = [Kind.CREATED, Kind.SHOWN, Kind.PAUSED, Kind.CLOSED, Kind.ERASED, Kind.RESUMED, Kind.EXPERIMENT_STARTED]
    written = [event(place, 1, kind, client=b"ops") for place, kind in enumerate(kinds, 1)]
    write(store, [*written, event(len(kinds) + 1, 2, Kind.PAUSED)])
    found = [Kind.EXPERIMENT_STARTED, Kind.RESUMED, Kind.PAUSED]
    assert [one.kind for one in store.decisions(1, 10)] == found
    assert store.decisions(1, 1) == [written[6]]


def test_what_was_made_of_a_page_is_found_by_its_number_the_newest_of_it(store):
    kinds = [Kind.SHOWN, Kind.CLICKED, Kind.CLOSED, Kind.LATE, Kind.CLICKED]
    written = [event(place, 1, kind, number=7) for place, kind in enumerate(kinds, 1)]
    write(store, [*written, event(6, 1, Kind.CLOSED, number=8), event(7, 2, Kind.LATE, number=7)])
    assert store.ended(1, 7) == written[3]
    with store.transaction() as transaction:
        assert transaction.ended(1, 7) == written[3]
        assert transaction.ended(1, 8).offset == 6
        assert transaction.ended(1, 9) is None
    assert store.ended(2, 7).offset == 7


def test_what_happened_on_an_open_page_is_kept_beside_what_it_is_worth(store):
    told, plain = waiting(1)._replace(actions=bytes(4)), waiting(2)
    write(store, [event(1)], [told, plain])
    assert (store.open_impression(1, 1), store.open_impression(1, 2)) == (told, plain)
    told = told._replace(clicks=bytes([1] * 8), actions=bytes([1, 2, 3, 4]))
    write(store, clicked=[told])
    assert store.open_impression(1, 1) == told
    with store.transaction() as transaction:
        assert transaction.open_impressions([(1, 1)]) == {(1, 1): told}


def test_events_are_filtered_by_kind_and_model_and_limited_in_order(store):
    kinds = [Kind.SHOWN, Kind.CLICKED, Kind.CLOSED]
    write(store, [event(n, model=n % 2, kind=kinds[n % 3], body=b"") for n in range(1, 13)])
    assert [e.offset for e in store.events(4, 3)] == [5, 6, 7]
    assert [e.offset for e in store.events(0, 99, kinds=[Kind.CLICKED])] == [1, 4, 7, 10]
    assert [e.offset for e in store.events(1, 99, kinds=kinds[1:], model=1)] == [5, 7, 11]
    assert [e.offset for e in store.events(0, 99, model=0)] == [2, 4, 6, 8, 10, 12]
    assert store.events(0, 99, kinds=[]) == []


def test_the_next_offset_follows_what_was_written_in_the_same_transaction(store):
    with store.transaction() as transaction:
        transaction.write([event(1), event(2)], [], [], [], [])
        assert transaction.next_offset() == 3
        transaction.write([event(3)], [], [], [], [])
        assert transaction.next_offset() == 4
    assert store.last_offset() == 3


def test_readers_see_a_transaction_only_when_it_has_ended(store):
    with store.transaction() as transaction:
        transaction.write([event(1)], [waiting(0)], [], [], [])
        assert store.last_offset() == 0
        assert store.open_count(1) == 0
    assert store.last_offset() == 1


def test_a_transaction_that_fails_leaves_nothing(store):
    def fail():
        with store.transaction() as transaction:
            transaction.create_model("shop", b"", 0)
            transaction.write([event(1)], [waiting(0)], [], [], [Tally(1, 1, 0, 0, 0, 1, 1.0, 1.0, 0.0)])
            transaction.save_snapshot(Snapshot(1, 0, 1, 0, b"x"), -1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for table in TABLES:
        assert list(store.export_rows(table)) == []
    write(store, [event(1)])
    assert store.last_offset() == 1


def test_a_place_is_given_once(store):
    write(store, [event(1)])
    with pytest.raises(StoreError):
        write(store, [event(2), event(1)])
    assert store.last_offset() == 1
    write(store, [event(2)])


def test_an_error_that_was_swallowed_inside_a_transaction_is_not_taken_for_success(store):
    write(store, [event(1)])

    def careless():
        with store.transaction() as transaction:
            transaction.write([event(2)], [], [], [], [])
            try:
                transaction.write([event(1)], [], [], [], [])
            except Exception:
                return "swallowed"

    # Either the transaction says that it failed, or what was written before the error is there.
    try:
        careless()
    except StoreError:
        assert store.last_offset() == 1
    else:
        assert store.last_offset() == 2


def test_a_transaction_within_a_transaction_is_refused_and_does_not_harm_the_outer_one(store):
    with store.transaction() as transaction:
        transaction.write([event(1)], [], [], [], [])
        with pytest.raises(StoreError):
            store.set_fact("a", "b")
        transaction.write([event(2)], [], [], [], [])
    assert store.last_offset() == 2


def test_transactions_of_two_threads_wait_for_each_other(store):
    inside, order = threading.Event(), []

    def second():
        inside.wait()
        with store.transaction() as transaction:
            order.append(("second", transaction.next_offset()))

    thread = threading.Thread(target=second)
    thread.start()
    with store.transaction() as transaction:
        inside.set()
        thread.join(0.1)
        transaction.write([event(1)], [], [], [], [])
        order.append(("first", 1))
    thread.join()
    assert order == [("first", 1), ("second", 2)]


# Forgetting


def test_erasing_a_person_leaves_only_places(store):
    me, other = b"me", b"other"
    write(
        store,
        [
            event(1, kind=Kind.CREATED, number=0, body=b"settings"),
            event(2, number=0, client=me),
            event(3, number=1, client=other),
            event(4, kind=Kind.CLICKED, number=0),
            event(5, kind=Kind.CLOSED, number=0),
            event(6, model=2, number=1, client=me),
            event(7, kind=Kind.PAUSED, number=0, body=b""),
            event(8, kind=Kind.CLICKED, number=1),
        ],
        [waiting(1, shown=6, model=2), waiting(1, shown=3)],
    )
    assert store.erase(me) == 2
    events = store.events(0, 99)
    assert [e.offset for e in events] == [1, 2, 3, 4, 5, 6, 7, 8]
    erased = int(Kind.ERASED)
    assert [e.kind for e in events] == [1, erased, 2, erased, erased, erased, 5, 3]
    assert all((e.client, e.body) == (b"", b"") for e in events if e.kind == erased)
    assert events[0].body == b"settings"
    assert (store.open_count(1), store.open_count(2)) == (1, 0)
    assert store.erase(me) == 0


def test_the_unknown_person_cannot_be_erased(store):
    write(store, [event(1), event(2, number=1)])
    assert store.erase(b"") == 0
    assert [e.kind for e in store.events(0, 9)] == [Kind.SHOWN, Kind.SHOWN]


def test_dropping_keeps_open_impressions_the_models_and_the_newest_place(store):
    write(
        store,
        [
            event(1, kind=Kind.CREATED),
            event(2, number=5),
            event(3, number=6),
            event(4, kind=Kind.CLICKED, number=6),
            event(5, kind=Kind.CLOSED, number=5),
        ],
        [waiting(6, shown=3)],
    )
    assert store.drop_events(2) == 0
    assert store.drop_events(5) == 1
    assert [e.offset for e in store.events(0, 9)] == [1, 3, 4, 5]
    assert store.drop_events(1000) == 0
    write(store, closed=[(1, 6)])
    assert store.drop_events(1000) == 2
    assert [e.offset for e in store.events(0, 9)] == [1, 5]
    with store.transaction() as transaction:
        assert transaction.next_offset() == 6


# Keeping a log


def test_a_moment_stays_what_it_was_while_the_log_goes_on(store):
    filled(store)
    before = {table: list(store.export_rows(table)) for table in TABLES}
    with store.at_one_moment() as moment:
        write(store, [event(4)], closed=[(1, 1)])
        save(store, Snapshot(1, 1, 4, 6, b"later"), 1)
        store.set_fact("b", "changed")
        store.erase(b"me")
        assert (moment.last_offset(), store.last_offset()) == (3, 4)
        assert moment.events(1, 9) == [event(2, number=1, client=b"me"), event(3, number=2)]
        assert (moment.open_count(1), store.open_count(1)) == (2, 1)
        assert (moment.newest_versions(), store.newest_versions()) == ({1: (0, 1)}, {1: (1, 4)})
        assert (moment.fact("b"), store.fact("b")) == ("b", "changed")
        rows, again = moment.export_rows("events"), moment.export_rows("models")
        assert [next(rows)[0], next(again)[0], next(rows)[0]] == [1, 1, 2]  # several at a time
        rows.close()
        again.close()
        assert {table: list(moment.export_rows(table)) for table in TABLES} == before


def test_what_goes_wrong_with_one_moment_harms_neither_the_store_nor_the_next(store):
    filled(store)

    def fail():
        with store.at_one_moment() as moment:
            assert moment.last_offset() == 3
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.at_one_moment() as moment:
        assert moment.last_offset() == store.last_offset() == 3


def test_erased_events_are_counted_by_model(store):
    write(store, [event(n, model=1 + n // 3, number=n, client=b"me") for n in range(1, 5)] + [event(5, model=3)])
    assert store.erased_events() == {}
    store.erase(b"me")
    assert store.erased_events() == {1: 2, 2: 2}


def test_states_and_tallies_of_deleted_models_are_forgotten_and_those_of_others_stay(store):
    for name in ("shop", "gone"):
        model = new_model(store, name)
        write(store, tallies=[Tally(model, 1, 4, 0, 0, 1, 0.1, 0.1, 0.0)])
        save(store, Snapshot(model, 0, 1, 5, BODY), -1)
        save(store, Snapshot(model, 1, 2, 5, BODY), 1)
    assert store.forget_deleted_models() == 0
    with store.transaction() as transaction:
        transaction.delete_model(2, 9)
    assert store.forget_deleted_models() == 2
    assert (len(store.snapshots(1)), len(store.tallies(1))) == (2, 1)
    assert (store.snapshots(2), store.tallies(2)) == ([], [])


@pytest.mark.parametrize("alone", [True, False])
def test_room_is_reclaimed_and_everything_that_was_kept_is_there(store, alone):
    write(store, [event(n, number=n) for n in range(1, 200)])
    store.overwrite_deleted()
    store.drop_events(199)
    reclaimed = store.reclaim(alone=alone)
    assert reclaimed.shrunk == (alone and not store.shared)
    assert reclaimed.freed_bytes > 100_000 if reclaimed.shrunk else reclaimed.freed_bytes == 0
    assert store.events(0, 9) == [event(199, number=199)]
    assert store.damage() == []


def test_a_copy_in_a_file_is_the_whole_store_where_a_store_is_a_file(store, tmp_path):
    filled(store)
    assert store.copy_to(tmp_path / "copy") != store.shared
    if not store.shared:
        with opened_copy(tmp_path / "copy") as copy:
            assert {table: list(copy.export_rows(table)) for table in TABLES} == {
                table: list(store.export_rows(table)) for table in TABLES
            }
        assert [file.name for file in tmp_path.glob("copy*")] == ["copy"]


# Leases


def test_a_lease_is_held_by_one_at_a_time(store, address):
    lease = store.lease("model-1")
    other = open_store(address)
    assert lease.alive()
    assert other.lease("model-1") is None
    assert store.lease("model-1") is None
    second = other.lease("model-2")
    assert second.alive()
    assert store.lease("model-2") is None
    lease.release()
    assert not lease.alive()
    taken = other.lease("model-1")
    assert taken is not None
    lease.release()  # a second time changes nothing
    assert taken.alive()
    assert store.lease("model-1") is None
    other.close()


# The end


def test_a_closed_store_says_so(store):
    store.last_offset()
    store.close()
    with pytest.raises(StoreError):
        store.last_offset()
    with pytest.raises(StoreError):
        write(store, [event(1)])
    store.close()
