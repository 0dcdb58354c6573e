"""Where the learned order helps, and where it hurts: on frequent queries, in segments, on new queries and known ones.

Everything is added up as pages close, in bounded room, and is part of the model's state: it follows from the log, in
every bit, as weights do.

**Queries.** The most frequent ones are found by the space-saving sketch (Metwally and others, 2005): 128 counters. A
query without one takes the smallest and goes on from its count. So a count is never too small, it is too large by no
more than the count it took over, and that is at most 1/128 of all pages; a query with more than that is never missing.
The comparison of a query's pages begins when it gets its counter, which has nothing to do with its clicks.

**People.** What somebody searched for may be about them. A query's words are kept only once five different clients have
asked it; until then there is a keyed hash of it, and of each client. Segments are shown by the same rule.

**New queries.** Whether a query was asked before is remembered in two tables of 32,768 bits, three for each query; a
table that has 4,096 queries takes the place of the other. So a query is known if it is among the last 4,096 different
ones, and a new one is taken for known in 6 % of cases at most.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.naming import plain
from rankloop.live.acting import side_of
from rankloop.live.events import Impression
from rankloop.live.settings import ModelSettings

TRACKED = 128
"""Queries with a counter."""
SEGMENTS = 31
"""Segments with a cell of their own; the rest share one."""
CLIENTS = 5
"""Who must have asked before words are kept, or shown."""
PARTS = 16
"""Of all people, in each cell: fewer than the guard's, for there are many cells."""
LONGEST = 200
"""Characters of a query that are kept."""
BITS, FULL, HASHES = 32_768, 4_096, 3
NEW, KNOWN = 0, 1

Cells = NDArray[np.float32]
"""Pages of both orders, what they were worth and the squares of that, by part of the people: (cells, 2, 3, parts)."""


def cells(count: int, kept: bytes = b"") -> Cells:
    """So many cells."""
    made: Cells = np.zeros((count, 2, 3, PARTS), np.float32)
    if kept:
        filled = np.frombuffer(kept, np.float32).reshape(-1, 2, 3, PARTS)
        made[: len(filled)] = filled
    return made


class Seen(msgspec.Struct):
    """What evidence needs of a closed page: what was asked, in which segment, by whom, whose order it had (None: of
    neither), where it was shown and closed, and a number that is its client's alone."""

    query: str
    segment: str
    client: bytes
    side: int | None
    shown: int
    closed: int
    who: int

    @classmethod
    def of(cls, page: Impression, client: bytes, shown: int, closed: int, who: int) -> "Seen":
        """A page that was shown and closed at these places in the log."""
        return cls(page.query, page.segment, client, side_of(page.group), shown, closed, who)


def with_client(known: list[int], client: bytes) -> list[int]:
    """Fingerprints of clients with one more, up to so many as must have asked; somebody unknown is nobody."""
    one = int.from_bytes(client[:4], "little") + 1 if client else 0
    return known if not one or one in known or len(known) >= CLIENTS else [*known, one]


class KeptQueries(msgspec.Struct):
    """The counters, as states keep them: only those in use."""

    keys: list[bytes]
    texts: list[str]
    clients: list[list[int]]
    numbers: bytes
    sums: bytes


class Queries:
    """The space-saving sketch, with the comparison of each query that has a counter."""

    def __init__(self, kept: KeptQueries | None = None) -> None:
        self.keys: list[bytes] = list(kept.keys) if kept else []
        self.texts: list[str] = list(kept.texts) if kept else []
        """Empty until enough clients have asked."""
        self.clients: list[list[int]] = [list(one) for one in kept.clients] if kept else []
        self.numbers = np.zeros((3, TRACKED), np.int64)
        """How often each was asked at most, how much of that it took over, and where in the log it got its counter."""
        self.sums = cells(TRACKED, kept.sums if kept else b"")
        self._places = {key: place for place, key in enumerate(self.keys)}
        if kept:
            self.numbers[:, : len(self.keys)] = np.frombuffer(kept.numbers, np.int64).reshape(3, -1)

    def kept(self) -> KeptQueries:
        """What a state keeps."""
        used = len(self.keys)
        numbers, sums = self.numbers[:, :used], self.sums[:used]
        return KeptQueries(self.keys, self.texts, self.clients, numbers.tobytes(), sums.tobytes())

    def note(self, key: bytes, query: str, client: bytes, offset: int) -> int:
        """It was asked once more: the place of its counter."""
        place = self._places.get(key)
        if place is None:
            place = self._counter(key, offset)
        self.numbers[0, place] += 1
        if not self.texts[place]:
            self.clients[place] = with_client(self.clients[place], client)
            if len(self.clients[place]) >= CLIENTS:
                self.clients[place] = []
                self.texts[place] = query if len(query) <= LONGEST else f"{query[:LONGEST]}…"
        return place

    def _counter(self, key: bytes, offset: int) -> int:
        """A counter for a query that has none: a fresh one, or the smallest, which goes on from its count."""
        place = len(self.keys)
        if place < TRACKED:
            self.keys.append(key)
            self.texts.append("")
            self.clients.append([])
        else:
            place = int(self.numbers[0].argmin())
            del self._places[self.keys[place]]
            self.keys[place], self.texts[place], self.clients[place] = key, "", []
            self.sums[place] = 0.0
        self._places[key] = place
        self.numbers[1:, place] = self.numbers[0, place], offset
        return place

    def found(self, key: bytes, closed: int) -> int | None:
        """The place of a query's counter, if it had it when a page was closed."""
        place = self._places.get(key)
        return place if place is not None and self.numbers[2, place] <= closed else None


class KeptSegments(msgspec.Struct):
    """The segments, as states keep them."""

    names: list[str]
    clients: list[list[int]]
    pages: list[int]
    sums: bytes


class Segments:
    """The first 31 segments; all others are one."""

    def __init__(self, kept: KeptSegments | None = None) -> None:
        self.names: list[str] = list(kept.names) if kept else [""]
        """The first is of all that have no cell of their own."""
        self.clients: list[list[int]] = [list(one) for one in kept.clients] if kept else [[]]
        self.pages: list[int] = list(kept.pages) if kept else [0]
        self.sums = cells(1 + SEGMENTS, kept.sums if kept else b"")

    def kept(self) -> KeptSegments:
        """What a state keeps."""
        return KeptSegments(self.names, self.clients, self.pages, self.sums[: len(self.names)].tobytes())

    def note(self, name: str, client: bytes) -> int:
        """One more page of a segment: its cell."""
        place = self.place_of(name)
        if place == 0 and len(self.names) <= SEGMENTS:
            self.names.append(name)
            self.clients.append([])
            self.pages.append(0)
            place = len(self.names) - 1
        self.pages[place] += 1
        self.clients[place] = with_client(self.clients[place], client)
        return place

    def place_of(self, name: str) -> int:
        """Its cell."""
        return self.names.index(name) if name in self.names else 0

    def is_named(self, place: int) -> bool:
        """Whether enough clients are in it to show it by itself."""
        return place > 0 and len(self.clients[place]) >= CLIENTS


class Remembered:
    """Queries that were asked before, as bits in two tables; the older one gives way when the newer is full."""

    def __init__(self, bits: bytes = b"", count: int = 0) -> None:
        kept = bits or bytes(2 * BITS // 8)
        if len(kept) != 2 * BITS // 8:
            raise ValueError(f"{len(kept)} bytes of remembered queries")
        self.newer, self.older = bytearray(kept[: BITS // 8]), bytearray(kept[BITS // 8 :])
        self.count = count
        """Queries in the newer table."""

    def kept(self) -> bytes:
        """What a state keeps: both tables."""
        return bytes(self.newer + self.older)

    def note(self, key: bytes) -> bool:
        """It was asked: whether it had been before."""
        spread = blake2b(key, digest_size=2 * HASHES).digest()
        bits = [int.from_bytes(spread[place : place + 2], "little") % BITS for place in range(0, 2 * HASHES, 2)]
        lately = all(self.newer[bit >> 3] >> (bit & 7) & 1 for bit in bits)
        before = lately or all(self.older[bit >> 3] >> (bit & 7) & 1 for bit in bits)
        if not lately:
            if self.count == FULL:
                self.newer, self.older, self.count = bytearray(BITS // 8), self.newer, 0
            for bit in bits:
                self.newer[bit >> 3] |= 1 << (bit & 7)
            self.count += 1
        return before


class KeptEvidence(msgspec.Struct):
    """All of it, as states keep it."""

    since: int
    pages: int
    queries: KeptQueries
    segments: KeptSegments
    remembered: bytes
    remembered_count: int
    novelty: bytes


class Evidence:
    """Sums over closed pages, by query, segment and novelty."""

    def __init__(self, seed: int, kept: KeptEvidence | None = None) -> None:
        self._key = seed.to_bytes(8, "little")
        self.since = kept.since if kept else 0
        """Pages that were shown before this place in the log are not compared."""
        self.pages = kept.pages if kept else 0
        """With a query."""
        self.queries = Queries(kept.queries if kept else None)
        self.segments = Segments(kept.segments if kept else None)
        self.remembered = Remembered(*((kept.remembered, kept.remembered_count) if kept else ()))
        self.novelty = cells(2, kept.novelty if kept else b"")
        """Of new queries and of known ones. What comes late is not in it: a page does not say which it was."""

    @classmethod
    def of(cls, settings: ModelSettings, kept: KeptEvidence | None = None) -> "Evidence | None":
        """None for models that do without."""
        return cls(settings.seed or 0, kept) if settings.evidence else None

    def kept(self) -> KeptEvidence:
        """What a state keeps."""
        return KeptEvidence(
            self.since, self.pages, self.queries.kept(), self.segments.kept(), self.remembered.kept(),
            self.remembered.count, self.novelty.tobytes(),
        )  # fmt: skip

    def note(self, page: Seen, value: float) -> None:
        """A page was closed, and was worth so much."""
        touched: list[Cells] = []
        if page.segment:
            touched.append(self.segments.sums[self.segments.note(page.segment, page.client)])
        if query := plain(page.query):
            self.pages += 1
            key = self._hashed(query)
            touched.append(self.queries.sums[self.queries.note(key, query, page.client, page.closed)])
            touched.append(self.novelty[KNOWN if self.remembered.note(key) else NEW])
        if page.side is not None and page.shown > self.since:
            one = np.array((1.0, value, value * value), np.float32)
            for cell in touched:
                cell[page.side, :, page.who % PARTS] += one

    def correct(self, page: Seen, before: float, after: float) -> None:
        """A page that was closed earlier is worth more than was known then."""
        if page.side is None or page.shown <= self.since:
            return
        touched: list[Cells] = []
        if page.segment:
            touched.append(self.segments.sums[self.segments.place_of(page.segment)])
        if query := plain(page.query):
            place = self.queries.found(self._hashed(query), page.closed)
            touched += [] if place is None else [self.queries.sums[place]]
        more = np.array((0.0, after - before, after * after - before * before), np.float32)
        for cell in touched:
            cell[page.side, :, page.who % PARTS] += more

    def begin_anew(self, offset: int) -> None:
        """The learned order is another one from here on, or other people see it: compare anew. Counts stay."""
        self.since = offset
        for sums in (self.queries.sums, self.segments.sums, self.novelty):
            sums[:] = 0.0

    def _hashed(self, query: str) -> bytes:
        return blake2b(query.encode(), digest_size=8, key=self._key).digest()


def most_asked(queries: Queries) -> Sequence[int]:
    """Places of counters, the most frequent query first."""
    return list(np.argsort(-queries.numbers[0, : len(queries.keys)], kind="stable"))
