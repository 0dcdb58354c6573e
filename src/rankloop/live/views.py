"""What is published of a model's state: all that ranking needs, and nothing that learning changes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    def scores(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """One score per candidate, of features as the ranker sees them."""
        scores = np.zeros(len(X), np.float32)
        score_candidates(self.model, X, scores)
        return scores

    def raw_scores(self, raw: NDArray[Any]) -> NDArray[np.float32]:
        """The same of features as they are stored."""
        return self.scores(self.scaler.apply(raw))
