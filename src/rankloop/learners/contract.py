"""What a learner is, to the compiled loop and to the rest of the house.

A learner's settings are a small frozen struct (`ROLTR(reward="ips+-")`). They make two named tuples: the
*model*, everything that learning changes and a snapshot must hold, and the *work* space, scratch that means nothing
between calls. Three compiled functions act on them; each learner implements them for its own model. Simulation and
live ranker call the same ones.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.kernels.arithmetic import whole_blocks
from rankloop.kernels.matrix import padded


class Learner(Protocol):
    """Settings of a learning method."""

    name: ClassVar[str]
    """The method's name in tables, files and on the command line."""
    learns_from: ClassVar[str]
    """`clicks`, `grades` (a skyline that is told the truth) or `nothing`."""
    ranks_by_grades: ClassVar[bool]
    """Whether a simulation puts the true grades in the place of the scores (the oracle)."""
    by_rank: ClassVar[tuple[str, ...]]
    """The model's arrays that hold one value per rank of the page."""

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> Any:
        """The model before the first impression, from `weights` if given."""

    def work(self, features: int, page_size: int, candidates: int) -> Any:
        """Scratch for queries of up to so many candidates."""

    def note_width(self) -> int:
        """How many numbers per shown document the learner must remember from showing to learning."""


class Work(NamedTuple):
    """Scratch that every learner needs, as `work.base`; `scores` is filled before `show` and `learn` are called."""

    scores: NDArray[np.float32]
    z: NDArray[np.float64]
    keys: NDArray[np.int64]
    gradient: NDArray[np.float64]
    remaining: NDArray[np.float64]
    returns: NDArray[np.float64]
    direction: NDArray[np.float32]
    slope: NDArray[np.float32]

    @classmethod
    def of(cls, features: int, page_size: int, candidates: int) -> "Work":
        """Scratch for so many features, ranks and candidates."""
        room = whole_blocks(candidates)
        return cls(
            scores=np.zeros(room, np.float32),
            z=np.zeros(room),
            keys=np.zeros(room, np.int64),
            gradient=np.zeros(room),
            remaining=np.zeros(page_size + 1),
            returns=np.zeros(page_size),
            direction=np.zeros(features, np.float32),
            slope=np.zeros(padded(features), np.float32),
        )


def show(model: Any, work: Any, X: Any, seed: Any, impression: Any, page: Any, notes: Any) -> None:
    """Fill `page` with the documents to show, best first, given their scores in `work.base.scores`.

    `notes` (ranks, note_width) is kept with the page until it is learned from.
    """
    raise TypeError(f"no compiled show is registered for {type(model).__name__}")


def learn(
    model: Any,
    work: Any,
    X: Any,
    seed: Any,
    impression: Any,
    page: Any,
    notes: Any,
    feedback: Any,
    measure: Any,
) -> float:
    """Update the model from what came back for a page: one click value (or grade) per shown document.

    If `measure`, a policy-gradient method returns the trace of its gradient's variance over ranks; otherwise, and for
    all other methods, the result is NaN.
    """
    raise TypeError(f"no compiled learn is registered for {type(model).__name__}")
