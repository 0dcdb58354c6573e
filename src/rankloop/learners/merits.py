"""What a query's document is worth beyond its features: a merit of its own, learned where queries come back.

Features never say all. A document d of a query has the score η = u + m_d, where u = w·(x − x̄) is what its features say,
beside the query's candidates, and m_d ~ N(0, τ²) what they do not. Pages on which it was shown amount to one Gaussian
observation of η: of precision h, their information, at b/h. With ω = 1/(1 + τ²h), the part of m that is still unknown,

    E[η] = ω (u + τ² b)          the features' word and the document's own record, each weighed by what it knows.

A page is learned from in mean field: the weights take their step with the merits at their means, and each shown
document, with gradient g and information Δ of its own score, its step with the weights at theirs:

    h ← h + Δ,   b ← b + g + Δ E[η].

Where the features of the same document change, its pages told of other scores than today's. With a = Σ Δ u, what they
said then, and λ, how far that has to be believed rather than today's u (`changes`),

    E[η] = ω (u + τ² b) + λ ω τ² (h u − a):

with λ = 1, a record is one of the merit alone, whatever features are.

So what features do not explain is soon no longer asked of them: a ranker that meets few queries stops fitting them, and
the pages of queries that come back can be better than any linear ranker's. τ² is corrected by the evidence, as the
prior variance of the weights is: τ² = Σ m²/Σ(1 − ω), over the documents of each page.

(To integrate m out of the weights' step instead, so that a document says of them no more than one observation with
variance τ² can, is exact for Gaussian observations and was worse: the weights then follow for ever what the few
documents that are still shown have in common. nDCG on unseen queries fell from .55 to .48 in 60,000 impressions.)

Records are kept in a table of bounded room, by a number that names a query's document (0: nobody knows which). Where it
is full, those of which least is known make room.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.kernels.draws import mix
from rankloop.learners.candidates import sample_step

SMALLEST = 256
"""How many places a table begins with."""
FILL = 0.75
"""A table is never fuller than this, so that a look-up comes to an end, and soon."""
NEAR = 8
"""Among so many neighbours the least known makes room."""


class Merits(NamedTuple):
    """Places of documents: whose, h, b and a. `variance` is τ², Σ m² and Σ (1 − ω); `taken` how many places are."""

    keys: NDArray[np.int64]
    informed: NDArray[np.float64]
    told: NDArray[np.float64]
    said: NDArray[np.float64]
    variance: NDArray[np.float64]
    taken: NDArray[np.int64]

    @property
    def is_table(self) -> bool:
        """It grows with what is learned (`arrays_of`)."""
        return True

    @classmethod
    def of(cls, documents: int, variance: float) -> "Merits":
        """An empty table for so many documents; for none, there are no merits."""
        places = _places(documents)
        return cls(
            keys=np.zeros(places, np.int64),
            informed=np.zeros(places),
            told=np.zeros(places),
            said=np.zeros(places),
            variance=np.array([variance, 0.0, 0.0]),
            taken=np.zeros(1, np.int64),
        )

    def with_room(self, documents: int) -> "Merits":
        """The same records, in a table that has room for so many."""
        if _places(documents) <= self.keys.size:
            return self
        larger = Merits.of(documents, 0.0)._replace(variance=self.variance)
        _move(self, larger)
        return larger


def _places(documents: int) -> int:
    """A power of two.

    >>> [_places(n) for n in (0, 1, 192, 193, 20_000)]
    [0, 256, 256, 512, 32768]
    """
    return 0 if documents == 0 else max(SMALLEST, 1 << math.ceil(math.log2(documents / FILL)))


@kernel
def home(keys, key):
    """Where a document is looked for first."""
    return np.int64(mix(np.uint64(key)) & np.uint64(keys.size - 1))


@kernel
def find(keys, key):
    """The place of a document; −1 if it has none."""
    if key == 0 or keys.size == 0:
        return -1
    last = keys.size - 1
    at = home(keys, key)
    while keys[at] != 0:
        if keys[at] == key:
            return at
        at = (at + 1) & last
    return -1


@kernel
def claim(merits, key):
    """The place of a document, which it gets if it had none: for which, in a full table, another gives up its own."""
    at = find(merits.keys, key)
    if at >= 0:
        return at
    if merits.taken[0] >= np.int64(FILL * merits.keys.size):
        _release(merits, _least_known(merits, home(merits.keys, key)))
    last = merits.keys.size - 1
    at = home(merits.keys, key)
    while merits.keys[at] != 0:
        at = (at + 1) & last
    merits.taken[0] += 1
    merits.keys[at] = key
    _clear(merits, at)
    return at


@kernel
def _least_known(merits, at):
    """The place of the least known document among the next few from here on."""
    last = merits.keys.size - 1
    least, passed = -1, 0
    while passed < NEAR:
        if merits.keys[at] != 0:
            if least < 0 or merits.informed[at] < merits.informed[least]:
                least = at
            passed += 1
        at = (at + 1) & last
    return least


@kernel
def _release(merits, gap):
    """Give a place back. Those behind it who had to go past it move up: a look-up ends at the first free place."""
    last = merits.keys.size - 1
    at = (gap + 1) & last
    while merits.keys[at] != 0:
        if (at - home(merits.keys, merits.keys[at])) & last >= (at - gap) & last:
            merits.keys[gap] = merits.keys[at]
            _copy(merits, at, merits, gap)
            gap = at
        at = (at + 1) & last
    merits.keys[gap] = 0
    _clear(merits, gap)
    merits.taken[0] -= 1


@kernel
def _move(merits, larger):
    for at in range(merits.keys.size):
        if merits.keys[at] != 0:
            _copy(merits, at, larger, claim(larger, merits.keys[at]))


@kernel
def _clear(merits, at):
    merits.informed[at] = 0.0
    merits.told[at] = 0.0
    merits.said[at] = 0.0


@kernel
def _copy(merits, at, other, place):
    other.informed[place] = merits.informed[at]
    other.told[place] = merits.told[at]
    other.said[place] = merits.said[at]


@kernel
def unknown_part(variance, informed):
    """ω: how much of a merit is still unknown."""
    return 1.0 / (1.0 + variance * informed)


@kernel
def believed(merits, at, u, changing):
    """E[η] of the document at a place, whose features say u; `changing` is λ."""
    variance, informed = merits.variance[0], merits.informed[at]
    unknown = unknown_part(variance, informed)
    kept = (u + variance * merits.told[at]) * unknown
    return kept + changing * (unknown * variance * (informed * u - merits.said[at]))


@kernel
def recall(merits, key, u, changing):
    """E[η] of a document whose features say u, and h."""
    at = find(merits.keys, key)
    if at < 0:
        return u, 0.0
    return believed(merits, at, u, changing), merits.informed[at]


@kernel
def recall_all(merits, documents, scores, changing):
    """Put what is believed of the candidates in the place of what their features say."""
    if merits.taken[0] == 0:
        return
    centre = sample_mean(scores)
    keys, informed = merits.keys, merits.informed
    for i in range(scores.size):
        at = find(keys, documents[i])
        if at >= 0 and informed[at] > 0.0:
            scores[i] = np.float32(centre + believed(merits, at, scores[i] - centre, changing))


@kernel
def sample_mean(scores):
    """Of a sample of the candidates, as the features' centre is."""
    step = sample_step(scores.size)
    total, among = 0.0, 0
    for i in range(0, scores.size, step):
        total += scores[i]
        among += 1
    return total / among


@kernel
def remember(merits, key, u, gradient, information, changing, settings):
    """Let a page into a document's record, and into τ², whose first guess counts as so many documents (`settings`).

    `gradient` and `information` are those of the page at the document, at its E[η].
    """
    if key == 0 or merits.keys.size == 0:
        return
    at = claim(merits, key)
    variance = merits.variance[0]
    merits.told[at] += gradient + information * believed(merits, at, u, changing)
    merits.informed[at] += information
    merits.said[at] += information * u
    merit = believed(merits, at, u, changing) - u
    merits.variance[1] += merit * merit
    merits.variance[2] += 1.0 - unknown_part(variance, merits.informed[at])
    weight = settings.merit_weight
    merits.variance[0] = (weight * settings.merit_variance + merits.variance[1]) / (weight + merits.variance[2])


@kernel
def fade(merits, kept):
    """Forget all but a part of what was recorded."""
    for at in range(merits.keys.size):
        merits.told[at] *= kept
        merits.informed[at] *= kept
        merits.said[at] *= kept
    merits.variance[1] *= kept
    merits.variance[2] *= kept
