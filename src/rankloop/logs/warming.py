"""Learn first from old logs: the start of a live model from what was shown and clicked before there was one.

`Posterior`'s likelihood asks only where clicks fell on the page that was shown, so it needs no probabilities: any log
with ranks, clicks and features will do. How far people look is learned beside the weights, or given.
"""

from typing import Any

import msgspec
import numpy as np

from rankloop.data.naming import document_numbers
from rankloop.errors import DataError, SettingsError
from rankloop.learners import Posterior
from rankloop.learners.posterior import PosteriorBelief
from rankloop.live.scaling import Fixed, Scaler, deviation_within, typical
from rankloop.logs.clicked import FEATURE, ClickLog
from rankloop.online import OnlineRanker, Page
from rankloop.propensities.curves import Known

SURE = 1e-6
"""How much a given examination curve may still be wrong, as a variance of its logarithm."""


class Warm(msgspec.Struct, frozen=True):
    """What an old log taught.

    Attributes:
        pages: how many were learned from, with a click or without.
        clicks: on them.
        features: names.
        belief: weights in units of each feature's spread, and the examination curve, with standard deviations.
        scaling: those units.
    """

    pages: int
    clicks: float
    features: tuple[str, ...]
    page_size: int
    belief: PosteriorBelief
    scaling: Fixed

    def settings(self, name: str, start_pages: float | None = None) -> dict[str, Any]:
        """The settings of a live model that starts from it, for `POST /v1/models`."""
        learner: dict[str, Any] = {"learner": "Posterior"}
        if start_pages is not None:
            learner["start_pages"] = start_pages
        return {
            "name": name,
            "features": list(self.features),
            "page_size": self.page_size,
            "scaling": msgspec.to_builtins(self.scaling),
            "start": {"from": "weights", "weights": [float(weight) for weight in self.belief.weights]},
            "learner": learner,
        }


def warm_up(log: ClickLog, examination: list[float] | None = None, *, page_size: int | None = None) -> Warm:
    """Fold an old log into a posterior, page by page in its order.

    Args:
        log: with features.
        examination: how likely people are to look at each rank, beside the first; None: it is learned.
        page_size: of the live model; None: the deepest rank of the log.
    """
    if log.features is None:
        raise DataError(f"the log has no features: give it columns {FEATURE}NAME, or a table of them with --features")
    depth = max(log.ranks)
    if examination is not None and len(examination) < depth:
        raise SettingsError(f"warm-up: examination must have a number for each of the {depth} ranks of the log")
    scaling = _scaling(log)
    learner = Posterior(exploration=0.0, early_exploration=0.0)
    if examination is not None:
        learner = Posterior(
            exploration=0.0, early_exploration=0.0, examination=Known(tuple(examination)), examination_variance=SURE
        )
    ranker = OnlineRanker(learner, len(log.feature_names), seed=0, page_size=depth)
    scaler = Scaler(scaling, len(log.feature_names))
    for number, page in enumerate(log.each_page()):
        X = scaler.apply(log.features[page])
        documents = np.arange(len(X))
        notes = np.zeros((len(X), learner.note_width()), np.float32)
        ranks = np.array(log.ranks[page]) - 1
        numbers = document_numbers(log.queries[page.start], log.documents[page])
        shown = Page(documents, number, X, np.zeros(len(X), np.float32), notes, ranks, numbers)
        ranker.learn(shown, np.minimum(log.clicks[page], 1.0))
    if not ranker.model.precision[0]:
        raise DataError("nothing can be learned from the log: no page with a click shows two documents that differ")
    belief = learner.belief(ranker.model)
    size = depth if page_size is None else page_size
    return Warm(log.pages, float(sum(log.clicks)), log.feature_names, size, belief, scaling)


def _scaling(log: ClickLog) -> Fixed:
    """The middle of each feature, and the typical deviation within a page: what a live model would learn."""
    assert log.features is not None
    X = log.features.astype(np.float64)
    spread = typical(np.array([deviation_within(X[page]) for page in log.each_page()]))
    # Pages of a single document say nothing about a page's spread: then it is that of all documents.
    spread = np.where(spread > 0, spread, X.std(axis=0))
    return Fixed(tuple(np.median(X, axis=0).tolist()), tuple(spread.tolist()))
