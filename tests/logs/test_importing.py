"""A log leaves and enters whole: exports, imports, backups, on both kinds of store."""

import threading

import pytest
from tests.patience import PATIENCE

from rankloop.errors import DataError, SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.events import Kind
from rankloop.live.loading import load
from rankloop.live.stores import open_store
from rankloop.logs.importing import NUMBERS_SKIPPED, back_up, import_log, restore
from rankloop.logs.verifying import verify

from .writing import Log, contents, exported


@pytest.fixture
def log(store):
    log = Log.filled(store, impressions=40)
    log.visit(3, close=False)
    log.control(Kind.PAUSED)
    return log


@pytest.fixture
def other(address, request, tmp_path):
    """A new store of the other kind."""
    if address.startswith("postgresql"):
        return str(tmp_path / "other.db")
    return request.getfixturevalue("postgres_server").new_log()


def weights(address):
    """The bits of a model's state after all of its log."""
    store = open_store(address)
    try:
        fold, _ = load(store, store.models()[0])
        return fold.state()
    finally:
        store.close()


def test_a_log_moves_to_the_other_kind_of_store_and_back_with_every_row_and_every_bit(
    log, store, address, other, tmp_path
):
    before = contents(store)
    counts = exported(address, tmp_path / "there.log")
    assert {table: len(rows) for table, rows in before.items() if rows} == counts
    assert import_log(tmp_path / "there.log", other) == counts
    assert weights(other) == weights(address)
    assert verify(other).problems == []
    assert verify(other).models == verify(address).models
    exported(other, tmp_path / "back.log")
    assert (tmp_path / "back.log").read_bytes() == (tmp_path / "there.log").read_bytes()
    again = str(tmp_path / "again.db")
    import_log(tmp_path / "back.log", again)
    found = open_store(again)
    assert contents(found) == before
    found.close()


def test_traffic_goes_on_where_the_exported_log_ended(log, address, other, tmp_path):
    exported(address, tmp_path / "log")
    import_log(tmp_path / "log", other)
    store = open_store(other)
    moved = object.__new__(Log)
    moved.__dict__ |= log.__dict__ | {"store": store}
    moved.control(Kind.RESUMED)
    moved.visit(10)
    moved.snapshot()
    assert verify(other).problems == []
    store.close()


def test_a_log_is_imported_into_an_empty_store_only(log, store, address, tmp_path):
    exported(address, tmp_path / "log")
    before = contents(store)
    with pytest.raises(SettingsError, match="not empty"):
        import_log(tmp_path / "log", address)
    assert contents(store) == before


# Beside a writer


def writing(log, stop, shown):
    while not stop.is_set():
        log.visit(2)
        log.snapshot()
        shown.set()


@pytest.fixture
def busy(log):
    """A log that somebody writes to."""
    log.control(Kind.RESUMED)
    stop, shown = threading.Event(), threading.Event()
    thread = threading.Thread(target=writing, args=(log, stop, shown))
    thread.start()
    assert shown.wait(PATIENCE), "no page was shown"
    yield shown
    stop.set()
    thread.join()


@pytest.mark.parametrize("way", ["backup", "export"])
def test_a_copy_made_beside_a_writer_is_one_consistent_moment(log, address, busy, way, tmp_path):
    last = 0
    for number in range(3):
        file, new = tmp_path / f"copy{number}", tmp_path / f"new{number}.db"
        (back_up if way == "backup" else lambda *given: exported(*given[:2]))(address, file, 5)
        restore(file, new)
        found = verify(new)
        assert found.problems == []
        assert found.last_offset >= last
        last = found.last_offset
        busy.clear()
        assert busy.wait(PATIENCE), "the writer did not go on"
    assert last > 0


def test_a_backup_is_restored_to_either_store_and_ids_given_after_it_never_name_another_page(
    log, address, other, tmp_path
):
    back_up(address, tmp_path / "backup", 5)
    for place in (other, str(tmp_path / "third.db")):
        restore(tmp_path / "backup", place)
        assert weights(place) == weights(address)
        assert verify(place).problems == []
        store = open_store(place)
        assert store.reserve(log.model, 1) == NUMBERS_SKIPPED + log.number
        store.close()


def test_a_restore_never_overwrites_and_a_backup_never_the_log_itself(log, store, address, tmp_path):
    back_up(address, tmp_path / "backup", 5)
    before = contents(store)
    with pytest.raises(SettingsError, match="not empty"):
        restore(tmp_path / "backup", address)
    assert contents(store) == before
    if not address.startswith("postgresql"):
        with pytest.raises(SettingsError, match="the log itself"):
            back_up(address, address, 5)


def test_what_is_no_backup_is_refused_and_nothing_is_made(tmp_path):
    (tmp_path / "bad").write_bytes(b"SQLite format 3\0" + bytes(5000))
    for bad in (tmp_path / "bad", tmp_path / "missing"):
        with pytest.raises((DataError, StoreError)):
            restore(bad, tmp_path / "new.db")
        assert not (tmp_path / "new.db").exists()
