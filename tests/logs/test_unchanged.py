"""What was changed in a log behind its back is found, in both kinds of store; what was erased is no alarm."""

import msgspec
import pytest

from rankloop.live.events import Clicks, Kind, decode
from rankloop.live.log import Control, settle
from rankloop.live.stores import open_store
from rankloop.live.stores.digests import digests_of
from rankloop.logs.importing import back_up, import_log, restore
from rankloop.logs.trimming import DAY, compact, erase
from rankloop.logs.verifying import verify

from .writing import blob, change, exported, problems, rewrite


def first(store, kind, after=20):
    """An event of this kind in the middle of the log, with its body."""
    event = store.events(after, 1, kinds=(kind,))[0]
    return event, decode(event.kind, event.body)


def other_query(page):
    return {"query": page.query + "!"}


def other_document(page):
    return {"candidates": ["stranger", *page.candidates[1:]]}


def lowest_bit(page):
    return {"features": bytes([page.features[0] ^ 1]) + page.features[1:]}


def other_score(page):
    return {"scores": bytes([page.scores[0] ^ 1]) + page.scores[1:]}


@pytest.mark.parametrize("changed", [other_query, other_document, lowest_bit, other_score])
def test_whatever_is_changed_in_a_page_is_found_and_its_event_named(log, store, address, changed):
    event, page = first(store, Kind.SHOWN)
    rewrite(store, event, msgspec.structs.replace(page, **changed(page)))
    told = f"event {event.offset}: the page of impression {event.number} of shop is not what was written"
    assert told in problems(address)


def test_a_click_on_another_rank_is_found_even_where_the_closing_agrees(log, store, address):
    event, clicks = first(store, Kind.CLICKED)
    rewrite(store, event, msgspec.structs.replace(clicks, ranks=[3 - rank for rank in clicks.ranks]))
    [closed] = [e for e in store.events(event.offset, 99, kinds=(Kind.CLOSED,)) if e.number == event.number]
    closing = decode(closed.kind, closed.body)
    rewrite(store, closed, msgspec.structs.replace(closing, clicks=closing.clicks[::-1]))
    found = problems(address)
    assert (
        f"event {event.offset}: a report of clicks on impression {event.number} of shop is not what was written"
        in found
    )
    assert f"event {closed.offset}: the closing of impression {event.number} of shop is not what was written" in found


@pytest.mark.parametrize("column", ["at = at + 1", "client = {blob}", "number = number + 1"])
def test_a_changed_time_client_or_number_is_found(log, store, address, column):
    event, _ = first(store, Kind.SHOWN)
    change(store, f"UPDATE events SET {column.format(blob=blob(store, b'x'))} WHERE position = {event.offset}")
    assert any(
        told.startswith(f"event {event.offset}: its place, kind, impression, time or client")
        for told in problems(address)
    )


@pytest.mark.parametrize("what", ["position", "body"])
def test_two_events_that_changed_places_are_found(log, store, address, what):
    one, other = store.events(20, 2, kinds=(Kind.SHOWN,))
    if what == "body":
        for event, body in ((one, other.body), (other, one.body)):
            change(store, f"UPDATE events SET body = {blob(store, body)} WHERE position = {event.offset}")
    else:
        for now, then in ((one.offset, 10_000), (other.offset, one.offset), (10_000, other.offset)):
            change(store, f"UPDATE events SET position = {then} WHERE position = {now}")
    found = problems(address)
    for event in (one, other):
        assert any(told.startswith(f"event {event.offset}: ") and "written" in told for told in found)


def test_an_event_that_was_put_in_is_found(log, store, address):
    last = store.last_offset()
    late = blob(store, msgspec.msgpack.encode(Clicks([0], [1.0], late=True)))
    empty = blob(store, b"")
    columns = "position, model, kind, number, at, client, body"
    values = f"{last + 1}, {log.model}, {int(Kind.CLICKED)}, 0, {log.at}, {empty}, {late}"
    assert change(store, f"INSERT INTO events ({columns}) VALUES ({values})") == 1
    assert (
        f"event {last + 1}: it has no digest, though events before it have: it was not written by rankloop"
        in problems(address)
    )


def test_whoever_was_erased_is_no_alarm_and_a_page_that_was_blanked_by_hand_is_one(log, store, address):
    erase(address, "ann")
    assert problems(address) == []
    event, _ = first(store, Kind.SHOWN)
    empty, erased = blob(store, b""), int(Kind.ERASED)
    change(store, f"UPDATE events SET kind = {erased}, client = {empty}, body = {empty} WHERE number = {event.number}")
    assert any(
        told.startswith(f"event {event.offset}: it was blanked, but not by erasing") for told in problems(address)
    )


def test_nothing_is_left_of_the_digest_of_what_was_erased(log, store, address):
    before = {row[0]: row[-1] for row in store.export_rows("events")}
    erase(address, "ann")
    gone = [event.offset for event in store.events(0, 10_000, kinds=(Kind.ERASED,))]
    after = {row[0]: row[-1] for row in store.export_rows("events")}
    assert gone
    assert all(after[offset] != before[offset] for offset in gone)
    # What is there now follows from what can be seen: the place, the model, the number and the time.
    key = digests_of(store)
    for event in store.events(0, 10_000, kinds=(Kind.ERASED,)):
        assert after[event.offset] == key.of(event._replace(client=b"", body=b""))


def test_events_from_before_there_were_digests_are_counted_and_nothing_is_wrong(log, store, address):
    change(store, "UPDATE events SET digest = NULL")
    change(store, "DELETE FROM facts WHERE name = 'digests'")
    store.close()
    old = verify(address)
    assert (old.problems, old.unchecked) == ([], old.events)
    again = open_store(address)
    with again.transaction() as transaction:
        settle(transaction, [Control(log.model, Kind.PAUSED, log.at)])
    again.close()
    found = verify(address)
    assert (found.problems, found.unchecked) == ([], old.events)
    assert found.events == old.events + 1


def test_digests_without_their_key_are_told(log, store, address):
    change(store, "DELETE FROM facts WHERE name = 'digests'")
    assert "the key of the events' digests is not in the log, so that none of them can be checked" in problems(address)


def test_what_compacting_deletes_is_no_alarm(log, store, address):
    log.at += 10 * DAY
    log.visit(10)
    log.snapshot()
    assert compact(address, 5, log.at).events > 80
    found = verify(address)
    assert (found.problems, found.unchecked) == ([], 0)


def test_digests_travel_with_exports_and_backups(log, store, address, tmp_path):
    erase(address, "ann")
    written = [digest for _, digest in store.with_digests(0, 10_000)]
    exported(address, tmp_path / "log.export")
    import_log(tmp_path / "log.export", tmp_path / "imported.db")
    back_up(address, tmp_path / "backup", at=5)
    restore(tmp_path / "backup", tmp_path / "restored.db")
    for copy in (tmp_path / "imported.db", tmp_path / "restored.db"):
        found = verify(copy)
        assert (found.problems, found.unchecked) == ([], 0)
        again = open_store(copy)
        assert [digest for _, digest in again.with_digests(0, 10_000)] == written
        with again.transaction() as transaction:
            settle(transaction, [Control(log.model, Kind.PAUSED, log.at)])
        again.close()
        assert verify(copy).problems == []
