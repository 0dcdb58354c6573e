"""What a ranker is, to learners, evaluation and the compiled loop.

A ranker's settings are a small frozen struct (`Linear()`). They make a named tuple of parameters whose `weights` is one
flat float64 array (what snapshots and checkpoints hold) and whose `rounded` is the same in float32, for scoring. The
compiled functions act on that tuple; each kind of ranker implements them for its own.
"""

from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.plugins import Registry, left_out, name_in_files, pickled
from rankloop.settings import check_settings

RANKERS = Registry("ranker")
"""Every kind of ranker that a learner can be given, by the `kind` that settings name."""


class Ranker(msgspec.Struct, frozen=True, tag=name_in_files, tag_field="kind", forbid_unknown_fields=True):
    """Settings of a ranker. Its `kind` is the class's name in lower case, with underscores."""

    name: ClassVar[str]
    """The `kind`."""
    registry: ClassVar[Registry] = RANKERS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = options.get("tag") or name_in_files(cls.__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process a ranker brings along its kernels."""
        return pickled(self, super().__reduce__())  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        check_settings(self, type(self).__name__)

    def parameters(self, initial: str, features: int, seed: int, weights: ArrayLike | None = None) -> Any:
        """The parameters that a learner begins with: given ones, or by the rule named `initial`."""
        raise left_out(type(self), "parameters(initial, features, seed, weights)")

    def several(self, weights: NDArray[np.float64], features: int) -> Any:
        """Many rankers of this kind, (rankers, weights), for `score_several`; refuses what does not fit."""
        raise left_out(type(self), "several(weights, features)")


def score(ranker: Any, X: Any, scores: Any) -> None:
    """Fill `scores` (float32, one per row of X) with the ranker's scores."""
    raise TypeError(f"no compiled score is registered for {type(ranker).__name__}")


def score_several(rankers: Any, X: Any, scores: Any) -> None:
    """Fill `scores` (float32, rows of X × rankers, in whole blocks) with the scores of many rankers at once."""
    raise TypeError(f"no compiled score_several is registered for {type(rankers).__name__}")


def ascend(ranker: Any, X: Any, score_gradient: Any, step: Any, slope: Any) -> None:
    """Move the parameters by `step` times the gradient that `score_gradient` (one per row of X) implies.

    `slope` is scratch, with room for one number per feature in whole lanes.
    """
    raise TypeError(f"no compiled ascend is registered for {type(ranker).__name__}")
