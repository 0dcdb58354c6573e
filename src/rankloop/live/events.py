"""What the log holds. An event is a fact with a place in the one order that everything else is computed from.

Bodies are MessagePack arrays. Features are kept as the raw bytes of the model's precision, and a page is drawn from
exactly those bytes: what was ranked is what is stored.
"""

import time
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

PRECISIONS: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}


class Kind(IntEnum):
    """Kinds of events. Numbers are part of the stored format and never reused."""

    CREATED = 1
    SHOWN = 2
    CLICKED = 3
    CLOSED = 4
    PAUSED = 5
    RESUMED = 6
    FROZEN = 7
    ROLLED_BACK = 8
    SCALING_FROZEN = 9
    DELETED = 10
    ERASED = 11
    """What a person asked to be forgotten: only its place is left, so that a gap can never pass for it."""
    REFOLDED = 12
    """The weights were computed anew from what is left in the log: like a roll back, to a state that never was."""
    EXPERIMENT_STARTED = 13
    EXPERIMENT_STOPPED = 14
    PROMOTED = 15
    """A challenger's settings and state take the place of the model's own."""
    LATE = 20
    """Something happened on a page after it was closed, and counts all the same."""


EXPERIMENTS = (Kind.EXPERIMENT_STARTED, Kind.EXPERIMENT_STOPPED)

CONTROLS = (Kind.PAUSED, Kind.RESUMED, Kind.FROZEN, Kind.ROLLED_BACK, Kind.SCALING_FROZEN, *EXPERIMENTS)
"""What a person decided about a model."""

FOLDED = (Kind.CLOSED, *CONTROLS, Kind.REFOLDED, Kind.PROMOTED, Kind.LATE)
"""What changes a model's state when the log is folded."""

ENDED = (Kind.CLOSED, Kind.LATE)
"""What says how much was made of a page: its closing, and what came late, the newest last."""


class Group(IntEnum):
    """Who ordered a page."""

    LEARNED = 0
    CONTROL = 1
    FALLBACK = 2
    GUARDED = 3
    """The incoming order, because the learned one is worse."""
    INTERLEAVED = 4
    """Several orders, by turns, to compare them."""


class Event(NamedTuple):
    """One row of the log."""

    offset: int
    model: int
    kind: int
    number: int
    """The impression's number within its model; 0 for events that are about no impression."""
    at: int
    """Milliseconds since 1970."""
    client: bytes
    """A keyed hash of who it was; empty if unknown. Of what was decided: the name of the API key, if one was used."""
    body: bytes


class Impression(msgspec.Struct, frozen=True, array_like=True):
    """A page as it was shown, with all that is needed to learn from it and to judge the policy that drew it."""

    query: str
    candidates: list[str]
    features: bytes
    """(candidates, features) in the model's precision, as the caller sent them: before scaling."""
    scores: bytes
    """float32, one per candidate: what drew the page."""
    page: list[int]
    """Indices into the candidates, best first."""
    pinned: list[int]
    """The ranks (from 0) that the caller had fixed."""
    notes: bytes
    """float32, (free ranks, note width): what the method must remember."""
    group: int
    version: int
    log_probability: float | None
    """log π(page), given what was pinned; None where the method's policy has no tractable one."""
    displacement: float
    """Mean over shown documents of |rank shown − rank without exploration|."""
    greedy: bool = False
    """Shown by a frozen model, without exploration: nothing can be learned from what was not drawn."""
    network: bytes = b""
    """A keyed hash of where it came from; empty if unknown."""
    experiment: int = 0
    """Of an interleaved page: where in the log its experiment was started."""
    teams: list[int] = []
    """And, for each rank, the arm that placed its document; −1 where it was everybody's."""
    segment: str = ""
    """Of which kind the request was, in its sender's words."""
    reign: int = 0
    """Whose settings drew it: where in the log a challenger was promoted; 0: those that the model was made with."""
    titles: dict[str, str] = {}
    """What people read, by id, where it was sent."""

    def matrix(self, precision: str) -> NDArray[Any]:
        """(candidates, features), as stored."""
        return np.frombuffer(self.features, PRECISIONS[precision]).reshape(len(self.candidates), -1)

    def score_values(self) -> NDArray[np.float32]:
        """(candidates,), the scores that the page was drawn by."""
        return np.frombuffer(self.scores, "<f4")

    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """What was not pinned: ranks, candidates, and the documents at those ranks as places among those candidates."""
        page = np.array(self.page, np.int64)
        ranks = np.setdiff1d(np.arange(len(page)), self.pinned)
        free = np.setdiff1d(np.arange(len(self.candidates)), page[self.pinned])
        return ranks, free, np.searchsorted(free, page[ranks])

    def shown(self) -> list[str]:
        """The documents on the page, best first."""
        return [self.candidates[document] for document in self.page]


class Clicks(msgspec.Struct, frozen=True, array_like=True):
    """Ranks (from 0) and how much each was clicked, in [0, 1]. `late`: the impression was closed already.

    `actions` says what happened to each, by its place among the model's actions; without it they were clicks.
    """

    ranks: list[int]
    values: list[float]
    late: bool = False
    actions: list[int] = []


class Closing(msgspec.Struct, frozen=True, array_like=True):
    """The end of an impression: where it was shown, and what came back in all."""

    shown: int
    """Offset of the impression's own event."""
    clicks: list[float]
    """One value per rank."""
    why: str
    """`asked`, `window` or `void` (the caller never got the page, so nothing is learned)."""
    actions: list[int] = []
    """And, for each rank, what happened: the sum of 2^place of each action; empty where a click is all there is."""


class Late(msgspec.Struct, frozen=True, array_like=True):
    """More of a page that was closed: where it was shown and closed, and what there was per rank before and after."""

    shown: int
    closed: int
    before: list[float]
    clicks: list[float]
    actions_before: list[int]
    actions: list[int]


class Restored(msgspec.Struct, frozen=True, array_like=True):
    """A roll back or a refold: the whole state to go on from, so that folding needs nothing but the log."""

    version: int
    state: bytes
    offset: int = -1
    """Where in the log that state was the newest; −1: not known."""
    with_influence: bool = False
    """Of a refold: whether to go on from its counts of who taught how often, too; those of earlier versions did not."""


class ExperimentStarted(msgspec.Struct, frozen=True, array_like=True):
    """Orders to compare: their names, the models they are of (0: the incoming order), and the share of people."""

    arms: list[str]
    models: list[int]
    share: float


class Promoted(msgspec.Struct, frozen=True, array_like=True):
    """A challenger that takes the place of the model: its number, its settings (JSON) and its whole state."""

    model: int
    settings: bytes
    state: bytes
    version: int
    offset: int
    """Where in the log that state was the newest."""


def now() -> int:
    """The time of an event that happens now: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


encode = msgspec.msgpack.Encoder().encode
_decoders: dict[Kind, msgspec.msgpack.Decoder[Any]] = {
    Kind.SHOWN: msgspec.msgpack.Decoder(Impression),
    Kind.CLICKED: msgspec.msgpack.Decoder(Clicks),
    Kind.CLOSED: msgspec.msgpack.Decoder(Closing),
    Kind.ROLLED_BACK: msgspec.msgpack.Decoder(Restored),
    Kind.REFOLDED: msgspec.msgpack.Decoder(Restored),
    Kind.LATE: msgspec.msgpack.Decoder(Late),
    Kind.EXPERIMENT_STARTED: msgspec.msgpack.Decoder(ExperimentStarted),
    Kind.PROMOTED: msgspec.msgpack.Decoder(Promoted),
}


def decode(kind: int, body: bytes) -> Any:
    """The body of an event of this kind; events that say it all by their kind have none."""
    decoder = _decoders.get(Kind(kind))
    return decoder.decode(body) if decoder else None
