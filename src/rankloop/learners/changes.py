"""Do a query's documents keep their features from page to page? A few documents are watched, and tell.

A record of a document's score (`merits`) was made when its features were x̃. Now they may be others: prices move, a
person's own taste or the hour may be among them. What the features said then, in today's weights, w·x̃, can be taken
from what they say now, u, if features stay, or from what they said then, ũ, if weights do. Neither is quite true, so it
is taken to lie between them, at

    w·x̃ ≈ (1 − λ) u + λ ũ,        λ = A/(A + B):

A is how far u has moved because features changed, and B how far because weights did, as mean squares. Both are measured
on documents whose features are kept to compare: some of those that come most often. Where features
never change, A is 0 in every bit, and so is λ.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.draws import mix

WATCHED = 32
"""Documents, at most."""
PATIENCE = 8
"""A document is watched while it is met at least once for so many others that would like its place."""
HORIZON = 256.0
"""A and B are means over so many comparisons, older ones fading."""


class Changes(NamedTuple):
    """Who is watched, how often each was met, how many others it lets pass, its features beside the candidates' mean,
    and what they said; A and B, and how many comparisons they are of."""

    keys: NDArray[np.int64]
    met: NDArray[np.int64]
    lets_pass: NDArray[np.int64]
    rows: NDArray[np.float64]
    said: NDArray[np.float64]
    apart: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, *, watched: bool) -> "Changes":
        """Nobody is watched yet; or ever, where nothing is remembered."""
        places = WATCHED if watched else 0
        return cls(
            keys=np.zeros(places, np.int64),
            met=np.zeros(places, np.int64),
            lets_pass=np.zeros(places, np.int64),
            rows=np.zeros((places, features)),
            said=np.zeros(places),
            apart=np.zeros(3 if watched else 0),
        )


@kernel
def part_of_change(changes):
    """λ: 0 where features stay as they are, 1 where weights do."""
    if changes.apart.size == 0:
        return 0.0
    features, weights = changes.apart[0], changes.apart[1]
    return features / (features + weights) if features > 0.0 else 0.0


@kernel
def watch(changes, key, row, centre, weights):
    """Compare a shown document with what it was, if it is watched; if it is not, it may be from now on.

    Others that would like its place count its holder down. What is compared with is renewed whenever a document has
    been met twice as often, so that it is as old as records are on average.
    """
    if key == 0 or changes.keys.size == 0:
        return
    at = np.int64(mix(np.uint64(key)) >> np.uint64(32)) % changes.keys.size
    if changes.keys[at] != key:
        changes.lets_pass[at] -= 1
        if changes.lets_pass[at] >= 0:
            return
        changes.keys[at] = key
        changes.met[at] = 0
        changes.lets_pass[at] = 0
    else:
        _compare(changes, at, row, centre, weights)
    changes.met[at] += 1
    changes.lets_pass[at] += PATIENCE
    if changes.met[at] & (changes.met[at] - 1) == 0:
        _keep(changes, at, row, centre, weights)


@kernel
def _keep(changes, at, row, centre, weights):
    said = 0.0
    for j in range(row.size):
        changes.rows[at, j] = np.float64(row[j]) - centre[j]
        said += weights[j] * changes.rows[at, j]
    changes.said[at] = said


@kernel
def _compare(changes, at, row, centre, weights):
    by_features, then = 0.0, 0.0
    for j in range(row.size):
        before = changes.rows[at, j]
        by_features += weights[j] * (np.float64(row[j]) - centre[j] - before)
        then += weights[j] * before
    by_weights = then - changes.said[at]
    apart = changes.apart
    apart[2] = min(apart[2] + 1.0, HORIZON)
    apart[0] += (by_features * by_features - apart[0]) / apart[2]
    apart[1] += (by_weights * by_weights - apart[1]) / apart[2]
