"""Which runs share a block, how many fit the device at once, and how much shared memory a block takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.gpu.packing import STATE, TABLES, stride_of

BLOCK, RUN = 2256, 8176 - (STATE + TABLES) * 8
"""Bytes that a block and each of its runs have in shared memory, beside arrays: `Shared` in `cuda/simulate.cu`."""


class Shape(NamedTuple):
    """How runs map to blocks: runs in a block, its threads, and blocks that a processor is to hold at once.

    For Posterior, how many columns its factor has, and whether it lies in shared memory. For methods with rivals, how
    many rankers there are, how many of them shared memory has room for, and bytes there for how they order candidates.
    """

    group: int
    threads: int
    blocks: int
    columns: int = 0
    root_shared: bool = False
    rankers: int = 0
    at_once: int = 0
    ordered: int = 0


SHAPES = (Shape(8, 384, 1), Shape(4, 256, 2), Shape(2, 128, 4), Shape(1, 96, 8))
"""From many runs that share a seed to runs that share none."""
EVEN, GAIN = Shape(1, 128, 6), 1.13
"""For runs that share none: so much faster than the last of `SHAPES` where both fill the device whole times over."""


def room_for(longest: int, page_size: int) -> int:
    """How many candidates a block has room for: the longest list, and PDGD's table of pairs, in whole groups of rows.

    >>> room_for(125, 10), room_for(1251, 10)
    (208, 1264)
    """
    return -(-max(longest, 2 * page_size * page_size) // 16) * 16


def shared_struct(group: int) -> int:
    """Bytes of the struct that a block's shared memory begins with."""
    return -(-(BLOCK + group * (RUN + (STATE + TABLES) * 8 + 4)) // 16) * 16


def shared_bytes(group: int, features: int, room: int, *, variance: bool) -> int:
    """Bytes of shared memory of a block."""
    stride = stride_of(features)
    strips = -(-stride // 32)
    arrays = group * (12 * stride + 12 * room + (16 * strips if variance else 0)) + 2 * room
    return -(-(shared_struct(group) + arrays) // 16) * 16


def groups_of(seeds: Sequence[int], group: int) -> NDArray[np.int64]:
    """(blocks, group), runs that share a seed side by side, −1 where there is none left; the largest blocks first.

    >>> groups_of([7, 8, 7, 7], 2)
    array([[ 0,  2],
           [ 3, -1],
           [ 1, -1]])
    """
    by_seed: dict[int, list[int]] = {}
    for run, seed in enumerate(seeds):
        by_seed.setdefault(seed, []).append(run)
    rows = [runs[at : at + group] for runs in by_seed.values() for at in range(0, len(runs), group)]
    return np.array([row + [-1] * (group - len(row)) for row in rows], np.int64).reshape(-1, group)


def shape_for(
    seeds: Sequence[int], processors: int, most_shared: int, features: int, room: int, *, variance: bool
) -> Shape | None:
    """The shape that is likely fastest for runs with these seeds; None if not even one run fits a block.

    A block of many runs reads a query once for all of them, but the device must still be full: where blocks would be
    fewer than processors, or half empty, fewer runs share one.
    """
    for shape in SHAPES:
        needed = shared_bytes(shape.group, features, room, variance=variance)
        if needed > most_shared:
            continue
        blocks = len(groups_of(seeds, shape.group))
        if shape.group == 1:
            return EVEN if GAIN * fullness(EVEN, blocks, processors) > fullness(shape, blocks, processors) else shape
        if blocks >= processors and len(seeds) > 0.7 * blocks * shape.group:
            return shape
    return None


def fullness(shape: Shape, blocks: int, processors: int) -> float:
    """How full blocks of a shape leave the device, on average: the last of them may have it for themselves.

    >>> fullness(Shape(1, 128, 6), 1056, 132), fullness(Shape(1, 96, 8), 1056, 132)
    (0.6666666666666666, 1.0)
    """
    at_once = shape.blocks * processors
    return blocks / (-(-blocks // at_once) * at_once)


def batches(bytes_per_run: int, runs: int, memory: int) -> list[range]:
    """Consecutive runs that fit the memory together, in parts of about equal size.

    >>> batches(10, runs=5, memory=25)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    at_once = max(1, memory // max(1, bytes_per_run))
    parts = -(-runs // at_once)
    size = -(-runs // parts) if parts else 1
    return [range(begin, min(begin + size, runs)) for begin in range(0, runs, size)]


def bytes_of_run(impressions: int, metrics: int, points: int, features: int, *, variance: bool) -> int:
    """What a run leaves on the device: values and clicks of every impression, and weights at every point."""
    return impressions * (8 * metrics + 1 + 8 * variance) + (points + 1) * stride_of(features) * 8 + 4096
