"""What a device keeps of a run of PMGD or COLTR, as `cuda/rivals.cuh` has it, and its blocks.

Directions of rivals are drawn into shared memory, all at once or some after others. How PMGD's rankers order the
candidates of a query lies there too, as far as there is room: the longest lists have it in the device's memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloop.gpu.beliefs import RESERVED
from rankloop.gpu.packing import STATE, TABLES, PackedRun, packed_run, stride_of
from rankloop.gpu.planning import Shape, shared_bytes
from rankloop.kernels.matrix import padded

THREADS, BLOCKS = 256, 2
"""Of a block, and blocks that a processor is to hold at once: while one draws a page, by one warp, the other scores."""
_FEWER = (128, 64, 32, 16)
"""Rankers that are drawn at once where all are too many: whole lanes, in which the CPU adds them up."""
_LANES = 16


def rivals_shared(features: int, rankers: int, at_once: int) -> int:
    """Bytes of shared memory that a block needs for directions, and for who has won."""
    return stride_of(features) * at_once * 4 + at_once * 4 + _LANES * 4 + padded(rankers)


def order_bytes(rankers: int, page_size: int, room: int) -> int:
    """That hold how rankers order the longest list, and the shares that they have in a page."""
    return -(-(page_size * rankers * 8 + room * (rankers | 1) * 4) // 16) * 16


def comparison_words(rankers: int, page_size: int, room: int) -> int:
    """Of 8 bytes that a run of PMGD has in the device's memory: sums of cubes, and orders that are too long."""
    return 2 * (room + 1) + order_bytes(rankers, page_size, room) // 8


def comparison_bytes(features: int, room: int, shape: Shape) -> int:
    """Bytes of shared memory of a block of PMGD."""
    rivals = rivals_shared(features, shape.rankers, shape.at_once)
    return shared_bytes(1, features, room, variance=False) + rivals + 4 * room + shape.ordered


def comparison_shape(rivals: int, features: int, page_size: int, room: int, most_shared: int) -> Shape | None:
    """A run of PMGD to a block, with as much room for orders as is left; None if it does not fit.

    >>> comparison_shape(49, 136, 10, 208, 232_448)[-3:]
    (50, 56, 46432)
    """

    def needed(shape: Shape) -> int:
        return comparison_bytes(features, room, shape)

    shape = _shape(rivals + 1, needed, most_shared)
    if shape is None:
        return None
    left = (most_shared + RESERVED) // shape.blocks - RESERVED - needed(shape)
    return shape._replace(ordered=min(order_bytes(rivals + 1, page_size, room), left // 16 * 16))


def counterfactual_bytes(features: int, page_size: int, room: int, shape: Shape) -> int:
    """Bytes of shared memory of a block of COLTR: log ratios of a page's documents beside the directions."""
    rivals = rivals_shared(features, shape.rankers, shape.at_once)
    return shared_bytes(1, features, room, variance=False) + rivals + 16 + 4 * page_size * shape.at_once


def counterfactual_shape(rivals: int, features: int, page_size: int, room: int, most_shared: int) -> Shape | None:
    """A run of COLTR to a block; None if it does not fit.

    >>> counterfactual_shape(499, 136, 10, 208, 232_448)[-3:]
    (500, 128, 0)
    """
    return _shape(rivals + 1, lambda shape: counterfactual_bytes(features, page_size, room, shape), most_shared)


def _shape(rankers: int, needed: Callable[[Shape], int], most_shared: int) -> Shape | None:
    """As many blocks to a processor as there can be, and then as many rankers at once."""
    for blocks in range(BLOCKS, 0, -1):
        for at_once in at_once_for(rankers):
            shape = Shape(1, THREADS, blocks, rankers=rankers, at_once=at_once)
            if blocks * (needed(shape) + RESERVED) <= most_shared + RESERVED:
                return shape
    return None


def at_once_for(rankers: int) -> tuple[int, ...]:
    """How many rankers might be drawn at once: all, in whole groups of eight, or fewer.

    >>> at_once_for(50), at_once_for(5), at_once_for(500)
    ((56, 32, 16), (16,), (504, 128, 64, 32, 16))
    """
    everybody = max(_LANES, -(-rankers // 8) * 8)
    return (everybody, *(fewer for fewer in _FEWER if fewer < everybody))


def packed_comparison(model: Any, seed: int, features: int) -> PackedRun:
    """A model of PMGD before its first page."""
    weights, tables = np.zeros(stride_of(features)), np.zeros(TABLES)
    weights[:features] = model.ranker.weights
    tables[:2] = model.settings.delta, model.settings.learning_rate
    # No flags, no discount, no temperature, no decay.
    return PackedRun((int(seed), 0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0), tables, weights, np.zeros(STATE))


def packed_counterfactual(model: Any, seed: int, features: int) -> PackedRun:
    """A model of COLTR before its first page."""
    run = packed_run(model, seed, features)
    run.tables[:2] = model.settings.delta, model.settings.variance_weight
    return run
