"""Lines for plots that do not learn: a ranker with fixed weights, and the oracle that knows the grades."""

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.errors import SettingsError
from rankloop.kernels import implements, kernel
from rankloop.kernels.selection import take_largest
from rankloop.learners.contract import Cost, Feedback, Learner, Work, learn, require_small, show
from rankloop.learners.multileaving import order_keys
from rankloop.rankers.linear import LINEAR, LinearWeights
from rankloop.settings import Rule, require_numbers


class FixedWeights(Learner, frozen=True):
    """A linear ranker that stays as it is; with all weights 0 it shuffles, the random line of a plot.

    >>> FixedWeights(weights=(1.0, 0.0))
    FixedWeights(weights=(1.0, 0.0))
    """

    learns_from: ClassVar[Feedback] = "nothing"
    off_policy: ClassVar[bool] = True
    cost: ClassVar[Cost] = Cost(2, 3)

    weights: Annotated[tuple[float, ...] | None, Rule(require_numbers, optional=True)] = None

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "FixedModel":
        """The model, now and for ever."""
        chosen = self.weights if weights is None else weights
        return FixedModel(LINEAR.parameters("zeros", features, seed, chosen))

    def work(self, features: int, page_size: int, candidates: int) -> "SortWork":
        """Scratch for queries of up to so many candidates."""
        return SortWork(Work.of(features, page_size, candidates))

    def page_log_probability(self, work: Any, scores: NDArray[np.float32], page: NDArray[np.int64]) -> float:
        """It ranks greedily, with each order of equal scores as likely as another.

        >>> FixedWeights().page_log_probability(None, np.array([1, 1, 2], np.float32), np.array([2, 0]))
        -0.69314...
        """
        equal = [
            (scores == scores[document]).sum() - (scores[page[:t]] == scores[document]).sum()
            for t, document in enumerate(page)
        ]
        return -float(np.log(equal).sum())

    def require_affordable(self, features: int, page_size: int) -> None:
        """The weights must leave room for the features they are multiplied with."""
        require_small(f"{self.name}: a weight", self.weights or ())


class Oracle(Learner, frozen=True):
    """The best possible page for every query: the ceiling of a plot. Only a simulation can show it."""

    learns_from: ClassVar[Feedback] = "nothing"
    cost: ClassVar[Cost] = Cost(2, 3)
    ranks_by_grades: ClassVar[bool] = True

    def model(self, features: int, page_size: int, seed: int, weights: ArrayLike | None = None) -> "FixedModel":
        """A ranker without an opinion: the simulation puts the grades in the place of its scores."""
        if weights is not None:
            raise SettingsError("Oracle has no weights to start from; leave weights out")
        return FixedModel(LINEAR.parameters("zeros", features, seed))

    def work(self, features: int, page_size: int, candidates: int) -> "SortWork":
        """Scratch for queries of up to so many candidates."""
        return SortWork(Work.of(features, page_size, candidates))


class FixedModel(NamedTuple):
    """A ranker that nothing changes."""

    ranker: LinearWeights


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
