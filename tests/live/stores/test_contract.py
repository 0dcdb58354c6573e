"""What every store promises: one suite, run against SQLite and PostgreSQL."""

import threading

import pytest

from rankloop.errors import RankloopError, SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.events import Event, Kind
from rankloop.live.stores import open_store, opened_copy
from rankloop.live.stores.contract import TABLES, ApiKey, Open, Snapshot, Tally

BODY = bytes(range(256)) * 12  # every byte there is, more than PostgreSQL keeps in a row


def event(offset, model=1, kind=Kind.SHOWN, number=0, at=0, client=b"", body=BODY):
    return Event(offset, model, int(kind), number, at, client, body)


def waiting(number, shown=1, at=0, model=1, clicks=bytes(8)):
    return Open(model, number, shown, at, 0, 0.1, clicks)


def write(store, events=(), opened=(), clicked=(), closed=(), tallies=()):
    with store.transaction() as transaction:
        transaction.write(list(events), list(opened), list(clicked), list(closed), list(tallies))


def new_model(store, name="shop"):
    with store.transaction() as transaction:
        return transaction.create_model(name, b'{"a": 1}', 5)


def save(store, snapshot, expects):
    with store.transaction() as transaction:
        return transaction.save_snapshot(snapshot, expects)


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


# Export and import


def filled(store):
    new_model(store)
    new_model(store, "gone")
    store.reserve(1, 10)
    with store.transaction() as transaction:
        transaction.delete_model(2, 3)
    write(
        store,
        [event(1, kind=Kind.CREATED), event(2, number=1, client=b"me"), event(3, number=2)],
        [waiting(1, shown=2), waiting(2, shown=3)],
        tallies=[Tally(1, 1, 4, 0, rank, 1, 0.1, 1 / 3, 1e-300) for rank in (2, 0, 1)],
    )
    save(store, Snapshot(1, 0, 1, 5, BODY), -1)
    for name in ("b", "B", "ä"):
        store.add_api_key(ApiKey(name, b"\x00", "rank", 1, None))
        store.set_fact(name, name)
    store.add_secret(b"one", 1)
    store.add_secret(b"two", 2)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_export_of_one_store_is_a_log_in_another(store, kind, tmp_path, request):
    filled(store)
    exported = {table: list(store.export_rows(table)) for table in TABLES}
    assert all(exported.values())
    other = open_store(
        tmp_path / "other.db" if kind == "sqlite" else request.getfixturevalue("postgres_server").new_log()
    )
    other.add_rows(exported.items())
    assert other.count_rows() == store.count_rows() == {table: len(rows) for table, rows in exported.items()}
    assert {table: list(other.export_rows(table)) for table in TABLES} == exported
    # and it goes on beyond what was imported
    assert new_model(other, "next") == 3
    assert other.reserve(1, 1) == 10
    other.add_secret(b"three", 3)
    assert other.secrets()[0].id == 3
    with other.transaction() as transaction:
        assert transaction.next_offset() == 4
    other.close()


def test_an_import_that_fails_leaves_nothing_in_any_table(store):
    def broken():
        yield "facts", [("a", "1"), ("b", "2")]
        yield "secrets", [(1, b"one", 5)]
        raise KeyError("the file ends here")

    with pytest.raises(KeyError):
        store.add_rows(broken())
    for wrong in ([("a", "1"), ("a", "2")], [("a", "1"), ("b", "2", "3")]):
        with pytest.raises(StoreError):
            store.add_rows([("secrets", [(1, b"one", 5)]), ("facts", wrong)])
    assert (store.fact("a"), store.secrets()) == (None, [])
    store.add_rows([("facts", [("a", "1")]), ("facts", [])])
    assert store.fact("a") == "1"


def test_an_export_of_many_rows_can_be_left_early_while_the_log_grows(store):
    write(store, [event(n, body=b"x") for n in range(1, 301)])
    rows = store.export_rows("events")
    assert next(rows)[0] == 1
    write(store, [event(301)])
    rows.close()
    assert [row[0] for row in store.export_rows("events")] == list(range(1, 302))


@pytest.mark.parametrize("table", ["sqlite_master", "events; DROP TABLE events"])
def test_only_tables_of_the_log_are_exported_and_imported(store, table):
    with pytest.raises(SettingsError, match="no table"):
        list(store.export_rows(table))
    with pytest.raises(SettingsError, match="no table"):
        store.add_rows([(table, [])])


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


def test_a_store_error_is_an_error_of_rankloop_and_no_fault_of_the_input(store):
    with pytest.raises(RankloopError) as failed:
        store.reserve(404, 1)
    assert not isinstance(failed.value, ValueError)
