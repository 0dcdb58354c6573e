"""Whether a learner still ranks with numbers: its weights, and the scores that they give, must fit single precision.

What does not fit is infinite or no number, and a ranking by it looks like any other.
"""

from typing import Any

import numpy as np

from rankloop.data.collection import Split
from rankloop.errors import DivergenceError
from rankloop.evaluation import scores_of
from rankloop.learners.contract import arrays_of
from rankloop.plugins import is_outside
from rankloop.rankers.linear import Linear

LARGEST = float(np.log(np.finfo(np.float32).max)) - 1.0
"""The logarithm of what a score may grow to; a little less than there is, because sums are rounded."""
DEEPEST = 8
"""Layers that a ranker which is not linear may have for a bound on its scores to hold."""


def require_finite(learner: Any, model: Any, impression: int, *splits: Split) -> None:
    """Refuse a model that has learned what is no number, or that gives candidates of these splits no numbers."""
    if is_broken(model):
        raise DivergenceError(
            f"{learner.name} diverged by impression {impression:,}: its weights left the range of float32; "
            f"{learner.remedy}"
        )
    if not all(gives_numbers(learner.scoring_ranker, model.ranker.weights, split) for split in splits):
        raise scores_diverged(learner, impression)


def is_broken(model: Any) -> bool:
    """Whether anything that was learned is no longer a number: a method may keep more than weights."""
    return not all(np.isfinite(array).all() for array in arrays_of(model, tables=False).values())


def scores_diverged(learner: Any, impression: int) -> DivergenceError:
    """What is said of weights that are numbers, where the scores they give are none."""
    if is_outside(type(learner.scoring_ranker)):
        return DivergenceError(
            f"{learner.name}: the ranker {learner.scoring_ranker} gave scores that are not finite by impression "
            f"{impression:,}, though its weights are: look at its `score`, or {learner.remedy}"
        )
    return DivergenceError(
        f"{learner.name}: features times weights left the range of float32 by impression {impression:,}; "
        f"{learner.remedy}"
    )


def gives_numbers(ranker: Any, weights: Any, split: Split) -> bool:
    """Whether every document's score is finite. Documents are only scored where the size of the weights leaves doubt.

    >>> split = Split.of(features=[[1e30], [0.0]], grades=[1, 0], queries=[1, 1])
    >>> gives_numbers(Linear(), np.array([1e5]), split), gives_numbers(Linear(), np.array([1e10]), split)
    (True, False)
    """
    layers = 1 if isinstance(ranker, Linear) else DEEPEST
    if layers * np.log1p(np.abs(weights).sum()) + np.log1p(split.largest) < LARGEST:
        return True
    return bool(np.isfinite(scores_of(weights, split.arrays.features, ranker)).all())
