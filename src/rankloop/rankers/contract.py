"""The compiled contract of a ranker. Each kind implements it for its own named tuple of parameters."""

from typing import Any


def score(ranker: Any, X: Any, scores: Any) -> None:
    """Fill `scores` (float32, one per row of X) with the ranker's scores."""
    raise TypeError(f"no compiled score is registered for {type(ranker).__name__}")


def ascend(ranker: Any, X: Any, score_gradient: Any, step: Any, slope: Any) -> None:
    """Move the parameters by `step` times the gradient that `score_gradient` (one per row of X) implies.

    `slope` is scratch, with room for one number per feature in whole lanes.
    """
    raise TypeError(f"no compiled ascend is registered for {type(ranker).__name__}")
