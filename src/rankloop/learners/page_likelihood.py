"""What a page's clicks say: where they fell, and how many there were.

**Where.** Given how many there were, clicks fall on the shown documents by a softmax with examination as an offset:

    π_k ∝ exp(w·x_k + m_k + log θ_k)        log L = Σ_k c_k log π_k

The page's own level (how eager this person is, how good the query's results are) cancels, so documents are compared
with their neighbours; nothing is divided by a propensity; and it does not matter who drew the page, or why. m_k is what
a document is known to be worth beyond its features (`merits`). This is the
Poisson likelihood with one effect per page: right in expectation if E[c_k] = θ_k exp(w·x_k + level of the page),
whatever the distribution of clicks.

**How many.** A page that is bad as a whole gets fewer clicks than others. Pages differ for other reasons, too: their
levels are taken to be gamma-distributed with shape a, so that the number of clicks C is negative binomial about

    μ = Σ_k θ_k exp(b + w·(x_k − x̄) + m_k),        x̄: the mean of the query's candidates,

and is worth no more than a clicks, however many there were.

Documents are rows z of a matrix: a column of ones for b, one for each rank but the first (1 where the document stands),
then the features' distances from x̄, in units of their spread. With C = Σ c_k, z̄ = Σ π_k z_k and s = μ/(a + μ),

    gradient      g = Σ_k g_k z_k,   g_k = c_k − C π_k + (C (1 − s) − a s) π_k
    information   H = C Σ_k π_k (z_k − z̄)(z_k − z̄)ᵀ + a s z̄ z̄ᵀ = Σ_j a_j a_jᵀ

Both are linear in the clicks, but for what the page has of its own: − a s in the gradient, and the last term of the
information. So more clicks on a page that was learned from before, a purchase of tomorrow, are taken in by themselves,
without these two: at one mean, a page and then the rest of its clicks are the page with all of them.

Here a_j compares the document at j with the mean of those below it, and the last is the page's level: as many rows
as documents.
"""

import math

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp, log
from rankloop.kernels.triangular import row_dot


@kernel
def place_documents(X, page, rank, leading, per_unit, centre, Z):
    """Rows of Z: a one, where each shown document stands, and how far its features are from the candidates' centre.

    `leading` is the number of columns before the features: one for the level, and one for each rank but the first.
    """
    features = per_unit.size
    for t in range(page.size):
        Z[t, :] = 0.0
        Z[t, 0] = 1.0
        Z[t, rank[t]] = 1.0
        own = Z[t, leading : leading + features]
        for j in range(features):
            own[j] = (np.float64(X[page[t], j]) - centre[j]) * per_unit[j]


@kernel
def page_shares(Z, mean, merits, shares):
    """π_k for the first rows of Z; returns log μ, the logarithm of what they sum to before they are shares."""
    shown = shares.size
    top = -math.inf
    for t in range(shown):
        shares[t] = row_dot(Z, t, mean, 0) + merits[t]
        top = max(top, shares[t])
    total = 0.0
    for t in range(shown):
        shares[t] = exp(shares[t] - top)
        total += shares[t]
    for t in range(shown):
        shares[t] /= total
    return top + log(total)


@kernel
def level_part(clicked, log_expected, shape, once):
    """What the number of clicks says, in units of the page's level: a gradient and an information.

    log_expected is log μ; it may be as large as it likes, since only s = μ/(a + μ) is needed. What does not depend on
    the clicks counts `once`, 1, for a page, and 0 for more clicks on a page that was learned from. Shape 0: nothing.
    """
    if shape == 0.0:
        return 0.0, 0.0
    part = 1.0 / (1.0 + exp(log(shape) - log_expected))
    return clicked * (1.0 - part) - once * (shape * part), once * (shape * part)


@kernel
def document_parts(clicks, clicked, shares, pull, level, gradients, informations):
    """g_k, and the information C π_k (1 − π_k) + a s π_k², of each shown document's own score."""
    for t in range(shares.size):
        gradients[t] = clicks[t] - clicked * shares[t] + pull * shares[t]
        informations[t] = clicked * shares[t] * (1.0 - shares[t]) + level * shares[t] * shares[t]


@kernel
def add_gradient(Z, gradients, gradient):
    """gradient ← gradient + Σ_k g_k z_k."""
    for t in range(gradients.size):
        for j in range(gradient.size):
            gradient[j] += gradients[t] * Z[t, j]


@kernel
def page_level(Z, shares, information, level):
    """level ← √(a s) z̄, the row of the information that the number of clicks brings."""
    level[:] = 0.0
    length = math.sqrt(information)
    for t in range(shares.size):
        for j in range(level.size):
            level[j] += length * shares[t] * Z[t, j]


@kernel
def contrasts(Z, clicked, shares, below):
    """Turn the first rows of Z into the contrasts a_j of the page's information, and the last of them into 0.

    From the bottom up, adding only: `below` is the mean of the documents below, weighted by their shares.
    """
    last = shares.size - 1
    mass = shares[last]
    below[:] = Z[last]
    Z[last, :] = 0.0
    for t in range(last - 1, -1, -1):
        both = mass + shares[t]
        part = shares[t] / both if both > 0.0 else 0.0
        length = math.sqrt(clicked * part * mass)
        for j in range(below.size):
            apart = Z[t, j] - below[j]
            below[j] += part * apart
            Z[t, j] = length * apart
        mass = both
