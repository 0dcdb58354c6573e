"""How much a page counts: nobody teaches a model much more than a share of what everybody else taught it.

A client's n-th page counts

    min(1, B/2n)²,        B = pages + share · (pages learned from others)

with 20 pages and a share of .01 unless a model says otherwise. The first B/2 count in full, and all that follow add up
to no more than as many again: a client never counts for more than B pages, however often they come. A page that would
count for less than a hundredth is not learned from at all: it is `capped`.

Where a page also comes with a network (an address group, a data centre: whatever a caller can tell), its pages are
bounded alike, and a page counts for the lesser of the two.

Pages without a client's name may be anybody's. They have one such budget together, beside what the named ones taught;
where names are never given there is nothing to go by, and every page counts.

There may be millions of clients. Each is counted in two of 2 × 2,048 parts, by a hash, and the emptier one tells: the
clients who share it add 1/2,048 of all pages, far less than a share of .01. No hash of anybody is kept.
"""

from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.settings import Guards

PARTS = 2_048
LEAST = 0.01
"""What counts for less is not worth learning from."""


class KeptInfluence(msgspec.Struct):
    """The counts, as states keep them."""

    counts: bytes
    pages: int
    named: int
    unnamed: int


class Influence:
    """How many pages were learned from each client and network, in parts; in all, and with and without a name."""

    def __init__(self, kept: KeptInfluence | None = None) -> None:
        self.counts: NDArray[np.uint32] = np.zeros((2, PARTS), np.uint32)
        self.pages = self.named = self.unnamed = 0
        """The unnamed are counted from when it is known that there are names."""
        if kept is not None:
            self.counts[:] = np.frombuffer(kept.counts, np.uint32).reshape(2, PARTS)
            self.pages, self.named, self.unnamed = kept.pages, kept.named, kept.unnamed

    def kept(self) -> dict[str, object]:
        """What a state keeps."""
        return {
            "counts": self.counts.tobytes(), "pages": self.pages, "named": self.named, "unnamed": self.unnamed,
        }  # fmt: skip

    def weight(self, client: bytes, guards: Guards, network: bytes = b"") -> float:
        """What one more page of a client's, from a network, counts: from 0 to 1."""
        if guards.client_pages == 0:
            return 1.0
        weights = [self._share_of(who, guards) for who in (client, network) if who]
        if not client and self.is_given_names(guards):
            weights.append(_bounded(guards.client_pages + guards.anonymous_share * self.named, self.unnamed + 1))
        return min(weights, default=1.0)

    def note(self, client: bytes, guards: Guards, network: bytes = b"") -> None:
        """One more page of theirs was learned from."""
        self.pages += 1
        if client:
            self.named += 1
        elif self.is_given_names(guards):
            self.unnamed += 1
        for who in (client, network):
            for row, part in enumerate(parts_of(who) if who else ()):
                self.counts[row, part] += 1

    def is_given_names(self, guards: Guards) -> bool:
        """Whether clients have names; a few pages may have been somebody's test."""
        return self.named >= guards.client_pages

    def _share_of(self, who: bytes, guards: Guards) -> float:
        count = min(int(self.counts[row, part]) for row, part in enumerate(parts_of(who))) + 1
        return _bounded(guards.client_pages + guards.client_share * (self.pages + 1 - count), count)


def _bounded(budget: float, count: int) -> float:
    """What somebody's n-th page counts."""
    weight = min(1.0, budget / (2 * count)) ** 2
    return weight if weight >= LEAST else 0.0


def parts_of(client: bytes, parts: int = PARTS) -> tuple[int, int]:
    """Where a client is counted: two halves of a hash, each a place of its own. Of a hash, since bytes that merely
    count people would put them all in one part."""
    hashed = blake2b(client, digest_size=8).digest()
    return int.from_bytes(hashed[:4], "little") % parts, int.from_bytes(hashed[4:], "little") % parts
