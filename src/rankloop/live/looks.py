"""What a model's pages say about how people look: the swaps of neighbours, and whether rank alone decides.

Sums only, added as pages are learned from, so that nobody who wants to see the curve has to read the log.
"""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.settings import ModelSettings
from rankloop.online import Page
from rankloop.propensities.rank_effect import RankEffect, add_page, scratch
from rankloop.propensities.swaps import SwapCurve, Swaps, count_swaps, noted_swaps
from rankloop.statistics.intervals import anytime_half_width

RANKS = 20
"""Further down nobody's looks are counted: the sums grow with the square of the ranks."""
LEAST_PAGES = 200
"""Before so many, nothing is said about what looks depend on."""
TOLD_APART = 2.0
"""A band says something at a rank where its upper end is less than so many times its lower one."""
NOT_ENOUGH = "Not enough clicks yet to tell how far people look."
BEYOND_RANK = (
    "Looks depend on more than rank: whether people look at a result also depends on what stands above it. "
    "No curve over ranks describes them."
)


class KeptLooks(msgspec.Struct):
    """The sums, as states keep them."""

    swaps: bytes
    effect: bytes
    clicks: bytes


class Looks:
    """Sums over the pages that a model has learned from."""

    def __init__(self, ranks: int, kept: KeptLooks | None = None) -> None:
        self.swaps, self.effect = Swaps(ranks), RankEffect(ranks)
        if kept is not None:
            for name, array in self._arrays().items():
                array[...] = np.frombuffer(getattr(kept, name)).reshape(array.shape)

    @classmethod
    def of(cls, settings: ModelSettings, kept: KeptLooks | None = None) -> "Looks | None":
        """None where pages are not drawn by a softmax of scores: then no swap has a known probability."""
        ranks = min(settings.page_size, RANKS)
        counted = settings.swaps and settings.learner.policy_temperature is not None and ranks > 1
        return cls(ranks, kept) if counted else None

    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        return {"swaps": self.swaps.moments, "effect": self.effect.sums, "clicks": self.effect.clicks}

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        return {name: array.tobytes() for name, array in self._arrays().items()}

    def note(self, page: Page, clicks: list[float], temperature: float) -> None:
        """Let a page in, with the scores that drew it: its first ranks, as if it had no more."""
        ranks = np.arange(len(page.documents)) if page.ranks is None else np.asarray(page.ranks)
        shown = int(np.searchsorted(ranks, self.effect.clicks.shape[1]))
        if shown == 0:
            return
        z = page.scores.astype(np.float64) / temperature
        documents, clicked = np.ascontiguousarray(page.documents[:shown]), np.array(clicks[:shown])
        count_swaps(self.swaps.moments, ranks[:shown], noted_swaps(z, documents), clicked)
        if page.ranks is None:
            # With something pinned between them, documents are not exchanged by the policy alone.
            room = scratch(len(z), shown)
            add_page(self.effect.sums, self.effect.clicks, z, documents, clicked, *room)

    def curve(self, confidence: float = 0.95) -> SwapCurve:
        """Examination relative to the first rank, with its band."""
        return self.swaps.examination(confidence)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Ranks below the first at which the band is narrow enough to say something."""
        curve = self.curve()
        with np.errstate(invalid="ignore"):
            known = curve.high < TOLD_APART * curve.low
        known[0] = False
        return np.asarray(known)

    @property
    def known_to(self) -> int:
        """The deepest of those ranks, from 1; 0 where there is none."""
        return int(np.flatnonzero(self.known).max(initial=-1)) + 1

    def sentence(self) -> str:
        """In a sentence, how far people look."""
        if self.depend_on_more_than_rank:
            return BEYOND_RANK
        if not self.known_to:
            return NOT_ENOUGH
        return f"How far people look is known to rank {self.known_to}; nothing says that it depends on more than rank."

    @property
    def depend_on_more_than_rank(self) -> bool:
        """Whether they do, beyond chance, however often one asks (at 99 %)."""
        total, squares, pages = self.effect.sums.tolist()
        if pages < LEAST_PAGES or squares == 0.0:
            return False
        return bool(abs(total) > anytime_half_width(squares**0.5, pages, 0.99))
