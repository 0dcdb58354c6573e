"""The guard: where the learned order is worse than the incoming one, beyond chance, most people get the incoming one.

Clicks per page of the learned order are held against those of the control. The guard comes on when the 95 % confidence
sequence of their difference lies below zero. It holds at all times at once, so an order that is as good as the
incoming one is ever called worse with probability 2.5 % at most, however often one looks.

While the guard is on, a few people still see the learned order and the model learns from them, in trials of 200 pages.
After the first trial with at least as many clicks per page as the incoming order got meanwhile, the guard is off, and
the comparison begins anew.
"""

import math
from typing import NamedTuple

import msgspec

from rankloop.intervals import anytime_half_width, sample_variance
from rankloop.live.events import Group

LEAST = 50
"""Pages that each order must have had before anything is said about it."""
TRIAL = 200
"""Pages of the learned order in a trial."""


class Sums(NamedTuple):
    """Pages of one order, their clicks, and the squares of these."""

    pages: int = 0
    clicks: float = 0.0
    squares: float = 0.0

    def plus(self, clicks: float) -> "Sums":
        """One more page."""
        return Sums(self.pages + 1, self.clicks + clicks, self.squares + clicks * clicks)

    @property
    def mean(self) -> float:
        """Clicks per page."""
        return self.clicks / self.pages

    @property
    def variance(self) -> float:
        """Of the clicks on a page."""
        return sample_variance(*self)


class KeptGuard(msgspec.Struct):
    """A guard as states keep it."""

    on: bool
    since: int
    learned: Sums
    incoming: Sums


class Guard:
    """Compares since the place in the log where it last came on, went off or was told to begin anew."""

    def __init__(self, kept: KeptGuard | None = None) -> None:
        self.is_on = kept.on if kept else False
        self.since = kept.since if kept else 0
        self.learned = kept.learned if kept else Sums()
        self.incoming = kept.incoming if kept else Sums()

    def kept(self) -> dict[str, object]:
        """What a state keeps."""
        return {"on": self.is_on, "since": self.since, "learned": self.learned, "incoming": self.incoming}

    def note(self, group: Group, clicks: float, shown: int, offset: int) -> None:
        """A page was closed at this place in the log. One that was shown before the comparison began is not part of it:
        other shares of people saw the two orders then."""
        if shown <= self.since or group == Group.FALLBACK:
            return
        if group == Group.LEARNED:
            self.learned = self.learned.plus(clicks)
        else:
            self.incoming = self.incoming.plus(clicks)
        if min(self.learned.pages, self.incoming.pages) < LEAST:
            return
        if not self.is_on and is_worse(self.learned, self.incoming):
            self._turn(True, offset)
        elif self.is_on and self.learned.pages >= TRIAL:
            self._turn(self.learned.mean < self.incoming.mean, offset)

    def begin_anew(self, offset: int) -> None:
        """The model is another one from here on: nothing is known about its order."""
        self._turn(False, offset)

    def _turn(self, on: bool, offset: int) -> None:
        self.is_on, self.since, self.learned, self.incoming = on, offset, Sums(), Sums()


def is_worse(learned: Sums, incoming: Sums) -> bool:
    """Whether the learned order gets fewer clicks, beyond chance.

    Few control pages may all have the same clicks by chance: their variance is taken as no smaller than the others'.

    >>> is_worse(Sums(5_000, 2_000.0, 2_000.0), Sums(250, 150.0, 150.0))
    True
    >>> is_worse(Sums(500, 200.0, 200.0), Sums(25, 15.0, 15.0))
    False
    """
    one, other = learned.variance, max(learned.variance, incoming.variance)
    error = math.sqrt(one / learned.pages + other / incoming.pages)
    pages = learned.pages * incoming.pages / (learned.pages + incoming.pages)
    return learned.mean - incoming.mean < -anytime_half_width(error, pages)
