"""What may be wrong with what a model learns from, noticed page by page: features that are missing, constant or far
from where they were, and people who look differently than before.

Sums only, in blocks of pages, as pages are learned from: part of the model's state, so that the log alone says when an
alert began and when it ended.

- **Features.** The first 200 pages say where a feature's values lie and on how many pages it varies. Then each block of
  50 pages is held against that. *Constant*: it used to vary on a fifth of the pages or more, and varies on none of the
  block. By chance that happens once in 70,000 blocks. *Shifted*: on most pages of the block every value lies beyond the
  range seen by more than its width. A block without an alert widens the range; one that lasts for 20 blocks is what is
  usual from then on. *Outlying*: a value more than a thousand deviations from all others.
- **Examination.** Swaps of neighbours tell how far people look (`rankloop.propensities.swaps`). In blocks of 1,000
  learned pages, the block's curve is held against that of all earlier ones: where their 99.9 % bands do not meet at
  some rank, people look differently. From then on the new curve is what is usual. A settled model swaps little, and
  bands from a handful of swaps say nothing; so a block goes on until it has ten clicks' worth of them, and deeper ranks
  are compared only as far as both curves have as much.
"""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.settings import ModelSettings
from rankloop.propensities.swaps import examination_of, pairs_of

Array = NDArray[np.float64]

REFERENCE = 200
"""Pages that say what is usual."""
BLOCK = 50
OFTEN = 0.2
"""A feature that varies on fewer pages may well not vary for a while."""
ACCEPTED = 20
"""Blocks after which something new is usual."""
LOOKS_BLOCK = 1_000
LEAST_SWAPPED = 10.0
"""Clicks at each of two neighbouring ranks, weighed by how likely the two were to stand the other way round."""
SURE = 0.999
ROWS = ("low", "high", "varied", "now_low", "now_high", "now_varied", "beyond", "zero", "outlying", "since")
REMEMBERED = 50
"""Alerts that are remembered after they have ended."""

Kind = str


class Period(msgspec.Struct):
    """Something that was wrong, from when to when (milliseconds since 1970; None: still)."""

    kind: Kind
    subject: str
    started: int
    ended: int | None = None


class KeptWatch(msgspec.Struct):
    """As states keep it."""

    pages: int
    features: bytes
    looks: bytes = b""
    reference: bytes = b""
    looked: int = 0
    periods: list[Period] = []


def is_watched(settings: ModelSettings) -> bool:
    """Whether a model's pages are watched: a challenger's are those of another model."""
    return settings.alerts and settings.challenges is None


class Watch:
    """Follows a model's pages. `periods` has what was found, the oldest first."""

    def __init__(self, names: tuple[str, ...], kept: KeptWatch | None = None) -> None:
        self._names = names
        self.pages = kept.pages if kept else 0
        self._sums: Array = np.zeros((len(ROWS), len(names)))
        if kept:
            self._sums[:] = np.frombuffer(kept.features).reshape(self._sums.shape)
        self._looks = np.frombuffer(kept.looks) if kept and kept.looks else None
        """The swaps' sums when the block began."""
        self._reference = np.frombuffer(kept.reference) if kept and kept.reference else None
        """Those of the blocks that were alike."""
        self._looked = kept.looked if kept else 0
        self.periods = list(kept.periods) if kept else []

    def kept(self) -> dict[str, Any]:
        """What a state keeps."""
        return {
            "pages": self.pages,
            "features": self._sums.tobytes(),
            "looks": self._looks.tobytes() if self._looks is not None else b"",
            "reference": self._reference.tobytes() if self._reference is not None else b"",
            "looked": self._looked,
            "periods": [msgspec.structs.asdict(period) for period in self.periods],
        }

    # Periods

    def open(self) -> list[Period]:
        """What is wrong now."""
        return [period for period in self.periods if period.ended is None]

    def begin(self, kind: Kind, at: int, subject: str = "") -> None:
        """Something is wrong from now on, unless that is known."""
        if not any((period.kind, period.subject) == (kind, subject) for period in self.open()):
            self.periods = [*self.periods, Period(kind, subject, at)]
            self._forget()

    def end(self, kind: Kind, at: int, subject: str | None = None) -> None:
        """It is no longer; without a subject, none of that kind."""
        self.periods = [
            msgspec.structs.replace(period, ended=at)
            if period.ended is None and period.kind == kind and subject in (None, period.subject)
            else period
            for period in self.periods
        ]

    def _forget(self) -> None:
        ended = [period for period in self.periods if period.ended is not None]
        doomed = ended[: max(0, len(ended) - REMEMBERED)]
        self.periods = [period for period in self.periods if period not in doomed]

    def _hold(self, kind: Kind, holds: NDArray[np.bool_], at: int) -> None:
        """Begin and end alerts of a kind about features: of those that hold, and of the others."""
        for place, name in enumerate(self._names):
            if holds[place]:
                self.begin(kind, at, name)
        for period in self.open():
            if period.kind == kind and not holds[self._names.index(period.subject)]:
                self.end(kind, at, period.subject)

    # Features

    def note_features(self, raw: NDArray[Any], outlying: list[int], at: int) -> None:
        """A page's candidates, as they were sent, and the features with a value that can only be a mistake."""
        low, high = raw.min(axis=0).astype(np.float64), raw.max(axis=0).astype(np.float64)
        sums = dict(zip(ROWS, self._sums, strict=True))
        if len(raw) > 1:
            sums["now_varied"] += high > low
        begins = self.pages % BLOCK == 0 if self.pages >= REFERENCE else self.pages == 0
        sums["now_low"][:] = low if begins else np.minimum(sums["now_low"], low)
        sums["now_high"][:] = high if begins else np.maximum(sums["now_high"], high)
        sums["zero"] += (low == 0.0) & (high == 0.0)
        sums["outlying"][outlying] += 1.0
        if self.pages >= REFERENCE:
            width = sums["high"] - sums["low"]
            sums["beyond"] += (width > 0) & ((high < sums["low"] - width) | (low > sums["high"] + width))
        self.pages += 1
        if self.pages == REFERENCE:
            self._take_for_usual(sums, np.ones(len(self._names), np.bool_))
            self._next_block(sums)
        elif self.pages > REFERENCE and self.pages % BLOCK == 0:
            self._judge(sums, at)
            self._next_block(sums)

    def _judge(self, sums: dict[str, Array], at: int) -> None:
        gone = (sums["varied"] >= OFTEN) & (sums["now_varied"] == 0)
        zero = gone & (sums["zero"] == BLOCK)
        shifted = (sums["beyond"] > BLOCK / 2) & ~zero
        self._hold("missing", zero, at)
        self._hold("constant", gone & ~zero, at)
        self._hold("shifted", shifted, at)
        self._hold("outlying", sums["outlying"] > 0, at)
        wrong = gone | shifted
        sums["since"][:] = np.where(wrong, sums["since"] + 1, 0.0)
        lasting = sums["since"] >= ACCEPTED
        self._take_for_usual(sums, lasting)
        usual = ~wrong
        sums["low"][usual] = np.minimum(sums["low"], sums["now_low"])[usual]
        sums["high"][usual] = np.maximum(sums["high"], sums["now_high"])[usual]

    def _take_for_usual(self, sums: dict[str, Array], which: NDArray[np.bool_]) -> None:
        pages = REFERENCE if self.pages == REFERENCE else BLOCK
        sums["low"][which], sums["high"][which] = sums["now_low"][which], sums["now_high"][which]
        sums["varied"][which] = sums["now_varied"][which] / pages
        sums["since"][which] = 0.0

    def _next_block(self, sums: dict[str, Array]) -> None:
        for name in ("now_varied", "beyond", "zero", "outlying"):
            sums[name][:] = 0.0

    # Examination

    def note_looks(self, moments: Array, at: int) -> None:
        """A page was added to the sums of swaps: at the end of a block, do people look as they did before?"""
        if self._looks is None:
            # Pages before this were counted without being watched.
            self._looks, self._looked = np.zeros(moments.size), 0
            self._looks[:] = moments.ravel()
        self._looked += 1
        if self._looked < LOOKS_BLOCK:
            return
        block = moments.ravel() - self._looks
        if not _comparable(block.reshape(moments.shape))[:1].all():
            return
        self._looks, self._looked = moments.ravel().copy(), 0
        if self._reference is None:
            self._reference = block
        elif _differ(block.reshape(moments.shape), self._reference.reshape(moments.shape)):
            self.begin("examination", at)
            self._reference = block
        else:
            self.end("examination", at)
            self._reference = self._reference + block


def _differ(block: Array, reference: Array) -> bool:
    """Whether two curves' bands do not meet at some rank that both know."""
    one, other = (examination_of(sums, SURE) for sums in (block, reference))
    known = np.concatenate([[True], _comparable(block) & _comparable(reference)])
    with np.errstate(invalid="ignore"):
        return bool(np.any(known & ((one.low > other.high) | (one.high < other.low))))


def _comparable(moments: Array) -> NDArray[np.bool_]:
    """Of each pair of neighbours, whether it and all above it were swapped often enough."""
    pairs = pairs_of(moments)
    least = np.minimum(moments[0, 1 : pairs + 1], moments[0, pairs + 1 :])
    return np.logical_and.accumulate(least >= LEAST_SWAPPED)
