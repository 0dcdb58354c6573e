"""One client makes up at most a share of what a model looks back on, and a share of 1 is no limit at all."""

import numpy as np
import pytest

from rankloop.live.events import Closing, Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import Guards, ModelSettings


def fates(clients, **guards):
    """What becomes of one impression after the other, shown to these clients."""
    settings = ModelSettings(name="m", features=1, seed=1, guards=Guards(control=0.0, **guards))
    fold, ranking = Fold(settings), Ranking(settings)
    found = []
    for number, client in enumerate(clients):
        request = Request("", client, ["a", "b"], np.array([[0.0], [1.0]], np.float32), 2, {})
        impression = ranking.rank(fold.view(), request, number).impression
        shown = Event(2 * number + 1, 1, Kind.SHOWN, number, 0, client, encode(impression))
        closing = encode(Closing(shown.offset, [1.0, 0.0], "asked"))
        found.append(fold.apply(Event(2 * number + 2, 1, Kind.CLOSED, number, 0, b"", closing), shown))
    return found


@pytest.mark.parametrize("client", [b"", b"somebody"])
def test_with_a_share_of_1_everything_is_learned_however_long_it_goes_on(client):
    assert fates([client] * 30, influence_window=5, client_share=1.0) == ["learned"] * 30


def test_somebody_alone_is_held_at_their_share():
    assert fates([b"x"] * 10, influence_window=4, client_share=0.5) == ["learned"] * 2 + ["capped"] * 8


def test_a_client_may_come_back_when_the_window_has_moved_on():
    others = [bytes([1]) * 8, bytes([2]) * 8, bytes([3]) * 8, bytes([4]) * 8]
    told = fates([b"x", b"x", b"x", *others[:3], b"x"], influence_window=4, client_share=0.5)
    assert told == ["learned", "learned", "capped", "learned", "learned", "learned", "learned"]
