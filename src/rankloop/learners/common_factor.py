"""What a collection's features have in common: the direction along which candidates differ most.

Features of documents are mostly many measurements of few causes: of how well a text matches, say, or how well known a
page is. And most are made so that more of them is better. So the direction in which a query's candidates differ most,
taken the way in which features grow, is a ranker before anybody clicks: what retrieval knows as the fusion of scores
by their sum (Fox and Shaw's CombSUM, 1994), in which features that agree with the others count for more. How much a
document's place along it is worth is a weight β of its own, of which a little is believed beforehand (`prior`).

It is the first principal direction of the features' correlations within queries, in units of their spreads. With b of
length 1, each page's candidates bring C b, C their covariance in units that know this page, too; v is the mean over the
pages so far, and whenever the prior is renewed

    b ← v/|v|,   λ = |v|:

a power iteration that is spread over the pages. It begins with how the first candidate differs from the middle. The
scores x·b have the variance λ, which comes to 1 where features have nothing in common, and is at most their number.
What is believed is that scores along b have a spread of β √(1 − 1/λ) beside those of all weights:

    w = β a + others,   a = b √(λ − 1)/λ,   β ~ N(`common_weight` · cos(b, 1), `common_variance`).

The cosine with the sum of the features says which way b points, and how far they agree on that: where they fall along
it as much as they grow, nothing is believed of its sign. Where more of most features is worse, the belief is wrong, and
clicks have to overcome it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels import kernel
from rankloop.learners.candidates import sample_step

ENOUGH = 1024
"""Pages that look for it. Later ones know better what their clicks say."""


class CommonFactor(NamedTuple):
    """v, b (zeros until it is known), and λ; empty arrays where nothing is believed of it, as in models from before."""

    gathered: NDArray[np.float64]
    direction: NDArray[np.float64]
    variance: NDArray[np.float64]

    @classmethod
    def of(cls, features: int, *, looked_for: bool) -> "CommonFactor":
        """Nothing is known of it yet; or ever."""
        size = features if looked_for else 0
        return cls(np.zeros(size), np.zeros(size), np.zeros(1 if looked_for else 0))


@kernel
def gather_common(factor, within, pages, X, centre, sums, along):
    """Let one query's candidates, whose mean is `centre`, into v. On the first page, all would be of that page."""
    if factor.gathered.size == 0 or pages < 2 or pages > ENOUGH:
        return
    _look_along(factor, within, X, centre, along)
    features = X.shape[1]
    step = sample_step(X.shape[0])
    n = -(-X.shape[0] // step)
    sums[:features] = 0.0
    mean = 0.0
    for i in range(step, X.shape[0], step):
        score = 0.0
        for j in range(features):
            score += along[j] * (np.float64(X[i, j]) - np.float64(X[0, j]))
        mean += score / n
        for j in range(features):
            sums[j] += score * (np.float64(X[i, j]) - np.float64(X[0, j]))
    keep = 1.0 - 1.0 / (pages - 1)
    for j in range(features):
        if within[j] > 0.0:
            brought = (sums[j] / n - mean * (centre[j] - np.float64(X[0, j]))) / math.sqrt(within[j])
            factor.gathered[j] = keep * factor.gathered[j] + brought / (pages - 1)


@kernel
def _look_along(factor, within, X, centre, along):
    """b for features as they come; as long as it is not known, the way from the middle to the first candidate."""
    known = factor.variance[0] > 0.0
    squares = 0.0
    for j in range(within.size):
        own = factor.direction[j]
        if not known and within[j] > 0.0:
            own = (np.float64(X[0, j]) - centre[j]) / math.sqrt(within[j])
        along[j] = own / math.sqrt(within[j]) if within[j] > 0.0 else 0.0
        squares += own * own
    if not known and squares > 0.0:
        length = math.sqrt(squares)
        for j in range(within.size):
            along[j] /= length


@kernel
def settle_common(factor):
    """b and λ, from what has been gathered."""
    length = 0.0
    for j in range(factor.gathered.size):
        length += factor.gathered[j] * factor.gathered[j]
    if length == 0.0:
        return
    factor.variance[0] = math.sqrt(length)
    for j in range(factor.gathered.size):
        factor.direction[j] = factor.gathered[j] / factor.variance[0]


@kernel
def common_share(factor):
    """|a|²; 0 where features have nothing in common."""
    if factor.variance.size == 0:
        return 0.0
    variance = factor.variance[0]
    return (variance - 1.0) / (variance * variance) if variance > 1.0 else 0.0


@kernel
def common_agreement(factor):
    """The cosine of b and the sum of the features that it is made of: below 0 where b points to where they fall."""
    total, varying = 0.0, 0.0
    for j in range(factor.direction.size):
        total += factor.direction[j]
        varying += factor.direction[j] != 0.0  # as it is settled: what is gathered since will be of the next one
    return total / math.sqrt(varying) if varying > 0.0 else 0.0
