"""Which runs share a block, and that what a block takes is what was planned for it."""

import numpy as np
import pytest
from tests.gpu.hosted import library

from rankloop.gpu.planning import (
    EVEN,
    SHAPES,
    batches,
    bytes_of_run,
    groups_of,
    room_for,
    shape_for,
    shared_bytes,
    shared_struct,
)

H200 = {"processors": 132, "most_shared": 232_448, "features": 136, "room": room_for(1251, 10), "variance": False}


@pytest.mark.parametrize("group", [1, 2, 4, 8])
def test_the_struct_of_a_block_is_as_large_as_planned(group):
    assert shared_struct(group) == library("host.cpp", LEARNER=0, GROUP=group, VARIANCE=0, STRIDE=48).shared_bytes()


def test_every_run_has_one_place_and_blocks_have_one_seed():
    seeds = np.random.default_rng(1).integers(0, 5, 43).tolist()
    for group in (1, 2, 4, 8):
        groups = groups_of(seeds, group)
        assert sorted(groups[groups >= 0].tolist()) == list(range(43))
        assert (groups[:, 0] >= 0).all()
        assert all(len({seeds[run] for run in row if run >= 0}) == 1 for row in groups)


def test_runs_share_a_block_where_they_share_seeds_and_the_device_stays_full():
    assert shape_for([seed for seed in range(132) for _ in range(8)], **H200).group == 8
    assert shape_for(list(range(1056)), **H200).group == 1
    assert shape_for([1] * 16, **H200).group == 1


def test_runs_with_seeds_of_their_own_have_the_shape_that_leaves_the_device_fuller():
    assert shape_for(list(range(1056)), **H200) == SHAPES[-1]
    assert shape_for(list(range(1584)), **H200) == EVEN
    assert shape_for(list(range(3168)), **H200) == EVEN


def test_a_block_fits_the_shared_memory_or_there_is_none():
    seeds = [seed for seed in range(500) for _ in range(8)]
    for room in (200, 2_000, 10_000):
        shape = shape_for(seeds, **(H200 | {"room": room}))
        assert shared_bytes(shape.group, 136, room, variance=False) <= H200["most_shared"]
    assert shape_for(seeds, **(H200 | {"room": 100_000})) is None


def test_warps_are_free_beside_those_of_the_runs():
    assert all(shape.threads > 32 * shape.group for shape in (*SHAPES, EVEN))


def test_batches_fit_and_hold_every_run_once():
    for runs, memory in ((1, 1), (7, 30), (1000, 12_345)):
        parts = batches(10, runs, memory)
        assert [run for part in parts for run in part] == list(range(runs))
        assert all(len(part) * 10 <= max(memory, 10) for part in parts)


def test_a_run_leaves_values_clicks_and_checkpoints():
    plain = bytes_of_run(1000, 1, 11, 136, variance=False)
    assert plain >= 1000 * 9 + 12 * 136 * 8
    assert bytes_of_run(1000, 1, 11, 136, variance=True) == plain + 8000
