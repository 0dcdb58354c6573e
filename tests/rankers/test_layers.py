"""The weights of a network, flat and packed into whole lanes: there and back, and where each layer lies."""

import numpy as np
import pytest

from rankloop.rankers.layers import MOST_LAYERS, ROWS, layer, pack, packed_size, packed_weights, state_size, unpack
from rankloop.rankers.mlp import MLP

RNG = np.random.default_rng(1)
SHAPES = [(8,), (16,), (33,), (8, 4), (32, 16, 5), (1, 1, 1, 1)]


def sizes(hidden):
    return hidden + (0,) * (MOST_LAYERS - len(hidden))


@pytest.mark.parametrize("hidden", SHAPES, ids=str)
def test_packed_weights_are_the_flat_ones_with_rows_filled_up(hidden):
    network = MLP(hidden=hidden)
    flat = RNG.normal(size=network.count(3)).astype(np.float32)
    packed = np.full(packed_size(3, sizes(hidden)), 7.0, np.float32)
    pack(flat, 3, sizes(hidden), packed)
    assert sorted(packed[packed != 0].tolist()) == sorted(flat.tolist())
    for which, (W, b) in enumerate(network.layers(flat, 3)[:-1]):
        inputs, units, lanes, at, _ = layer(3, sizes(hidden), which)
        rows = packed[at : at + (inputs + 1) * lanes].reshape(inputs + 1, lanes)
        assert rows[:-1, :units].tolist() == W.tolist()
        assert rows[-1, :units].tolist() == b.tolist()
        assert not rows[:, units:].any()
    back = np.zeros_like(flat)
    unpack(packed, 3, sizes(hidden), back)
    assert back.tolist() == flat.tolist()


def test_whole_lanes_need_no_packing():
    network = MLP(hidden=(32, 16))
    flat = np.ones(network.count(5), np.float32)
    assert np.shares_memory(packed_weights(flat, 5, sizes((32, 16))), flat)
    assert packed_weights(np.ones(MLP(hidden=(8,)).count(5), np.float32), 5, sizes((8,))).size == 6 * 16 + 16


def test_a_block_has_room_for_all_layers():
    assert state_size(sizes((8, 40))) == ROWS * (16 + 48)
