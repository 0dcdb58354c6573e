"""What is believed before the first click, in units that no feature's scale can change.

A feature's unit is its spread: the root of its mean variance within a query, over the pages seen so far. In these
units every weight has the same prior variance V/F, so that the scores of a query's candidates vary by V in all. Given
weights (a trained ranker, or the incoming order) are a direction that is believed beforehand: their scores, in units
of their own spread, have a prior weight of ½ with the precision of so many pages.

    w ~ N(½ u, V/F + u uᵀ/pages + v a aᵀ),   u = the given weights in these units, scaled to scores of spread 1

and along a, what features have in common (`common_factor`), weights may be larger. Without given weights, that is the
direction that is believed beforehand, with the weight β:

    w ~ N(β a, V/F + v a aᵀ).

Spreads are estimates that settle, so now and then the prior is put in anew (`renew`): what pages have taught is the
posterior's information less the old prior's, and is kept; half-lives forget a part of it in the same step.
"""

import math

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.triangular import factorise, invert, solve_lower, solve_upper, square, times_symmetric
from rankloop.learners.candidates import add_candidates
from rankloop.learners.common_factor import common_agreement, common_share, settle_common

GIVEN = 0.5
"""Prior weight of the given scores: documents that lie one spread apart differ in clicks by e^½."""
LEVEL, LEVEL_VARIANCE = -1.5, 4.0
"""What is believed of b, the logarithm of how often a middling document is clicked at the top: .01 to 1 and more."""
SETTLED = 1024
"""The prior is renewed after 1, 2, 3, 4, 6, 8, 12 … pages, and from here on after each so many."""


@kernel
def gather_spread(model, X, centre, squares):
    """Let one query's candidates into the running means of variances within queries; `centre` becomes their mean."""
    features = X.shape[1]
    step, n = add_candidates(X, centre, squares)
    keep = 1.0 - 1.0 / model.pages[0]
    for j in range(features):
        # From a candidate and not from zero, so that what all have in common cancels before anything is squared.
        variance = max(squares[j] / n - (centre[j] / n) ** 2, 0.0)
        centre[j] = centre[j] / n + np.float64(X[0, j])
        model.within[j] = keep * model.within[j] + variance / model.pages[0]
    if model.start.any():
        mean, mean_square = 0.0, 0.0
        for i in range(step, X.shape[0], step):
            apart = 0.0
            for j in range(features):
                apart += model.start[j] * (np.float64(X[i, j]) - np.float64(X[0, j]))
            mean += apart / n
            mean_square += apart * apart / n
        variance = max(mean_square - mean * mean, 0.0)
        model.start_within[0] = keep * model.start_within[0] + variance / model.pages[0]


@kernel
def is_due(pages):
    """Whether the prior is renewed after so many pages: 1, 2, 3, 4, 6, 8, 12 … 1024, 2048, 3072 …"""
    if pages >= SETTLED:
        return pages % SETTLED == 0
    while pages % 2 == 0:
        pages //= 2
    return pages == 1 or pages == 3


@kernel
def in_units(model, mean):
    """The posterior's mean in the features' units: b, log θ from the second rank on, then the weights."""
    leading = model.log_examination.size
    mean[0] = model.level[0]
    mean[1:leading] = model.log_examination[1:]
    for j in range(model.spread.size):
        mean[leading + j] = model.ranker.weights[j] * model.spread[j]


@kernel
def let_level_drift(model):
    """b may have changed since the last page: its variance grows by that of one step of a random walk.

    What is known of the others is Λ without b's row, if that row comes first; b given the others is the row itself. So
    the row shrinks, nothing else changes, and nothing is subtracted from Λ.
    """
    U, J = model.root, model.squares
    variance = model.settings.level_drift * model.settings.level_drift
    informed = U[0, 0] * U[0, 0]
    shrunk = 1.0 + variance * informed
    if J.shape[0] > 0:
        # The mean stays, so what pages taught is (I − c v eᵀ) times what it was: v = Λe, e picks b.
        c = variance / shrunk
        first = J[0].copy()
        for i in range(J.shape[0]):
            for m in range(i, J.shape[1]):
                v, w = U[0, 0] * U[0, i], U[0, 0] * U[0, m]
                J[i, m] += c * (c * first[0] * v * w - v * first[m] - first[i] * w)
    root = math.sqrt(shrunk)
    for m in range(U.shape[1]):
        U[0, m] /= root


@kernel
def renew(model, work, kept):
    """Put the prior in anew, in units of the spreads as they are known now; of what pages taught, `kept` stays."""
    M, eta, mean = work.square, work.gradient, work.mean
    if model.precision[0] > 0.0:
        weigh_prior(model, M, eta, mean)
        square(model.root, M)
        in_units(model, mean)
        times_symmetric(M, mean, eta)
        _add_prior(-1.0, model, M, eta, mean)
    else:
        M[:, :] = 0.0
        eta[:] = 0.0
    _change_units(model, M, eta, mean, kept)
    settle_common(model.common)
    _add_prior(1.0, model, M, eta, mean)
    factorise(M, model.root)
    solve_lower(model.root, eta)
    solve_upper(model.root, eta, 0)
    leading = model.log_examination.size
    model.level[0] = eta[0]
    model.log_examination[1:] = eta[1:leading]
    for j in range(model.spread.size):
        if model.spread[j] > 0.0:
            model.ranker.weights[j] = eta[leading + j] / model.spread[j]
        elif model.start_spread[0] > 0.0:
            model.ranker.weights[j] = GIVEN * model.start[j] / model.start_spread[0]
        model.ranker.rounded[j] = np.float32(model.ranker.weights[j])


@kernel
def weigh_prior(model, inverse, column, mean):
    """V by the evidence: the prior variance under which the weights, as known so far, are most plausible.

    With a = V/F, the data determine γ = F − tr(P)/a of the F weights, and a = |m|²/γ (MacKay, 1992); the first guess
    counts as `prior_weight` weights beside them. The direction of given weights has a prior of its own, and is left
    out; that of the common factor, as far as its prior is its own. Squares are those of what weights have beyond
    their prior's mean.
    """
    leading = model.log_examination.size
    precision = model.precision[0]
    invert(model.root, leading, inverse)
    trace, varying = 0.0, 0
    for j in range(model.spread.size):
        if model.spread[j] > 0.0:
            for m in range(leading + j, inverse.shape[0]):
                trace += inverse[leading + j, m] * inverse[leading + j, m]
            varying += 1
    in_units(model, mean)
    squares, along, length, common = 0.0, 0.0, 0.0, 0.0
    column[:] = 0.0
    expected = common_mean(model)
    for j in range(model.spread.size):
        if expected != 0.0:
            mean[leading + j] -= expected * model.common.direction[j]
        own = mean[leading + j]
        given = model.start[j] * model.spread[j]
        column[leading + j] = given
        squares += own * own
        along += own * given
        length += given * given
        if model.common.direction.size > 0:
            common += given * model.common.direction[j]
    free = np.float64(varying)
    if length > 0.0:
        solve_lower(model.root, column)
        for i in range(column.size):
            trace -= column[i] * column[i] / length
        squares -= along * along / length
        free -= 1
    taken = common_part(model)
    if taken > 0.0:
        # Of the common factor's direction, what it has beside that of given weights. With a variance of its own, its
        # weight says (1 − taken)² of V: the evidence's derivative there is A²(m² + P)/(A + v|a|²)² − A/(A + v|a|²).
        own_part = taken * (2.0 - taken)
        part = common / length if length > 0.0 else 0.0
        column[:] = 0.0
        along = 0.0
        for j in range(model.spread.size):
            own = model.common.direction[j] - part * model.start[j] * model.spread[j]
            column[leading + j] = own
            along += own * mean[leading + j]
            free -= taken * own * own
        solve_lower(model.root, column)
        for i in range(column.size):
            trace -= own_part * column[i] * column[i]
        squares -= own_part * along * along
    determined = max(free - precision * trace, 0.0)
    guess, first = model.settings.prior_weight, model.settings.prior_variance / max(varying, 1)
    model.variance[0] = max(varying, 1) * (guess * first + max(squares, 0.0)) / (guess + determined)


@kernel
def _change_units(model, M, eta, ratio, kept):
    """From the old units to the spreads as they are known now: information about x/s is s′²/s² that about x/s′."""
    size = model.root.shape[0]
    leading = model.log_examination.size
    varying = 0
    for k in range(leading):
        ratio[k] = 1.0
    for j in range(model.spread.size):
        now = math.sqrt(model.within[j])
        ratio[leading + j] = model.spread[j] / now if now > 0.0 else 0.0
        model.spread[j] = now
        varying += now > 0.0
    model.start_spread[0] = math.sqrt(model.start_within[0])
    model.precision[0] = max(varying, 1) / model.variance[0]
    for i in range(size):
        eta[i] *= kept * ratio[i]
        for m in range(i, size):
            M[i, m] *= kept * ratio[i] * ratio[m]
    for i in range(model.squares.shape[0]):
        for m in range(i, size):
            model.squares[i, m] *= kept * ratio[i] * ratio[m]


@kernel
def common_part(model):
    """How much of the prior's precision along b its own variance takes: by Sherman and Morrison, V/F + v a aᵀ has the
    inverse F/V (I − part b bᵀ), since b has length 1."""
    ratio = model.precision[0] * model.settings.common_variance * common_share(model.common)
    return 1.0 - 1.0 / (1.0 + ratio)


@kernel
def common_mean(model):
    """What is believed beforehand of the weights is so many times b; given weights are believed instead."""
    if model.start_spread[0] > 0.0:
        return 0.0
    return model.settings.common_weight * common_agreement(model.common) * math.sqrt(common_share(model.common))


@kernel
def _add_prior(sign, model, M, eta, own):
    """Λ₀ and Λ₀ m₀ in the model's present units, added to M's upper triangle and to η, or taken away."""
    settings = model.settings
    leading = model.log_examination.size
    features = model.spread.size
    precision = model.precision[0]
    M[0, 0] += sign / LEVEL_VARIANCE
    eta[0] += sign / LEVEL_VARIANCE * LEVEL
    for k in range(1, leading):
        M[k, k] += sign / settings.examination_variance
        eta[k] += sign / settings.examination_variance * model.first_examination[k]
    for j in range(features):
        M[leading + j, leading + j] += sign * precision
    b, taken = model.common.direction, common_part(model)
    if taken > 0.0:
        for i in range(features):
            for m in range(i, features):
                M[leading + i, leading + m] -= sign * precision * taken * b[i] * b[m]
    if model.start_spread[0] == 0.0:
        expected = common_mean(model)
        if expected != 0.0:
            for j in range(features):
                eta[leading + j] += sign * precision * (1.0 - taken) * expected * b[j]
        return
    common = 0.0
    for j in range(features):
        own[j] = model.start[j] * model.spread[j] / model.start_spread[0]
        if taken > 0.0:
            common += own[j] * b[j]
    squares = 0.0
    for j in range(features):
        given = own[j]
        if taken > 0.0:
            own[j] -= taken * common * b[j]
        squares += given * own[j]
    # And of that and u uᵀ/pages: `own` is now u times the former inverse, over V/F.
    ratio = precision / settings.start_pages
    shrink = ratio / (1.0 + ratio * squares)
    for i in range(features):
        eta[leading + i] += sign * GIVEN * precision * (1.0 - shrink * squares) * own[i]
        for m in range(i, features):
            M[leading + i, leading + m] -= sign * precision * shrink * own[i] * own[m]
