"""Compact and erase, on both kinds of store: what is promised is kept, what must go is gone."""

import threading

import pytest
from tests.patience import PATIENCE

from rankloop.errors import SettingsError
from rankloop.live.clients import client_hash
from rankloop.live.events import Kind, decode
from rankloop.live.loading import load
from rankloop.live.stores import open_store
from rankloop.logs.access import COMPACTED, clean_since, existing
from rankloop.logs.trimming import DAY, compact, erase

from .writing import SALT, Log, blob, change, contents, model_settings, only_model, problems, refold


def of_client(store, name):
    hashed = client_hash(name, SALT)
    return [event for event in store.events(0, 1_000_000) if event.client == hashed]


def test_erasing_takes_one_persons_pages_and_clicks_and_nothing_else(log, store, address):
    pages = of_client(store, "ann")
    hers = {page.number for page in pages}
    others = [e for e in store.events(0, 1_000_000) if e.kind == Kind.CREATED or e.number not in hers]
    done = erase(address, "ann")
    assert (done.impressions, done.models) == (len(pages), ["shop"])
    assert len(pages) == 15
    assert of_client(store, "ann") == []
    left = store.events(0, 1_000_000)
    assert [event for event in left if event.kind != Kind.ERASED] == others
    assert all(event.body == event.client == b"" for event in left if event.kind == Kind.ERASED)
    assert erase(address, "ann").impressions == 0
    assert erase(address, "nobody").impressions == 0
    with pytest.raises(SettingsError, match="empty"):
        erase(address, "")


def test_what_was_erased_is_not_left_in_a_sqlite_file(tmp_path):
    store = open_store(tmp_path / "log.db")
    log = Log.filled(store, impressions=20)
    page = store.event(of_client(store, "ann")[0].offset).body
    mark = decode(Kind.SHOWN, page).features[:100]  # the features are this query's, which others may have seen too
    change(store, f"UPDATE events SET body = {blob(store, b'')} WHERE client <> x'{client_hash('ann', SALT).hex()}'")
    store.close()
    whole = (tmp_path / "log.db").read_bytes()
    assert mark in whole
    erase(tmp_path / "log.db", "ann")
    assert mark not in (tmp_path / "log.db").read_bytes()
    assert log.number == 20


def test_compacting_deletes_what_is_older_and_keeps_what_is_needed(store, address):
    log = Log.filled(store, impressions=40)
    waiting = log.visit(2, close=False)
    late = log.visit(2, close=False)
    log.at += 10 * DAY
    log.visit(10)
    log.snapshot()
    log.close(late)
    log.visit(10)
    log.snapshot()
    tallies = contents(store)["tallies"]
    done = compact(address, 5, log.at)
    # The open pages, shown ten days ago, hold the log back, and so do those that were closed after the snapshot.
    assert store.open_count(log.model) == len(waiting)
    assert done.events > 80
    assert problems(address) == []
    assert only_model(address).checked >= 1
    assert contents(store)["tallies"] == tallies
    assert [snapshot.version for snapshot in store.snapshots(log.model)] == [62, 50]
    log.close(waiting)
    log.snapshot()
    assert problems(address) == []


def test_after_compacting_everything_a_crash_still_gives_the_same_bits(store, address):
    log = Log.filled(store, impressions=40)
    late = log.visit(5, close=False)
    log.visit(10)
    log.snapshot()
    log.close(late)  # in the log, and in no snapshot yet
    before = log.fold.state()
    compact(address, 0, log.at + 1)
    fold, _ = load(store, store.models()[0])
    log.fold = fold
    log.follow()
    assert log.fold.state() == before
    assert problems(address) == []
    compact(address, 0, log.at + 1)
    log.visit(10)
    log.snapshot()
    assert problems(address) == []


def test_compacting_twice_and_with_nothing_to_delete_is_fine(log, store, address):
    assert compact(address, 365, log.at).events == 0
    assert store.fact(COMPACTED) == "1"
    assert only_model(address).begins == "the beginning"
    assert compact(address, 0, log.at + 1).events > 100
    assert compact(address, 0, log.at + 1).events == 0
    assert problems(address) == []
    with pytest.raises(SettingsError, match="keep-days"):
        compact(address, -1, log.at)


def test_a_gap_beyond_what_was_compacted_is_still_a_fault(log, store, address):
    log.visit(20)
    log.snapshot()
    compact(address, 1.0 / 86_400 * 15, log.at)
    first = int(store.fact(COMPACTED))
    change(store, f"DELETE FROM events WHERE position = {first + 5}")
    assert f"event {first + 5} is missing" in problems(address)


def test_deleted_models_go_with_their_states(store, address):
    first, second = Log.filled(store, impressions=20), Log.filled(store, model_settings("shoes"), impressions=20)
    first.control(Kind.DELETED)
    with store.transaction() as transaction:
        transaction.delete_model(first.model, 5)
    compact(address, 0, second.at + 1)
    assert store.snapshots(first.model) == []
    assert store.tallies(first.model) == []
    assert store.snapshots(second.model) != []
    assert problems(address) == []


def test_the_file_shrinks_when_nobody_serves_and_its_room_is_used_again_when_somebody_does(tmp_path):
    store = open_store(tmp_path / "log.db")
    log = Log.filled(store, impressions=400)
    lease = store.lease(f"model-{log.model}")
    beside = compact(tmp_path / "log.db", 0.001, log.at)
    assert (beside.shrunk, beside.freed_bytes) == (False, 0)
    lease.release()
    alone = compact(tmp_path / "log.db", 0, log.at + 1)
    assert alone.shrunk
    assert alone.freed_bytes > 100_000
    store.close()


def test_compacting_beside_a_writer_loses_nothing_that_is_needed(log, address):
    stop, shown = threading.Event(), threading.Event()

    def write():
        waiting = []
        while not stop.is_set():
            waiting += log.visit(3, close=False)
            log.visit(2)
            log.snapshot()
            log.close(waiting[:3])
            del waiting[:3]
            shown.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        deleted = 0
        for _ in range(4):
            shown.clear()
            assert shown.wait(PATIENCE), "no page was shown"
            deleted += compact(address, 0, log.at + 1_000_000).events
            assert problems(address) == []
    finally:
        stop.set()
        thread.join()
    assert deleted > 60
    assert problems(address) == []
    with existing(address) as store:
        fold, _ = load(store, store.models()[0])
        assert "missing" not in fold.fates


def test_an_erasure_that_was_killed_leaves_no_model_that_passes_for_clean(store, address, monkeypatch):
    log = Log.filled(store, impressions=20)
    erase(address, "bob")
    refold(address, "shop", log.at)
    assert clean_since(store, log.model)
    assert erase(address, "nobody").impressions == 0
    assert clean_since(store, log.model)
    reclaimed = type(store).erase

    def killed(self, client):
        reclaimed(self, client)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "erase", killed)
        with pytest.raises(KeyboardInterrupt):
            erase(address, "ann")
    assert clean_since(store, log.model) is None
    assert erase(address, "ann").impressions == 0
    assert clean_since(store, log.model) is None


def test_compacting_passes_over_a_closing_that_cannot_be_read(store, address):
    log = Log.filled(store, impressions=20)
    closing = store.events(0, 1_000_000, kinds=(Kind.CLOSED,))[-1]
    damaged = blob(store, bytes([0xC1]))
    assert change(store, f"UPDATE events SET body = {damaged} WHERE position = {closing.offset}") == 1
    assert compact(address, 30, log.at).events == 0
