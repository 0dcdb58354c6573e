"""Search directions for the methods that compare rankers: uniform on the unit sphere, drawn from the counter.

A direction is a function of (seed, impression, candidate), so it is drawn again when the clicks arrive instead of being
stored with the page.
"""

import math

import numpy as np

from rankloop.errors import SettingsError
from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import dot, fma32
from rankloop.kernels.draws import DIRECTIONS, fill_normals, stream_key
from rankloop.settings import counted

MAX_RIVAL_NUMBERS = 6_000_000
"""Rivals × features, and rivals × page size: what a service may have to draw, and hold, for each impression."""

_TINY = np.float32(1e-30)


def require_few_rivals(owner: str, rivals: int, most: int, features: int, page_size: int) -> None:
    """Refuse more rivals than a service can draw and hold for each impression."""
    if rivals > most:
        raise SettingsError(f"{owner}: candidates must be at most {most:,}; got {counted(rivals)}")
    if (rivals + 1) * max(features, page_size) > MAX_RIVAL_NUMBERS:
        raise SettingsError(
            f"{owner}: {rivals:,} candidates are too many for {features:,} features and pages of {page_size}: "
            f"their product must be at most {MAX_RIVAL_NUMBERS:,}"
        )


@kernel
def draw_direction(seed, impression, length, u):
    """Fill u (features,) with one direction of the given length."""
    fill_normals(stream_key(seed, DIRECTIONS, impression), u)
    scale = np.float32(length / math.sqrt(max(dot(u, u), _TINY)))
    for j in range(u.size):
        u[j] *= scale


@kernel
def draw_directions(seed, impression, length, scales, U):
    """Fill U (features, candidates) with one direction of the given length per column; column 0 stays 0.

    Column 0 stands for the current ranker, which does not move. `scales` (candidates,) is scratch.
    """
    fill_normals(stream_key(seed, DIRECTIONS, impression), U.reshape(-1))
    scales[:] = 0.0
    for j in range(U.shape[0]):
        row = U[j]
        for c in range(scales.size):
            scales[c] = fma32(row[c], row[c], scales[c])
    for c in range(scales.size):
        scales[c] = np.float32(length / math.sqrt(max(scales[c], _TINY)))
    scales[0] = 0.0
    for j in range(U.shape[0]):
        row = U[j]
        for c in range(scales.size):
            row[c] *= scales[c]


@kernel
def mean_of_winners(U, wins, direction):
    """The mean of the winning columns (`wins` is 1 for them, 0 for all others) into `direction`; how many there are."""
    count = 0
    for c in range(wins.size):
        count += wins[c] > 0
    if count > 0:
        for j in range(direction.size):
            direction[j] = dot(U[j], wins) / np.float32(count)
    return count
