"""What a device keeps of a run of Posterior, as `cuda/belief.cuh` has it: settings, state and words, and its blocks.

The factor of the precision, a number for each pair of features, is read and written three times a page. Where it fits,
a block has it in shared memory; where it does not, in the device's, as all that is touched less often: the page's rows,
a triangle for when the prior is put in anew, and the table of merits.
"""

from typing import Any

import numpy as np

from rankloop.gpu.packing import STATE, TABLES, PackedRun, fill, stride_of
from rankloop.gpu.planning import Shape, shared_bytes
from rankloop.kernels.triangular import whole_lanes
from rankloop.learners import Posterior
from rankloop.learners.posterior import FORGETTINGS, remembered

SETTINGS = (
    "prior_variance",
    "prior_weight",
    "exploration",
    "early_exploration",
    "early_pages",
    "level_shape",
    "level_drift",
    "softness",
    "examination_variance",
    "start_pages",
    "merit_variance",
    "merit_weight",
    "common_variance",
    "common_weight",
)
"""In the first of a run's tables; FORGET_EVERY, KEPT and PLACES follow, and the curve to begin with."""
FIRST_EXAMINATION = 32
SCORE_VARIANCE, LEVEL_NOW, MERIT_SUMS, LOG_EXAMINATION = 2, 3, 8, 32
STARTED = 32
MOST_THREADS = 512
"""Of a block, and of all blocks that a processor holds at once: each has 128 registers then, which it needs."""
RESERVED = 1024
"""Bytes of shared memory that each block of a processor costs beside its own."""
_TOLD = 368
"""Bytes in which a block's threads tell each other."""
_SETTLED = 1 << 53
"""Pages that nobody comes to."""


def columns_of(features: int, page_size: int) -> int:
    """Of the factor."""
    return whole_lanes(features + page_size)


def triangle_words(columns: int) -> int:
    """Of an upper triangle, rows in groups of eight from the group's first column on.

    >>> triangle_words(152)
    12160
    """
    groups = columns // 8
    return 8 * (groups * columns - 4 * groups * (groups - 1))


def belief_words(features: int, page_size: int, room: int, places: int) -> int:
    """Of 8 bytes that a run has in the device's memory."""
    columns = columns_of(features, page_size)
    return 2 * triangle_words(columns) + (page_size + 7) * columns + room // 2 + 3 * places


def belief_shared(features: int, page_size: int, *, root: bool) -> int:
    """Bytes of shared memory that a block needs for a belief beside its arrays; `root`: with the factor."""
    columns = columns_of(features, page_size)
    return _TOLD + 16 * columns + stride_of(features) * 4 + (8 * triangle_words(columns) if root else 0)


def posterior_bytes(features: int, page_size: int, room: int, *, root: bool) -> int:
    """Bytes of shared memory of a block."""
    return shared_bytes(1, features, room, variance=False) + belief_shared(features, page_size, root=root)


def posterior_shape(features: int, page_size: int, room: int, most_shared: int) -> Shape | None:
    """A thread to each column of the factor; None if not even the vectors fit.

    >>> posterior_shape(136, 10, 208, 232_448)[:5]
    (1, 160, 2, 152, True)
    """
    columns = columns_of(features, page_size)
    threads = min(MOST_THREADS, max(64, -(-columns // 32) * 32))
    for root in (True, False):
        needed = posterior_bytes(features, page_size, room, root=root)
        if needed <= most_shared:
            fit = (most_shared + RESERVED) // (needed + RESERVED)
            return Shape(1, threads, min(MOST_THREADS // threads, fit), columns, root)
    return None


def places_of(learner: Posterior, documents: int) -> int:
    """Of the table of merits in a simulation on so many documents."""
    model = learner.with_room(learner.model(1, 1, 0), documents)
    return int(model.merits.keys.size)


def packed_belief(model: Any, seed: int, features: int, places: int) -> PackedRun:
    """A model before its first page. All that a device keeps for it besides begins with zeros."""
    settings = model.settings
    weights = np.zeros(stride_of(features))
    weights[:features] = model.ranker.weights
    every = forget_every(settings.half_life)
    kept = float(remembered(settings.half_life, every)) if every else 1.0
    tables, state = np.zeros(TABLES), np.zeros(STATE)
    own = [*(getattr(settings, name) for name in SETTINGS), every, kept, places]
    tables[: len(own)] = own
    fill(tables, {FIRST_EXAMINATION: model.first_examination})
    fill(state, {SCORE_VARIANCE: model.variance, LEVEL_NOW: model.level})
    fill(state, {MERIT_SUMS: model.merits.variance, LOG_EXAMINATION: model.log_examination})
    flags = STARTED if model.start.any() else 0
    # No discount, and pages are drawn by scores as they are.
    return PackedRun((int(seed), flags, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0), tables, weights, state)


def forget_every(half_life: float) -> int:
    """After how many pages a part of what they taught is forgotten; 0: never.

    >>> [forget_every(pages) for pages in (0.0, 1.0, 3200.0)]
    [0, 1, 200]
    """
    return min(max(1, int(half_life / FORGETTINGS)), _SETTLED) if half_life else 0
