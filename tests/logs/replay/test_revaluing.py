"""A log replayed with other values of actions is the log of a model that had them."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.live.events import Closing, Event, Kind, Late, decode, encode
from rankloop.live.settings import ModelSettings
from rankloop.logs.replay.planning import other_settings
from rankloop.logs.replay.revaluing import revalued, with_late, worth

OLD = {"click": 0.2, "cart": 0.5, "purchase": 1.0}
SHOP = ModelSettings(name="shop", features=2, seed=1, actions=OLD)


def test_values_can_be_changed_by_name_and_names_cannot():
    other = other_settings(SHOP, None, ["actions.click=0.02", "actions.cart=0"])
    assert other.actions == {"click": 0.02, "cart": 0.0, "purchase": 1.0}
    with pytest.raises(SettingsError, match="'buy' is not one of the model's actions: click, cart, purchase"):
        other_settings(SHOP, None, ["actions.buy=1"])


def test_each_rank_is_worth_the_most_valuable_thing_that_happened():
    new = OLD | {"click": 0.02, "cart": 0.0}
    values = np.array([0.2, 0.5, 1.0, 0.0, 0.35], np.float32).tolist()
    found = worth(values, [0b001, 0b011, 0b101, 0, 0b001], OLD, new)
    assert found == pytest.approx([0.02, 0.02, 1.0, 0.0, 0.35])  # the last came with a value of its own
    assert worth([1.0, 0.0], [], OLD, new) == [1.0, 0.0]
    assert worth([1.0, 0.0, 0.3], [], {"click": 1.0}, {"click": 0.5}) == [0.5, 0.0, 0.3]  # a click is all there is


def test_a_page_is_worth_what_came_late_too():
    """The newest that is known of a page takes the place of its closing."""
    closing = Event(3, 1, int(Kind.CLOSED), 7, 0, b"", encode(Closing(1, [0.2, 0.0], "asked", [1, 0])))
    late = Event(4, 1, int(Kind.LATE), 7, 0, b"", encode(Late(1, 3, [0.2, 0.0], [1.0, 0.0], [1, 0], [5, 0])))
    found = with_late(closing, late)
    assert (found.offset, found.kind) == (closing.offset, closing.kind)
    assert decode(Kind.CLOSED, found.body) == Closing(1, [1.0, 0.0], "asked", [5, 0])
    assert with_late(closing, closing) is closing
    assert with_late(closing, None) is closing


def test_closings_and_what_came_late_are_revalued_and_nothing_else_is():
    other = other_settings(SHOP, None, ["actions.click=0.5", "actions.purchase=0.9"])
    closing = Event(3, 1, int(Kind.CLOSED), 7, 0, b"", encode(Closing(1, [0.2, 0.0], "asked", [1, 0])))
    assert decode(Kind.CLOSED, revalued(closing, SHOP, other).body).clicks == [0.5, 0.0]
    late = Late(1, 3, [0.2, 0.0], [1.0, 0.0], [1, 0], [5, 0])
    told = revalued(Event(4, 1, int(Kind.LATE), 7, 0, b"", encode(late)), SHOP, other)
    assert decode(Kind.LATE, told.body) == Late(1, 3, [0.5, 0.0], [0.9, 0.0], [1, 0], [5, 0])
    assert revalued(closing, SHOP, SHOP) is closing
    shown = Event(1, 1, int(Kind.SHOWN), 7, 0, b"", b"")
    assert revalued(shown, SHOP, other) is shown
