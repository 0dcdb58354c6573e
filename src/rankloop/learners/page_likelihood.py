"""What a page's clicks say: a softmax over the shown documents, given how many clicks there were.

    π_k ∝ exp(w·x_k + log θ_k)        log L = Σ_k c_k log π_k

The page's own level (how eager this person is, how good the query's results are) cancels, so documents are compared
with their neighbours only; nothing is divided by a propensity; and it does not matter who drew the page, or why. This
is the Poisson likelihood with one effect per page: right in expectation if E[c_k] = θ_k exp(w·x_k + level of the
page), whatever the distribution of clicks.

Documents are rows z of a matrix: first one column for each rank but the first (1 where the document stands), then
the features' distances from the first document's, in units of their spread. With C = Σ c_k and z̄ = Σ π_k z_k,

    gradient      g = Σ_k (c_k − C π_k) z_k
    information   H = C Σ_k π_k (z_k − z̄)(z_k − z̄)ᵀ = Σ_j a_j a_jᵀ

where a_j compares the document at j with the mean of those below it: one contrast fewer than documents.
"""

import math

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.arithmetic import exp
from rankloop.kernels.triangular import row_dot


@kernel
def place_documents(X, page, rank, ranks, per_unit, Z):
    """Rows of Z: where each shown document stands, and how far its features are from the first document's.

    `ranks` is the number of columns for ranks: one for each but the first.
    """
    features = per_unit.size
    for t in range(page.size):
        Z[t, :] = 0.0
        if rank[t] > 0:
            Z[t, rank[t] - 1] = 1.0
        own = Z[t, ranks : ranks + features]
        for j in range(features):
            own[j] = (np.float64(X[page[t], j]) - np.float64(X[page[0], j])) * per_unit[j]


@kernel
def page_shares(Z, shown, mean, shares):
    """π_k for the first `shown` rows of Z."""
    top = -math.inf
    for t in range(shown):
        shares[t] = row_dot(Z, t, mean, 0)
        top = max(top, shares[t])
    total = 0.0
    for t in range(shown):
        shares[t] = exp(shares[t] - top)
        total += shares[t]
    for t in range(shown):
        shares[t] /= total


@kernel
def add_gradient(Z, clicks, shares, gradient):
    """gradient ← gradient + Σ_k (c_k − C π_k) z_k."""
    total = clicks.sum()
    for t in range(clicks.size):
        factor = clicks[t] - total * shares[t]
        for j in range(gradient.size):
            gradient[j] += factor * Z[t, j]


@kernel
def contrasts(Z, shown, clicked, shares, below):
    """Turn the first `shown` rows of Z into the contrasts a_j of the page's information, and the last of them into 0.

    From the bottom up, adding only: `below` is the mean of the documents below, weighted by their shares.
    """
    last = shown - 1
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
