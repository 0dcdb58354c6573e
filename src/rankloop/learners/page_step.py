"""One page's Newton step: what its clicks say (`page_likelihood`) of the weights and the examination curve together,
and of the shown documents' merits (`merits`)."""

import math

import numpy as np

from rankloop.kernels import kernel
from rankloop.kernels.triangular import add_rows, solve_lower, solve_upper
from rankloop.learners.changes import part_of_change, watch
from rankloop.learners.merits import recall, remember
from rankloop.learners.page_likelihood import (
    add_gradient,
    contrasts,
    document_parts,
    level_part,
    page_level,
    page_shares,
    place_documents,
)
from rankloop.learners.prior import in_units

SHOWN = 4
"""Numbers of a shown document: what its features say, its merit, its gradient and its information."""


@kernel
def take_evidence(model, work, X, page, clicks, clicked):
    """One Newton step: the page's gradient and information at the present mean, times how much the page counts."""
    rows, shares, gradient, mean = work.rows, work.shares[: page.size], work.gradient, work.mean
    said, merits, slopes, bends = work.shown[:, : page.size]
    leading, weight = model.log_examination.size, work.base.weight[0]
    for j in range(model.spread.size):
        work.per_unit[j] = 1.0 / model.spread[j] if model.spread[j] > 0.0 else 0.0
    place_documents(X, page, model.rank, leading, work.per_unit, work.centre, rows)
    in_units(model, mean)
    recall_shown(model, work, page, said, merits)
    log_expected = page_shares(rows, mean, merits, shares)
    once = 0.0 if work.base.more[0] else 1.0
    pull, level = level_part(clicked, log_expected, model.settings.level_shape, once)
    document_parts(clicks, clicked, shares, pull, level, slopes, bends)
    slopes *= weight
    bends *= weight
    gradient[:] = 0.0
    add_gradient(rows, slopes, gradient)
    for i in range(model.squares.shape[0]):
        for m in range(i, model.squares.shape[1]):
            model.squares[i, m] += gradient[i] * gradient[m]
    page_level(rows, shares, level, work.level)
    count = page.size if clicked > 0.0 else 1
    if clicked > 0.0:
        contrasts(rows, clicked, shares, mean)
    rows[count - 1, :] = work.level
    rows[count:, :] = 0.0
    if weight < 1.0:
        rows[:count] *= math.sqrt(weight)
    add_rows(model.root, rows, count, work.reflection)
    solve_lower(model.root, gradient)
    solve_upper(model.root, gradient, 0)
    if move(model, gradient, work.per_unit):
        changing = part_of_change(model.changes)
        for t in range(page.size):
            key = work.base.documents[page[t]]
            remember(model.merits, key, said[t], slopes[t], bends[t], changing, model.settings)
            watch(model.changes, key, X[page[t]], work.centre, model.ranker.weights)


@kernel
def recall_shown(model, work, page, said, merits):
    """What the features say of each shown document, and what it is known to be worth beyond that."""
    leading, changing = model.log_examination.size, part_of_change(model.changes)
    for t in range(page.size):
        u = 0.0
        for j in range(leading, leading + model.spread.size):
            u += work.rows[t, j] * work.mean[j]
        believed, _ = recall(model.merits, work.base.documents[page[t]], u, changing)
        said[t] = u
        merits[t] = believed - u


@kernel
def move(model, step, per_unit):
    """The mean takes a step that is given in the features' units; returns whether it is one of numbers."""
    leading = model.log_examination.size
    model.level[0] += step[0]
    for k in range(1, leading):
        model.log_examination[k] += step[k]
    for j in range(model.spread.size):
        moved = model.ranker.weights[j] + step[leading + j] * per_unit[j]
        model.ranker.weights[j] = moved
        model.ranker.rounded[j] = np.float32(moved)
    return math.isfinite(step.sum())
