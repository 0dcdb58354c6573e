"""Lines for plots that do not learn: a ranker with fixed weights, and the oracle that knows the grades."""

from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.selection import take_largest
from rankloop.learners.contract import Work, learn, show
from rankloop.learners.multileaving import order_keys
from rankloop.rankers import Linear, starting_weights
from rankloop.settings import require_numbers, settle


class FixedWeights(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="FixedWeights",
    tag_field="learner",
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
):
    """A linear ranker that stays as it is; with all weights 0 it shuffles, the random line of a plot.

    >>> FixedWeights(weights=(1.0, 0.0))
    FixedWeights(weights=(1.0, 0.0))
    """

    name: ClassVar[str] = "FixedWeights"
    learns_from: ClassVar[str] = "nothing"
    ranks_by_grades: ClassVar[bool] = False
    by_rank: ClassVar[tuple[str, ...]] = ()

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            settle(self, weights=require_numbers("FixedWeights", "weights", self.weights))

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "FixedModel":
        """The model, now and for ever."""
        chosen = self.weights if weights is None else weights
        return FixedModel(Linear.of(starting_weights("zeros", features, seed, chosen)))

    def work(self, features: int, page_size: int, candidates: int) -> "SortWork":
        """Scratch for queries of up to so many candidates."""
        return SortWork(Work.of(features, page_size, candidates))

    def note_width(self) -> int:
        """Nothing has to be remembered."""
        return 0


class Oracle(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag="Oracle",
    tag_field="learner",
    forbid_unknown_fields=True,
):
    """The best possible page for every query: the ceiling of a plot. Only a simulation can show it."""

    name: ClassVar[str] = "Oracle"
    learns_from: ClassVar[str] = "nothing"
    ranks_by_grades: ClassVar[bool] = True
    by_rank: ClassVar[tuple[str, ...]] = ()

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "FixedModel":
        """A ranker without an opinion: the simulation puts the grades in the place of its scores."""
        if weights is not None:
            raise SettingsError("Oracle has no weights to start from; leave weights out")
        return FixedModel(Linear.of(np.zeros(features)))

    def work(self, features: int, page_size: int, candidates: int) -> "SortWork":
        """Scratch for queries of up to so many candidates."""
        return SortWork(Work.of(features, page_size, candidates))

    def note_width(self) -> int:
        """Nothing has to be remembered."""
        return 0


class FixedModel(NamedTuple):
    """A ranker that nothing changes."""

    ranker: Linear


class SortWork(NamedTuple):
    """The common scratch; sorting needs no more."""

    base: Work


@implements(show, FixedModel)
@kernel
def show_sorted(model, work, X, seed, impression, page, notes):
    """The documents with the highest scores, ties in random order."""
    n = X.shape[0]
    scores, keys = work.base.scores[:n], work.base.keys[:n]
    order_keys(scores.reshape((n, 1)), seed, impression, keys.reshape((1, n)))
    take_largest(keys, page)


@implements(learn, FixedModel)
@kernel
def learn_nothing(model, work, X, seed, impression, page, notes, feedback, measure):
    """Nothing changes."""
    return np.nan
