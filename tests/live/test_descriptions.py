"""What the service says about models, as it travels."""

import msgspec
import pytest

from rankloop.live.descriptions import Comparison, Mode, WeightChange


def test_two_states_are_called_from_and_to():
    compared = Comparison(1, 4, 3, 0.5, None, [WeightChange("price", 0.0, -0.5, -0.5)])
    told = msgspec.json.decode(msgspec.json.encode(compared))
    assert (told["from"], told["to"], told["cosine"]) == (1, 4, None)
    assert told["weights"] == [{"feature": "price", "from": 0.0, "to": -0.5, "change": -0.5}]
    assert msgspec.convert(told, Comparison) == compared


def test_a_model_learns_is_paused_or_is_frozen():
    assert [msgspec.convert(mode, Mode) for mode in ("learning", "paused", "frozen")]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert("resting", Mode)
