"""A refold of a log that is damaged: what can be read counts, and the rest is told of."""

import msgspec
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import Posterior
from rankloop.live.events import Kind, Restored, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.loading import load
from rankloop.live.log import Control, settle
from rankloop.logs.trimming import erase

from .writing import DAMAGED, Log, blob, change, model_settings, problems, refold, rewrite


@pytest.mark.parametrize(("place", "kept", "lost"), [(True, 0, 0), (False, 0, 1)], ids=["known", "unknown"])
def test_a_roll_back_to_a_damaged_state_is_followed_if_its_place_is_known_and_else_passed_over(
    log, store, address, place, kept, lost
):
    twenty = store.snapshot(log.model, 20)
    body = encode(Restored(20, b"\xc1", twenty.offset if place else -1))
    with store.transaction() as transaction:
        settle(transaction, [Control(log.model, Kind.ROLLED_BACK, log.at, body)])
    assert any("cannot be folded" in problem for problem in problems(address))
    done = refold(address, "shop", log.at)
    assert (done.kept_states, done.lost_states) == (kept, lost)
    expected = Fold.restored(log.settings, twenty.state, 0) if place else log.fold
    found = load(store, store.models()[0])[0]
    assert (found.ranker.weights == expected.ranker.weights).all()
    assert problems(address) == []


@pytest.mark.parametrize("kind", [Kind.SHOWN, Kind.CLOSED])
def test_events_that_cannot_be_read_are_passed_over_and_told_of(log, store, address, kind):
    damaged = store.events(0, 1_000_000, kinds=(kind,))[-1].offset
    assert change(store, f"UPDATE events SET body = {blob(store, DAMAGED)} WHERE position = {damaged}") == 1
    assert any(f"event {damaged}: its body cannot be read" in problem for problem in problems(address))
    assert refold(address, "shop", log.at).learned == 59


def test_after_an_erasure_a_damaged_page_that_is_still_open_is_passed_over(store, address):
    log = Log(store, model_settings(learner=Posterior(), scaling="robust"))
    log.visit(10)
    log.visit(2, close=False, clients=("bob",))
    log.visit(10)
    erase(address, "ann")
    learned = refold(address, "shop", log.at).learned
    shown = next(event for event in store.events(0, 1_000_000, kinds=(Kind.SHOWN,)) if event.number == 10)
    page = decode(shown.kind, shown.body)
    rewrite(store, shown, msgspec.structs.replace(page, features=page.features[:-4]))
    assert refold(address, "shop", log.at).learned == learned


@pytest.mark.parametrize("settings", [b"{}", DAMAGED])
def test_settings_that_cannot_be_read_are_told_of(log, store, address, settings):
    change(store, f"UPDATE models SET settings = {blob(store, settings)}")
    with pytest.raises(SettingsError, match="the settings of model 'shop' cannot be read"):
        refold(address, "shop", log.at)
