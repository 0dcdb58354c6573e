"""The guard: where the learned order is worse than the incoming one, beyond chance, most people get the incoming one.

Clicks per page of the learned order are held against those of the control. The guard comes on when the 95 % confidence
sequence of their difference lies below zero. It holds at all times at once, so an order that is as good as the
incoming one is ever called worse with probability 2.5 % at most, however often one looks.

The dashboard's verdict is this comparison too, in both directions.

Pages of one person are no independent observations: somebody who clicks a lot, and comes often, is in one group with
all of it. So variances are those between people. There may be millions of them; they are kept in 128 parts, each
person in one, which are as independent of each other as people are.

Nor may one person decide. Of a part's pages, and of its clicks, no more count than ten and three times what the others
have on average: somebody who comes a thousand times, or clicks on everything, counts as a few people do.

While the guard is on, a few people still see the learned order and the model learns from them, in trials of 200 pages.
After the first trial with at least as many clicks per page as the incoming order got meanwhile, the guard is off, and
the comparison begins anew.
"""

import math
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Group
from rankloop.statistics.intervals import anytime_confidence, anytime_half_width, ratio_interval, sample_variance
from rankloop.statistics.sequential import FEWEST as FEWEST
from rankloop.statistics.sequential import PARTS, limited, variance_between

LEAST = 50
"""Pages that each order must have had before anything is said about it."""
TRIAL = 200
"""Pages of the learned order in a trial."""
LEAST_EMPTY = 0.1
"""Share of the parts that must be empty for their people to be counted by it."""


class Sums(NamedTuple):
    """Pages of one order, their clicks, and the squares of these."""

    pages: int | float = 0
    clicks: float = 0.0
    squares: float = 0.0

    def plus(self, clicks: float) -> "Sums":
        """One more page."""
        return Sums(self.pages + 1, self.clicks + clicks, self.squares + clicks * clicks)

    def corrected(self, before: float, after: float) -> "Sums":
        """One of the pages has more clicks than were known."""
        return Sums(self.pages, self.clicks + after - before, self.squares + after * after - before * before)

    @property
    def mean(self) -> float:
        """Clicks per page."""
        return self.clicks / self.pages

    @property
    def variance(self) -> float:
        """Of the clicks on a page."""
        return sample_variance(*self)


class People:
    """Pages of one order, clicks on them and the squares of these, by part of the people: (3, parts)."""

    def __init__(self, kept: bytes = b"", parts: int = PARTS) -> None:
        self.sums: NDArray[np.float64] = np.zeros((3, parts))
        if kept:
            self.sums[:] = np.frombuffer(kept, np.float64).reshape(3, parts)

    @classmethod
    def of(cls, sums: NDArray[np.floating[Any]]) -> "People":
        """These sums, (3, parts)."""
        people = cls(parts=sums.shape[1])
        people.sums[:] = sums
        return people

    def note(self, part: int, clicks: float) -> None:
        """One more page."""
        self.sums[0, part] += 1.0
        self.sums[1, part] += clicks
        self.sums[2, part] += clicks * clicks

    def correct(self, part: int, before: float, after: float) -> None:
        """A page that was noted has more clicks than were known then."""
        self.sums[1, part] += after - before
        self.sums[2, part] += after * after - before * before

    @property
    def parts(self) -> int:
        """In which there is anybody."""
        return int(np.count_nonzero(self.sums[0]))

    @property
    def count(self) -> int | None:
        """About how many they are: as many as would leave so many parts empty. None: hundreds, or more."""
        parts = self.sums.shape[1]
        empty = 1 - self.parts / parts
        return round(-parts * math.log(empty)) if empty >= LEAST_EMPTY else None

    def counted(self) -> NDArray[np.float64]:
        """What counts of each part's pages, clicks and squares."""
        pages, clicks, squares = self.sums
        counted = limited(pages)
        share = counted / np.maximum(pages, 1.0)
        clicks = clicks * share
        kept = limited(clicks, self.parts)
        less = np.divide(kept, clicks, out=np.ones(len(pages)), where=clicks > 0)
        return np.array([counted, kept, squares * share * less * less])

    def totals(self) -> tuple[Sums, float]:
        """What counts, of all parts together, and the variance of its clicks per page: of a ratio of sums, if parts are
        independent of each other and pages in them are not."""
        counted = self.counted()
        return Sums(*counted.sum(axis=1).tolist()), variance_between(counted[1], counted[0])


class KeptGuard(msgspec.Struct):
    """A guard as states keep it."""

    on: bool
    since: int
    learned: Sums
    incoming: Sums
    learned_people: bytes = b""
    incoming_people: bytes = b""


class Guard:
    """Compares since the place in the log where it last came on, went off or was told to begin anew."""

    def __init__(self, kept: KeptGuard | None = None) -> None:
        self.is_on = kept.on if kept else False
        self.since = kept.since if kept else 0
        self.learned = kept.learned if kept else Sums()
        self.incoming = kept.incoming if kept else Sums()
        self.learned_people = People(kept.learned_people if kept else b"")
        self.incoming_people = People(kept.incoming_people if kept else b"")
        self.found: GroupComparison | None = None
        """What the newest page was decided by; None if it was not compared."""

    def kept(self) -> dict[str, object]:
        """What a state keeps."""
        return {
            "on": self.is_on,
            "since": self.since,
            "learned": self.learned,
            "incoming": self.incoming,
            "learned_people": self.learned_people.sums.tobytes(),
            "incoming_people": self.incoming_people.sums.tobytes(),
        }

    def note(self, group: Group, clicks: float, shown: int, offset: int, who: int) -> None:
        """Somebody's page was closed at this place in the log. One that was shown before the comparison began is not
        part of it: other shares of people saw the two orders then. `who` is any number that is theirs alone."""
        self.found = None
        if shown <= self.since or group in (Group.FALLBACK, Group.INTERLEAVED):
            return
        if group == Group.LEARNED:
            self.learned = self.learned.plus(clicks)
            self.learned_people.note(who % PARTS, clicks)
        else:
            self.incoming = self.incoming.plus(clicks)
            self.incoming_people.note(who % PARTS, clicks)
        self._decide(offset)

    def correct(self, group: Group, before: float, after: float, shown: int, offset: int, who: int) -> None:
        """A page that was closed earlier has more clicks than were known then: something came late."""
        self.found = None
        if shown <= self.since or group in (Group.FALLBACK, Group.INTERLEAVED):
            return
        if group == Group.LEARNED:
            self.learned = self.learned.corrected(before, after)
            self.learned_people.correct(who % PARTS, before, after)
        else:
            self.incoming = self.incoming.corrected(before, after)
            self.incoming_people.correct(who % PARTS, before, after)
        self._decide(offset)

    def _decide(self, offset: int) -> None:
        if min(self.learned.pages, self.incoming.pages) < LEAST:
            return
        people = self.learned_people, self.incoming_people
        if not self.is_on and min(known.parts for known in people) >= FEWEST:
            self.found = compared(self.learned, self.incoming, *people)
            if self.found.is_worse:
                self._turn(True, offset)
        elif self.is_on and self.learned.pages >= TRIAL:
            learned, incoming = (known.totals()[0] for known in people)
            self._turn(learned.mean < incoming.mean, offset)

    def begin_anew(self, offset: int) -> None:
        """The model is another one from here on: nothing is known about its order."""
        self.found = None
        self._turn(False, offset)

    def _turn(self, on: bool, offset: int) -> None:
        self.is_on, self.since, self.learned, self.incoming = on, offset, Sums(), Sums()
        self.learned_people, self.incoming_people = People(), People()


class GroupComparison(NamedTuple):
    """Clicks per page of both orders, the variances of these, and how many pages that were each of another's would say
    as much."""

    learned: float
    incoming: float
    learned_variance: float
    incoming_variance: float
    pages: float

    @property
    def _error(self) -> float:
        return math.sqrt(self.learned_variance + self.incoming_variance)

    @property
    def is_worse(self) -> bool:
        """Whether the learned order gets fewer clicks: the 95 % confidence sequence lies below zero."""
        return self.learned - self.incoming < -anytime_half_width(self._error, self.pages)

    @property
    def is_clear(self) -> bool:
        """Whether there is a difference: the sequence leaves out zero."""
        return abs(self.learned - self.incoming) > anytime_half_width(self._error, self.pages)

    @property
    def sure(self) -> float:
        """The confidence at which the sequence just does not hold zero: that there is a difference, at all times."""
        difference, error = abs(self.learned - self.incoming), self._error
        return anytime_confidence(difference / error, self.pages) if error > 0 else float(difference > 0)

    def ratio(self) -> tuple[float, float, float]:
        """learned / incoming, with its 95 % confidence sequence. 1 is outside exactly if one is 95 % sure."""
        errors = anytime_half_width(1.0, self.pages)
        low, high = ratio_interval(
            self.learned, self.incoming, self.learned_variance, self.incoming_variance, errors
        )  # fmt: skip
        return (self.learned / self.incoming if self.incoming else math.inf), low, high


def compared(learned: Sums, incoming: Sums, *people: People) -> GroupComparison:
    """The two orders; pages are of so many people, of whom none counts for much more than others do, or each of
    another's.

    Few control pages may all have the same clicks by chance: their variance is taken as no smaller than the others'.
    For the same reason that between people is taken as no smaller than that of pages which are each of another's; and,
    as a hash decides who is in control, people make it larger there by no smaller a factor than elsewhere. Otherwise
    a control group without eager people would have few clicks and look sure of it.
    """
    between: list[float] = []
    if people:
        (learned, one), (incoming, other) = (known.totals() for known in people)
        between = [one, other]
    single = learned.variance / learned.pages, max(learned.variance, incoming.variance) / incoming.pages
    variances = list(single)
    if between:
        variances = [max(pair) for pair in zip(single, between, strict=True)]
        if single[0] > 0:
            variances[1] = max(variances[1], variances[0] / single[0] * single[1])
    pages = learned.pages * incoming.pages / (learned.pages + incoming.pages)
    if sum(variances) > 0:
        pages *= sum(single) / sum(variances)
    return GroupComparison(learned.mean, incoming.mean, variances[0], variances[1], pages)


def is_worse(learned: Sums, incoming: Sums, *people: People) -> bool:
    """Whether the learned order gets fewer clicks, beyond chance; pages are of so many people, or each of another's.

    >>> is_worse(Sums(5_000, 2_000.0, 2_000.0), Sums(250, 150.0, 150.0))
    True
    >>> is_worse(Sums(500, 200.0, 200.0), Sums(25, 15.0, 15.0))
    False
    """
    if any(known.parts < FEWEST for known in people):
        return False
    found = compared(learned, incoming, *people)
    return found.learned < found.incoming and found.is_worse
