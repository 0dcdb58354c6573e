"""From features to scores, and the way back of a gradient. Linear first; others implement the same contract."""

from rankloop.rankers.linear import Linear, starting_weights

__all__ = ["Linear", "starting_weights"]
