"""Answers of the last day, minute by minute: how quick they were and how many failed. Counted as they happen, in
buckets, so that a busy minute costs no more memory than a quiet one."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable

KEPT_MINUTES = 1440
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
BOUNDS = tuple(step * 10.0**power for power in (-4, -3, -2, -1, 0) for step in STEPS)
"""Upper bounds of the buckets in seconds: from a tenth of a millisecond to seven seconds, each at most two thirds more
than the one before, so a quantile read off them is off by less than that."""


class Answers:
    """How many answers fell into each bucket, and how many were refusals (4xx) or failures (5xx)."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.refused = 0
        self.failed = 0

    @property
    def count(self) -> int:
        """How many answers there were."""
        return sum(self.buckets)

    def add(self, other: "Answers") -> None:
        """Count another's as well."""
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.refused += other.refused
        self.failed += other.failed

    def quantile(self, share: float) -> float | None:
        """Seconds within which this share was answered, evenly spread within a bucket; None without answers.

        >>> answers = Answers()
        >>> answers.buckets[bisect_left(BOUNDS, 0.0025)] = 10
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
    """Answers by minute and endpoint."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minutes: dict[int, dict[str, Answers]] = {}

    def note(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one answer."""
        minute = int(self._clock() // 60)
        endpoints = self._minutes.get(minute)
        if endpoints is None:
            endpoints = self._minutes[minute] = {}
            if len(self._minutes) > KEPT_MINUTES:
                del self._minutes[next(iter(self._minutes))]
        answers = endpoints.get(endpoint)
        if answers is None:
            answers = endpoints[endpoint] = Answers()
        answers.buckets[bisect_left(BOUNDS, seconds)] += 1
        answers.refused += 400 <= status < 500
        answers.failed += status >= 500

    def minutes(self, since: int, endpoints: Iterable[str] | None = None) -> dict[int, Answers]:
        """Minute → its answers, of some endpoints or of all; minutes without answers are not there."""
        wanted = None if endpoints is None else set(endpoints)
        found: dict[int, Answers] = {}
        for minute, by_endpoint in self._minutes.items():
            for endpoint, answers in by_endpoint.items():
                if minute >= since and (wanted is None or endpoint in wanted):
                    found.setdefault(minute, Answers()).add(answers)
        return found

    def endpoints(self, since: int) -> dict[str, Answers]:
        """Endpoint → its answers since a minute."""
        found: dict[str, Answers] = {}
        for minute, by_endpoint in self._minutes.items():
            for endpoint, answers in by_endpoint.items():
                if minute >= since:
                    found.setdefault(endpoint, Answers()).add(answers)
        return found
