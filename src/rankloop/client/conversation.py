"""What a client and the service say to each other, free of how it travels: both clients play these conversations.

A conversation is a generator: it yields what to ask, is sent the reply, and returns what the caller gets. Rank and
clicks travel as MessagePack with the features as one block of float32, the fastest that the service reads.
"""

import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from rankloop.errors import RankloopError, SettingsError
from rankloop.live.answers import Clicked, Closed, Ranked
from rankloop.live.errors import RequestError
from rankloop.live.ranking import Request, incoming_order
from rankloop.live.requests import Candidate, ClickBody, CloseBody, Limits, RankBody

MSGPACK = "application/msgpack"
PATIENT = 35.0
"""Seconds for calls that wait for the learner, which the service itself gives up after 30."""
AT_ONCE = Limits().items
LOST = ("impression_invalid", "impression_expired", "model_deleted")
"""Why a report that was kept can have become worthless; every other refusal concerns the caller."""

Features = Sequence[float] | Mapping[str, float]
Clicks = Sequence[str] | Mapping[str, float]
Report = tuple[str | None, Clicks]
T = TypeVar("T")


class ServiceError(RankloopError):
    """The service cannot be reached or is in trouble, and what was asked has no answer without it."""


class RefusedError(RequestError):
    """A mistake of the caller's, as the service put it; `status` is HTTP's."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code, message)
        self.status = status


class Page(Ranked):
    """What to show.

    Attributes:
        impression: report clicks with it; None on a page that the service does not know.
        ranking: ids, best first.
        group: `learned`, `control`, or `fallback`: the incoming order, because the service is in trouble.
        version: of the model that ranked, the number of its updates; −1 if the service did not answer.
        rest: the other candidates, best first, if they were asked for.
        reason: why it is a fallback.
    """


class Ask(NamedTuple):
    """One request. `patient`: it may take as long as the learner does."""

    method: str
    path: str
    body: bytes | None = None
    patient: bool = False


class Reply(NamedTuple):
    """What came back: a status and a body, or the trouble that prevented it."""

    status: int = 0
    body: bytes = b""
    type: str = ""
    trouble: str = ""


Talk = Generator[Ask, Reply, T]


class Kept:
    """Reports that could not be delivered, at most so many: the oldest give way. Threads may share it."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._reports: deque[ClickBody] = deque()
        self._lock = threading.Lock()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._reports)

    def add(self, reports: Sequence[ClickBody]) -> None:
        """Keep these, as the newest."""
        with self._lock:
            self._reports.extend(reports)
            self._trim()

    def take(self, count: int) -> list[ClickBody]:
        """The oldest, to be sent or put back."""
        with self._lock:
            return [self._reports.popleft() for _ in range(min(count, len(self._reports)))]

    def put_back(self, reports: Sequence[ClickBody]) -> None:
        """They could not be sent: the oldest again."""
        with self._lock:
            self._reports.extendleft(reversed(reports))
            self._trim()

    def _trim(self) -> None:
        while len(self._reports) > self._room:
            self._reports.popleft()
            self.dropped += 1


class Conversation:
    """Everything that can be said to a service, and what a failure of it means."""

    def __init__(self, page_size: int, kept: int) -> None:
        self._page_size = page_size
        self.kept = Kept(kept)

    # Rank

    def rank(
        self,
        model: str,
        candidates: Mapping[str, Features] | Sequence[str],
        matrix: ArrayLike | None,
        query: str,
        client: str | None,
        size: int | None,
        pinned: Mapping[str, int] | None,
        rest: bool,
    ) -> Talk[Page]:
        """A page, from the service or, if it is in trouble, in the incoming order."""
        body = _rank_body(candidates, matrix, query, client, size, _pinned(pinned), rest)
        reply = yield Ask("POST", f"/v1/models/{quote(model, safe='')}/rank", _pack(body))
        page, trouble = _read(reply, Page)
        return page if page is not None else self._fallback(body, list(candidates), trouble)

    def _fallback(self, body: RankBody, ids: list[str], trouble: str) -> Page:
        """The incoming order. What is pinned keeps its place where it has one."""
        size = min(body.size or self._page_size, len(ids))
        ranks = {rank - 1: ids.index(name) for name, rank in body.pinned.items() if name in ids and rank <= size}
        pinned = {document: rank for rank, document in ranks.items()}
        shown = incoming_order(Request(body.query, b"", ids, np.zeros((len(ids), 0)), size, pinned))
        left = [name for place, name in enumerate(ids) if place not in set(shown)] if body.rest else None
        return Page(None, [ids[place] for place in shown], "fallback", -1, left, trouble)

    # Click and close

    def click(self, reports: Sequence[Report], close: bool) -> Talk[list[Clicked | None]]:
        """What became of each report; None where there was nothing to report to, or the service is in trouble."""
        bodies = [ClickBody(to, _clicks(clicks), close) if to is not None else None for to, clicks in reports]
        known = [body for body in bodies if body is not None]
        answers = iter((yield from self._deliver(known)) if known else [])
        return [next(answers, None) if body is not None else None for body in bodies]

    def close(self, impression: str | None, wait: bool) -> Talk[Closed | None]:
        """End an impression; None if it is not known whether that worked yet."""
        if impression is None:
            return None
        if (yield from self.flush()):
            reply = yield Ask(
                "POST", f"/v1/impressions/{quote(impression, safe='')}/close", _pack(CloseBody(wait)), patient=wait
            )
            closed, _ = _read(reply, Closed)
            if closed is not None:
                return closed
        self.kept.add([ClickBody(impression, [], close=True)])
        return None

    def flush(self) -> Talk[bool]:
        """Send what was kept, the oldest first; whether everything is delivered."""
        while reports := self.kept.take(AT_ONCE):
            try:
                delivered = yield from self._send_kept(reports)
            except BaseException:  # refused, interrupted or cancelled: they wait for better times
                self.kept.put_back(reports)
                raise
            if not delivered:
                self.kept.put_back(reports)
                return False
        return True

    def _send_kept(self, reports: list[ClickBody]) -> Talk[bool]:
        """A report that has become worthless is left out, by halving, so that it does not hold up the others."""
        try:
            return (yield from self._send(reports)) is not None
        except RequestError as error:
            if error.code not in LOST:
                raise
            if len(reports) == 1:
                self.kept.dropped += 1
                return True
        middle = len(reports) // 2
        return (yield from self._send_kept(reports[:middle])) and (yield from self._send_kept(reports[middle:]))

    def _deliver(self, reports: list[ClickBody]) -> Talk[list[Clicked]]:
        """The answers, or nothing if the service is in trouble: then they are kept, for the larger value counts however
        often it is sent."""
        answers: list[Clicked] = []
        healthy = yield from self.flush()
        for first in range(0, len(reports), AT_ONCE):
            sent = (yield from self._send(reports[first : first + AT_ONCE])) if healthy else None
            if sent is None:
                self.kept.add(reports[first:])
                break
            answers += sent
        return answers

    def _send(self, reports: list[ClickBody]) -> Talk[list[Clicked] | None]:
        reply = yield Ask("POST", "/v1/clicks", _pack({"reports": reports}))
        found, _ = _read(reply, dict[str, list[Clicked]])
        return None if found is None else found["results"]

    # Models

    def manage(self, method: str, path: str, content: Any = None) -> Talk[dict[str, Any]]:
        """Something that only the service can do: its trouble is an error here."""
        body = None if content is None else _pack(content)
        reply = yield Ask(method, f"/v1/models{path}", body, patient=True)
        found, trouble = _read(reply, dict[str, Any])
        if found is None:
            raise ServiceError(trouble)
        return found


_pack = msgspec.msgpack.Encoder().encode


def _rank_body(
    candidates: Mapping[str, Features] | Sequence[str],
    matrix: ArrayLike | None,
    query: str,
    client: str | None,
    size: int | None,
    pinned: dict[str, int],
    rest: bool,
) -> RankBody:
    body = RankBody(query=query, client=client, size=size, pinned=pinned, rest=rest)
    if matrix is None:
        if not isinstance(candidates, Mapping):
            raise SettingsError("rank: send candidates as {id: features}, or their ids with a matrix")
        body.candidates = [Candidate(name, _features(name, features)) for name, features in candidates.items()]
        return body
    try:
        with np.errstate(over="ignore"):  # the service has a sentence for what float32 cannot hold
            X = np.asarray(matrix, dtype="<f4")
    except (TypeError, ValueError):
        raise SettingsError("rank: the matrix must hold numbers, in rows of equal length") from None
    if X.ndim != 2 or len(X) != len(candidates):
        raise SettingsError(f"rank: the matrix needs one row for each of {len(candidates)} ids; got shape {X.shape}")
    body.ids, body.matrix = list(candidates), X.tobytes()
    return body


def _features(document: str, features: Features) -> list[float] | dict[str, float]:
    try:
        if isinstance(features, Mapping):
            return {name: float(value) for name, value in features.items()}
        return [float(value) for value in features]
    except (TypeError, ValueError):
        raise SettingsError(
            f"rank: features of {document!r} must be numbers, as a list or by name; got {features!r}"
        ) from None


def _clicks(clicks: Clicks) -> list[str] | dict[str, float]:
    try:
        if isinstance(clicks, Mapping):
            return {name: float(value) for name, value in clicks.items()}
        if not isinstance(clicks, str):
            return list(clicks)
    except (TypeError, ValueError):
        pass
    raise SettingsError(f"click: send a list of ids, or how much each is worth; got {clicks!r}")


def _pinned(pinned: Mapping[str, int] | None) -> dict[str, int]:
    given = dict(pinned or {})
    if not all(isinstance(rank, int) for rank in given.values()):
        raise SettingsError(f"rank: pinned must be id → rank, ranks from 1; got {given!r}")
    return given


def _read(reply: Reply, kind: type[T]) -> tuple[T | None, str]:
    """(what was answered, "") or (None, the service's trouble). A mistake of the caller's is raised."""
    if reply.trouble:
        return None, reply.trouble
    if 400 <= reply.status < 500 and reply.status not in (408, 429):
        raise RefusedError(reply.status, *_told(reply))
    if not 200 <= reply.status < 300:
        return None, f"HTTP {reply.status}: {_told(reply)[1]}"
    decode: Any = msgspec.msgpack.decode if reply.type.startswith(MSGPACK) else msgspec.json.decode
    try:
        return decode(reply.body, type=kind), ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None, "what answered is not a rankloop service, or another version of it"


def _told(reply: Reply) -> tuple[str, str]:
    """(code, message) of an error; a proxy on the way may have its own words."""
    try:
        error = msgspec.json.decode(reply.body, type=dict[str, dict[str, str]])["error"]
        return error["code"], error["message"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        return "refused", f"the answer, HTTP {reply.status}, does not come from a rankloop service"
