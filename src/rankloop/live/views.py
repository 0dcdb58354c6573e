"""What is published of a model's state: all that ranking needs, and nothing that learning changes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.data.naming import document_numbers
from rankloop.live.events import Impression
from rankloop.live.experiments import Running
from rankloop.live.scaling import Scaler
from rankloop.live.settings import ModelSettings
from rankloop.loop import score_candidates


class View(NamedTuple):
    """What ranking needs of a state; never changed once published."""

    version: int
    offset: int
    model: Any
    scaler: Scaler
    mode: str
    guarded: bool = False
    """Most people see the incoming order, because the learned one is worse."""
    experiment: Running | None = None
    """Orders that are compared on some people's pages."""
    reign: int = 0
    """Whose settings: where in the log a challenger was promoted; 0: those that the model was made with."""
    settings: ModelSettings | None = None
    """These; None: those that the model was made with."""
    damage: str | None = None
    """Why this only stands in for a state that cannot be read; then nothing is ranked with it."""

    def scores(self, X: NDArray[np.float32], numbers: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """One score per candidate, of features as the ranker sees them; of documents that `numbers` names, or of some
        that nobody knows."""
        return scores_by(self.model, X, numbers)

    def scores_of(self, page: Impression, precision: str) -> NDArray[np.float32]:
        """One score per candidate of a page that was shown."""
        X = self.scaler.apply(page.matrix(precision))
        return self.scores(X, self.numbers(page.query, page.candidates))

    def numbers(self, query: str, candidates: Sequence[str]) -> NDArray[np.int64]:
        """What names the candidates, if anything is known of documents as such."""
        return document_numbers(query, candidates) if self.remembers else np.zeros(len(candidates), np.int64)

    @property
    def remembers(self) -> bool:
        """Whether anything is known of documents as such, beyond their features."""
        merits = getattr(self.model, "merits", None)
        return merits is not None and bool(merits.taken[0])


def scores_by(model: Any, X: NDArray[np.float32], numbers: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """What a model gives candidates."""
    scores = np.zeros(len(X), np.float32)
    score_candidates(model, X, np.zeros(len(X), np.int64) if numbers is None else numbers, scores)
    return scores
