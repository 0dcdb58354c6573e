"""Verify, compact, erase and refold, on both kinds of store: what is wrong is found, what is promised is kept."""

import threading

import msgspec
import numpy as np
import pytest
from tests.patience import PATIENCE

from rankloop.errors import SettingsError
from rankloop.live.errors import StoreError
from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.learning import Learner, load
from rankloop.live.service import client_hash
from rankloop.live.stores import open_store
from rankloop.logs.access import COMPACTED, existing
from rankloop.logs.refolding import refold
from rankloop.logs.trimming import DAY, compact, erase
from rankloop.logs.verifying import verify

from .logs import SALT, Log, contents, model_settings


@pytest.fixture
def log(store):
    return Log.filled(store, impressions=60)


def change(store, sql):
    """Change a store behind its back; how many rows."""
    with store._exclusive() as connection:
        return connection.execute(sql).rowcount


def blob(store, content):
    """Bytes as SQL."""
    return f"x'{content.hex()}'" if not store.shared else f"'\\x{content.hex()}'::bytea"


def problems(address):
    return verify(address).problems


def only_model(address):
    [found] = verify(address).models
    return found


# Verify


def test_a_sound_log_is_folded_from_its_beginning_and_every_snapshot_is_the_same_bits(log, address):
    log.visit(5, close=False)
    log.control(Kind.PAUSED)
    log.visit(10)
    log.control(Kind.RESUMED)
    log.visit(10)
    log.roll_back(20)
    log.snapshot()
    found = verify(address)
    assert found.problems == []
    [model] = found.models
    assert (model.begins, model.snapshots, model.checked, model.different) == ("the beginning", 8, 8, 0)
    assert found.last_offset == found.events == log.store.last_offset()


def test_several_models_some_deleted_are_checked_together(store, address):
    first, second = Log.filled(store, impressions=20), Log.filled(store, model_settings("shoes"), impressions=20)
    first.visit(2, close=False)
    first.control(Kind.DELETED)
    with store.transaction() as transaction:
        transaction.delete_model(first.model, 5)
    second.visit(10)
    second.snapshot()
    assert problems(address) == []
    assert only_model(address).name == "shoes"


def test_one_flipped_bit_of_a_page_that_was_learned_from_is_found(log, store, address):
    event = store.events(20, 1, kinds=(Kind.SHOWN,))[0]
    features = decode(event.kind, event.body).features
    place = event.body.index(features) + 6  # a high bit of the second number's fraction
    flipped = event.body[:place] + bytes([event.body[place] ^ 0x40]) + event.body[place + 1 :]
    assert change(store, f"UPDATE events SET body = {blob(store, flipped)} WHERE position = {event.offset}") == 1
    found = verify(address)
    assert any("is not what the log folds to" in told and "the weight of" in told for told in found.problems)


def test_a_click_that_was_added_or_taken_away_is_found(log, store, address):
    event = store.events(0, 1, kinds=(Kind.CLOSED,))[0]

    closing = decode(event.kind, event.body)
    other = msgspec.msgpack.encode(msgspec.structs.replace(closing, clicks=[1.0 - c for c in closing.clicks]))
    change(store, f"UPDATE events SET body = {blob(store, other)} WHERE position = {event.offset}")
    assert any(f"event {event.offset}: its clicks" in told for told in problems(address))


def test_a_changed_weight_in_one_snapshot_is_found_and_named(log, store, address):
    snapshot = store.snapshot(log.model, 30)
    fold = Fold(log.settings)
    fold.restore(snapshot.state, snapshot.offset)
    fold.ranker.model.ranker.weights[2] = np.nextafter(fold.ranker.model.ranker.weights[2], 9)
    change(store, f"UPDATE snapshots SET state = {blob(store, fold.state())} WHERE version = 30")
    [told] = problems(address)
    assert told.startswith("version 30 of shop is not what the log folds to: the weight of f3 is")
    assert only_model(address).different == 1


@pytest.mark.parametrize("kind", [Kind.SHOWN, Kind.CLICKED, Kind.CLOSED])
def test_a_missing_event_is_found(log, store, address, kind):
    event = store.events(30, 1, kinds=(kind,))[0]
    assert change(store, f"DELETE FROM events WHERE position = {event.offset}") == 1
    assert f"event {event.offset} is missing" in problems(address)


def test_a_missing_end_is_found_through_what_is_open(log, store, address):
    log.visit(3, close=False)
    change(store, f"DELETE FROM events WHERE position > {store.last_offset() - 2}")
    assert any("open in the table, but not in the log" in told for told in problems(address))


def test_a_body_that_cannot_be_read_and_an_unknown_kind_are_sentences(log, store, address):
    shown, closed = store.events(0, 1, kinds=(Kind.SHOWN,))[0], store.events(30, 1, kinds=(Kind.CLOSED,))[0]
    change(store, f"UPDATE events SET body = {blob(store, b'??')} WHERE position = {shown.offset}")
    change(store, f"UPDATE events SET kind = 99 WHERE position = {closed.offset}")
    found = problems(address)
    assert any(told.startswith(f"event {shown.offset}: its body cannot be read") for told in found)
    assert f"event {closed.offset}: 99 is no kind of event" in found


def test_a_log_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(SettingsError, match="there is no log at"):
        verify(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


# Erase and refold


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


def test_after_an_erasure_verify_begins_at_a_snapshot_and_weights_stay_until_a_refold(log, store, address):
    weights = load(store, store.models()[0])[0].ranker.weights
    erase(address, "ann")
    found = only_model(address)
    assert problems(address) == []
    assert found.begins == "version 60"
    assert (load(store, store.models()[0])[0].ranker.weights == weights).all()
    done = refold(address, "shop", log.at)
    assert (done.version, done.begins, done.learned) == (61, "the beginning", 45)
    assert done.distance > 0
    anew = load(store, store.models()[0])[0].ranker.weights
    assert not (anew == weights).all()
    # What the same people would have taught a model that never met her.
    alone = Fold(log.settings)
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        alone.apply(event, store.event(decode(event.kind, event.body).shown))
    assert (anew == alone.ranker.weights).all()
    # States that had learned from her are gone, where the model began is not.
    assert [snapshot.version for snapshot in store.snapshots(log.model)] == [61, 0]
    assert problems(address) == []


def test_a_second_refold_forgets_what_the_first_still_knew(log, store, address):
    erase(address, "ann")
    refold(address, "shop", log.at)
    erase(address, "bob")
    done = refold(address, "shop", log.at)
    assert done.learned == 30
    weights = load(store, store.models()[0])[0].ranker.weights
    alone = Fold(log.settings)
    for event in store.events(0, 1_000_000, kinds=(Kind.CLOSED,)):
        alone.apply(event, store.event(decode(event.kind, event.body).shown))
    assert (weights == alone.ranker.weights).all()


def test_a_refold_of_an_untouched_log_changes_no_weight_and_passes_roll_backs_as_they_were_meant(log, store, address):
    log.roll_back(20)
    log.visit(10)
    before = log.fold.ranker.weights
    done = refold(address, "shop", log.at)
    assert (done.distance, done.kept_states, done.forgotten) == (0.0, 0, 0)
    assert (load(store, store.models()[0])[0].ranker.weights == before).all()
    assert problems(address) == []


def test_a_service_that_is_learning_takes_a_refold_over(log, store, address):
    serving = open_store(address)
    published = threading.Event()
    learner = Learner(serving, lambda model, view: published.set() if view.version > 60 else None, lambda: log.at)
    learner.start()
    try:
        erase(address, "ann")
        learner.wake()
        done = refold(address, "shop", log.at)
        learner.wake()
        assert published.wait(PATIENCE)
    finally:
        learner.stop()
        serving.close()
    assert done.version == 61
    assert problems(address) == []


def test_only_one_upkeep_at_a_time(log, store, address):
    lease = store.lease("upkeep")
    for attempt in (lambda: compact(address, 1, log.at), lambda: refold(address, "shop", log.at)):
        with pytest.raises(StoreError, match="another upkeep"):
            attempt()
    lease.release()
    with pytest.raises(SettingsError, match="there is shop"):
        refold(address, "shoe", log.at)


# Compact


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


def test_a_refold_of_a_compacted_log_goes_on_from_its_oldest_snapshot(log, store, address):
    log.visit(20)
    log.snapshot()
    log.visit(20)
    log.snapshot()
    before = log.fold.ranker.weights
    compact(address, 1.0 / 86_400 * 25, log.at)
    assert refold(address, "shop", log.at).begins == "version 80"
    assert (load(store, store.models()[0])[0].ranker.weights == before).all()


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
            assert shown.wait(PATIENCE)
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
