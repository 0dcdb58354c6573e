"""What a device keeps of a run of DBGD, as `cuda/dbgd.cuh` has it: its settings, sums of cubes, and its blocks."""

from typing import Any

import numpy as np

from rankloop.gpu.packing import STATE, TABLES, PackedRun, stride_of
from rankloop.gpu.planning import SHAPES, Shape, shared_bytes

TEAM_DRAFT = 64


def duel_words(room: int) -> int:
    """Of 8 bytes that a run has in the device's memory: a sum and a term for each length of a list."""
    return 2 * (room + 1)


def duel_shared(features: int, room: int) -> int:
    """Bytes of shared memory that a block needs for the rival beside its arrays."""
    return 20 * 4 + stride_of(features) * 4 + 20 * room


def duel_bytes(features: int, room: int) -> int:
    """Bytes of shared memory of a block."""
    return shared_bytes(1, features, room, variance=False) + duel_shared(features, room)


def duel_shape(features: int, room: int, most_shared: int) -> Shape | None:
    """A run to a block; None if it does not fit."""
    return SHAPES[-1] if duel_bytes(features, room) <= most_shared else None


def packed_duel(model: Any, seed: int, features: int) -> PackedRun:
    """A model before its first page."""
    weights, tables = np.zeros(stride_of(features)), np.zeros(TABLES)
    weights[:features] = model.ranker.weights
    tables[:2] = model.settings.delta, model.settings.learning_rate
    flags = TEAM_DRAFT if model.team_draft else 0
    # No discount, no temperature, no decay.
    return PackedRun((int(seed), flags, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0), tables, weights, np.zeros(STATE))
