"""A digest of every event, written with it in the same transaction: what is changed in a log afterwards is found.

Half of it is of the event's head (its place in the log, model, kind, impression, time and client), half of its body,
at that place: so it is known which of them was changed, and that two events were swapped. The key is the log's own,
kept among its facts: digests say nothing to whoever does not have the log, and whoever has it could make new ones.
They show accidents, and rows that somebody edited; they do not stop a forger.
"""

import secrets
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple, Protocol

from rankloop.live.events import Event

DIGESTS = "digests"
"""The fact that holds where digests begin, and their key."""
HALF = 8
HEAD = Struct("<5q")
PLACE = Struct("<q")


class Digests(NamedTuple):
    """How the digests of a log are made."""

    since: int
    """The first event that has one: the log may be older than digests are."""
    key: bytes

    def of(self, event: Event) -> bytes:
        """The digest of an event."""
        offset, model, kind, number, at, client, body = event
        head = HEAD.pack(offset, model, kind, number, at) + client
        return (
            blake2b(head, digest_size=HALF, key=self.key).digest()
            + blake2b(body, digest_size=HALF, key=self.key, salt=PLACE.pack(offset)).digest()
        )

    def fact(self) -> str:
        """As it is kept."""
        return f"{self.since} {self.key.hex()}"


class _Facts(Protocol):
    def fact(self, name: str) -> str | None: ...


def digests_of(store: _Facts) -> Digests | None:
    """How a log's digests are made; None if it has none yet."""
    kept = store.fact(DIGESTS)
    return None if kept is None else read_digests(kept)


def read_digests(fact: str) -> Digests:
    """What was kept.

    >>> read_digests("7 00ff")
    Digests(since=7, key=b'\\x00\\xff')
    """
    since, _, key = fact.partition(" ")
    return Digests(int(since), bytes.fromhex(key))


def new_digests(since: int) -> Digests:
    """Digests from this place on, with a key that nobody else has."""
    return Digests(since, secrets.token_bytes(16))


def parts_changed(digest: bytes, expected: bytes) -> tuple[bool, bool]:
    """Whether an event's head, and whether its body, are not those that a digest was made of."""
    return digest[:HALF] != expected[:HALF], digest[HALF:] != expected[HALF:]
