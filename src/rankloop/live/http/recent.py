"""How quick answers were and how many failed: since the start, and minute by minute over the last day. Counted as they
happen, in buckets, so that a busy minute costs no more memory than a quiet one."""

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

KEPT_MINUTES = 1440
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
BOUNDS = tuple(step * 10.0**power for power in (-4, -3, -2, -1, 0) for step in STEPS)
"""Upper bounds of the buckets in seconds: from a tenth of a millisecond to seven seconds, each at most two thirds more
than the one before, so a quantile read off them is off by less than that."""


class Answers:
    """How many answers fell into each bucket, how many had each status, and how long they took together."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.statuses: Counter[int] = Counter()
        self.seconds = 0.0

    @property
    def count(self) -> int:
        """How many answers there were."""
        return sum(self.buckets)

    @property
    def refused(self) -> int:
        """How many were refusals (4xx)."""
        return sum(count for status, count in self.statuses.items() if 400 <= status < 500)

    @property
    def failed(self) -> int:
        """How many were failures (5xx)."""
        return sum(count for status, count in self.statuses.items() if status >= 500)

    def note(self, status: int, seconds: float) -> None:
        """Count one answer."""
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.statuses[status] += 1
        self.seconds += seconds

    def add(self, other: "Answers") -> None:
        """Count another's as well."""
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.statuses += other.statuses
        self.seconds += other.seconds

    def within(self, bound: float) -> int:
        """How many took no longer than one of the bounds."""
        return sum(self.buckets[: BOUNDS.index(bound) + 1])

    def quantile(self, share: float) -> float | None:
        """Seconds within which this share was answered, evenly spread within a bucket; None without answers.

        >>> answers = Answers()
        >>> for _ in range(10):
        ...     answers.note(200, 0.0025)
        >>> answers.quantile(0.5)
        0.0025
        """
        wanted, before = share * self.count, 0
        for place, count in enumerate(self.buckets):
            if count and before + count >= wanted:
                low = BOUNDS[place - 1] if place else 0.0
                high = BOUNDS[min(place, len(BOUNDS) - 1)]
                return low + (high - low) * (wanted - before) / count
            before += count
        return None


class Recent:
    """Answers by endpoint, and by minute and endpoint."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minutes: dict[int, dict[str, Answers]] = {}
        self.since_start: dict[str, Answers] = defaultdict(Answers)

    def note(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one answer."""
        minute = int(self._clock() // 60)
        if minute not in self._minutes:
            self._minutes[minute] = defaultdict(Answers)
            if len(self._minutes) > KEPT_MINUTES:
                del self._minutes[next(iter(self._minutes))]
        for endpoints in (self.since_start, self._minutes[minute]):
            endpoints[endpoint].note(status, seconds)

    def minutes(self, since: int, endpoints: Iterable[str] | None = None) -> dict[int, Answers]:
        """Minute → its answers, of some endpoints or of all; minutes without answers are not there."""
        wanted = None if endpoints is None else set(endpoints)
        summed: dict[int, Answers] = {}
        for minute, endpoint, answers in self._since(since):
            if wanted is None or endpoint in wanted:
                summed.setdefault(minute, Answers()).add(answers)
        return summed

    def endpoints(self, since: int) -> dict[str, Answers]:
        """Endpoint → its answers since a minute."""
        summed: dict[str, Answers] = {}
        for _, endpoint, answers in self._since(since):
            summed.setdefault(endpoint, Answers()).add(answers)
        return summed

    def _since(self, first: int) -> Iterator[tuple[int, str, Answers]]:
        for minute, endpoints in self._minutes.items():
            if minute >= first:
                yield from ((minute, endpoint, answers) for endpoint, answers in endpoints.items())
