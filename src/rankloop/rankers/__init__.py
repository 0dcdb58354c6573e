"""From features to scores, and the way back of a gradient. One file per kind; a new one is one line in `Ranker`."""

from rankloop.rankers.linear import INITIALS, LINEAR, Linear, LinearWeights, starting_weights

Ranker = Linear
"""Every kind of ranker that a learner can be given."""

__all__ = ["INITIALS", "LINEAR", "Linear", "LinearWeights", "Ranker", "starting_weights"]
