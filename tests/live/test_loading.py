"""A model as the log has it: what is read, and what is said of what cannot be."""

import msgspec
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import ROLTR
from rankloop.live.errors import StateError
from rankloop.live.events import Event, Kind
from rankloop.live.fold import Fold
from rankloop.live.loading import (
    beginning_of,
    begun,
    closed_impression,
    load,
    parent_of,
    read_page,
    settings_of,
    sources_of,
)
from rankloop.live.log import Control, settle
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import COMPACTED, Snapshot


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "log.db")
    yield store
    store.close()


def make(store, name: str, **more):
    """A model in the log, without a state."""
    settings = ModelSettings(name=name, features=2, page_size=3, seed=1, **more)
    with store.transaction() as transaction:
        number = transaction.create_model(name, msgspec.json.encode(settings), 0)
        settle(transaction, [Control(number, Kind.CREATED, 0)])
    return next(model for model in store.models() if model.id == number)


def test_a_model_without_a_kept_state_begins_at_its_beginning(store):
    shop = make(store, "shop")
    fold, offset = load(store, shop)
    assert offset == -1
    assert fold.state() == Fold(settings_of(shop)).state()


def test_a_model_goes_on_from_its_newest_kept_state(store):
    shop = make(store, "shop")
    kept = Fold(settings_of(shop))
    kept.version = 7
    with store.transaction() as transaction:
        transaction.save_snapshot(Snapshot(shop.id, 7, 5, 0, kept.state()), expects=-1)
    fold, offset = load(store, shop)
    assert (fold.version, fold.offset, offset) == (7, 5, 5)


def test_settings_that_cannot_be_read_are_told_with_the_models_name(store):
    broken = make(store, "shop")._replace(settings=b"{")
    with pytest.raises(SettingsError, match="the settings of model 'shop' cannot be read"):
        settings_of(broken)


def test_a_challenger_is_folded_from_its_own_events_and_its_parents_and_begins_where_that_does(store):
    make(store, "other")
    shop = make(store, "shop")
    rival = make(store, "rival", learner=ROLTR(), challenges="shop")
    assert parent_of(store, settings_of(shop)) is None
    assert parent_of(store, settings_of(rival)) == shop
    assert sources_of(store, shop) == (shop.id,)
    assert sources_of(store, rival) == (rival.id, shop.id)
    assert begun(store, rival).drawers == {0: settings_of(shop)}
    assert beginning_of(store, rival) == beginning_of(store, shop) == 2


def test_a_challenger_whose_parent_is_gone_is_to_be_dropped(store):
    rival = make(store, "rival", learner=ROLTR(), challenges="shop")
    with pytest.raises(StateError, match="model 'rival' challenges 'shop', which is gone; drop it"):
        load(store, rival)


def test_a_model_whose_first_events_are_gone_has_no_beginning_any_more(store):
    shop = make(store, "shop")
    created = beginning_of(store, shop)
    store.set_fact(COMPACTED, str(created + 2))
    assert beginning_of(store, shop) is None


def test_a_closing_that_cannot_be_read_is_told_and_what_closes_nothing_has_no_page(store):
    closing = Event(9, 1, int(Kind.CLOSED), 1, 0, b"", b"\xc1")
    with pytest.raises(StateError, match=r"event 9 of the log, which closes a page, cannot be read .* refold"):
        closed_impression(store, closing)
    assert isinstance(read_page(store, closing), StateError)
    assert closed_impression(store, closing._replace(kind=int(Kind.PAUSED))) is None
