"""What would another policy have earned? Estimates from the clicks that a logged policy collected.

Weigh every impression of a log for the other policy, line the weights up with the clicks, and estimate:

>>> import numpy as np
>>> from rankloop.policies import sample
>>> scores, better = np.zeros(3), np.array([1.0, 0.0, -1.0])
>>> pages = [sample(scores, size=2, seed=1, impression=i) for i in range(2000)]
>>> clicks = [(page == 0).astype(float) for page in pages]          # everybody clicks on document 0
>>> weights = [weigh(scores, better, page, examination=[1.0, 1.0]) for page in pages]
>>> print(estimate(item_position(weights, clicks)))
item-position: 0.9315 (0.8958 to 0.9672), worth 1,493 of 2,000 impressions
>>> round(float(position_probabilities(better, ranks=2)[0].sum()), 3)                    # the truth
0.947
"""

from rankloop.offpolicy.estimators import Estimate, Rules, difference, effective_sample_size, estimate
from rankloop.offpolicy.positions import Greedy, PlackettLuce, Policy, expected_examination, position_probabilities
from rankloop.offpolicy.weights import (
    Evidence,
    Weights,
    evidence,
    examination_model,
    item_position,
    on_policy,
    weigh,
    whole_page,
)

__all__ = [
    "Estimate",
    "Evidence",
    "Greedy",
    "PlackettLuce",
    "Policy",
    "Rules",
    "Weights",
    "difference",
    "effective_sample_size",
    "estimate",
    "evidence",
    "examination_model",
    "expected_examination",
    "item_position",
    "on_policy",
    "position_probabilities",
    "weigh",
    "whole_page",
]
