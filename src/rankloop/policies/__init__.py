"""How scores become a page: the Plackett–Luce policy, its probabilities and its score gradient."""

from rankloop.policies.plackett_luce import (
    log_probability,
    probability,
    sample,
    score_gradient,
)

__all__ = ["log_probability", "probability", "sample", "score_gradient"]
