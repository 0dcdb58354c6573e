"""Is every event the one that was written? Each has a digest, which is held against what it says now."""

from collections.abc import Iterator, Mapping

from rankloop.live.events import Event, Kind
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.digests import Digests, digests_of, parts_changed

BODIES = {Kind.SHOWN: "the page of", Kind.CLICKED: "a report of clicks on", Kind.CLOSED: "the closing of"}


def each_with_digest(store: Reader, at_once: int) -> Iterator[tuple[Event, bytes | None]]:
    """All events of a log, with their digests, read so many at a time."""
    after = 0
    while rows := store.with_digests(after, at_once):
        yield from rows
        after = rows[-1][0].offset


class Unchanged:
    """Follows a log from its first event; `problems` are sentences."""

    def __init__(self, store: Reader, models: Mapping[int, str]) -> None:
        self.problems: list[str] = []
        self.unchecked = 0
        """Events that were written before there were digests."""
        self._models = models
        self._digests = self._read(store)

    def _read(self, store: Reader) -> Digests | None:
        try:
            return digests_of(store)
        except ValueError:
            return None

    def take(self, event: Event, digest: bytes | None) -> None:
        """Check one event."""
        if digest is not None and self._digests is None:
            self._without_key()
        elif digest is not None and self._digests is not None:
            self._check(event, digest, self._digests.of(event))
        elif self._digests is not None and event.offset >= self._digests.since:
            self._wrong(event, "it has no digest, though events before it have: it was not written by rankloop")
        else:
            self.unchecked += 1

    def _without_key(self) -> None:
        said = "the key of the events' digests is not in the log, so that none of them can be checked"
        self.unchecked += 1
        if said not in self.problems:
            self.problems.append(said)

    def _check(self, event: Event, digest: bytes, expected: bytes) -> None:
        head, body = parts_changed(digest, expected)
        if (head or body) and event.kind == Kind.ERASED:
            self._wrong(event, "it was blanked, but not by erasing somebody")
        elif head and body:
            self._wrong(event, "it is another event than was written there")
        elif head:
            self._wrong(event, "its place, kind, impression, time or client is not what was written")
        elif body:
            self._wrong(event, f"{self._named(event)} is not what was written")

    def _named(self, event: Event) -> str:
        model = self._models.get(event.model, f"model {event.model}")
        if event.kind in BODIES:
            return f"{BODIES[Kind(event.kind)]} impression {event.number} of {model}"
        return f"what it says of {model}"

    def _wrong(self, event: Event, why: str) -> None:
        self.problems.append(f"event {event.offset}: {why}")
