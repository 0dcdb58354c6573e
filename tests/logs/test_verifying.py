"""Verify, compact, erase and refold, on both kinds of store: what is wrong is found, what is promised is kept."""

import re

import msgspec
import numpy as np
import pytest

from rankloop.live.errors import StoreError
from rankloop.live.events import Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.stores.contract import Reader
from rankloop.logs.verifying import verify

from .writing import Log, blob, change, model_settings, only_model, problems


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
    number = r"-?[\d.e-]+"
    assert re.fullmatch(rf"version 30 of shop is not .* the weight of f3 is {number}, and the log gives {number}", told)
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


def test_events_that_are_missing_at_the_end_are_found_through_a_snapshot_that_knew_them(log, store, address):
    log.control(Kind.PAUSED)
    log.snapshot()
    last = store.last_offset()
    change(store, f"DELETE FROM events WHERE position = {last}")
    assert any(f"was computed from event {last}, and the log ends at {last - 1}" in told for told in problems(address))


def test_a_body_that_cannot_be_read_and_an_unknown_kind_are_sentences(log, store, address):
    shown, closed = store.events(0, 1, kinds=(Kind.SHOWN,))[0], store.events(30, 1, kinds=(Kind.CLOSED,))[0]
    change(store, f"UPDATE events SET body = {blob(store, b'??')} WHERE position = {shown.offset}")
    change(store, f"UPDATE events SET kind = 99 WHERE position = {closed.offset}")
    found = problems(address)
    assert any(told.startswith(f"event {shown.offset}: its body cannot be read") for told in found)
    assert f"event {closed.offset}: 99 is no kind of event" in found


def test_a_learner_that_nobody_here_knows_is_named_with_where_it_comes_from(log, store, address):
    log.visit(1)
    [model] = store.models()
    settings = msgspec.json.decode(model.settings)
    settings["learner"] = {"learner": "Nearest"}
    change(store, f"UPDATE models SET settings = {blob(store, msgspec.json.encode(settings))}")
    [problem] = problems(address)
    assert problem.startswith(
        f"the settings of model {model.name!r} cannot be read: learner.learner must be one of 'ROLTR'"
    )
    assert problem.endswith("If Nearest is your own, name the module that brings it at the start: --plugin MODULE")


def test_a_store_that_fails_while_it_is_read_is_no_damage_to_the_log(log, address, monkeypatch):
    def fail(reader, offset):
        raise StoreError("the disk refused a read")

    monkeypatch.setattr(Reader, "event", fail)
    with pytest.raises(StoreError, match="refused a read"):
        verify(address)
