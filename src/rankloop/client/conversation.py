"""What a client and the service say to each other, free of how it travels: both clients play these conversations.

A conversation is a generator: it yields what to ask, is sent the reply, and returns what the caller gets. Rank and
clicks travel as MessagePack with the features as one block of float32, the fastest that the service reads.

Nothing of the service is imported here: what an application installs is this room, `answers`, `errors` and
`settings`.
"""

import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from rankloop.answers import Clicked, Closed, Page
from rankloop.errors import RankloopError, SettingsError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MSGPACK = "application/msgpack"
PATIENT = 130.0
"""Seconds for calls that wait for the learner, which the service gives up after 30, or for a compiler, after 120."""
AT_ONCE = 1_000
"""Reports in one request: as many as the service takes."""
LOST = ("impression_invalid", "impression_expired", "model_deleted")
"""Why a report that was kept can have become worthless; every other refusal concerns the caller."""

Features = Sequence[float] | Mapping[str, float]
Candidates = Mapping[str, Features] | Sequence[str]
Clicks = Sequence[str] | Mapping[str, float]
Report = tuple[str | None, Clicks]
"""(impression, clicks): one entry of `click_many`."""
Actions = Mapping[str, str | Sequence[str]]
"""{id: what happened to it}, one action or several."""
T = TypeVar("T")


class ServiceError(RankloopError):
    """The service cannot be reached or is in trouble, and what was asked has no answer without it."""


class RefusedError(RankloopError):
    """A mistake of the caller's, as the service put it: `code` is for machines, `status` is HTTP's."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Delivery(msgspec.Struct, omit_defaults=True):
    """A report as it travels: what was clicked on a page, and whether nothing more will come."""

    impression: str
    clicks: list[str] | dict[str, float]
    close: bool = False
    actions: list[dict[str, str]] = []


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
"""A conversation that ends with a `T`."""


class Kept:
    """Reports that could not be delivered, at most so many: the oldest give way. Threads may share it."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._reports: deque[Delivery] = deque()
        self._lock = threading.Lock()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._reports)

    def add(self, reports: Sequence[Delivery]) -> None:
        """Keep these, as the newest."""
        with self._lock:
            self._reports.extend(reports)
            self._trim()

    def take(self, count: int) -> list[Delivery]:
        """The oldest, to be sent or put back."""
        with self._lock:
            return [self._reports.popleft() for _ in range(min(count, len(self._reports)))]

    def put_back(self, reports: Sequence[Delivery]) -> None:
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

    def rank(self, model: str, body: dict[str, Any], ids: list[str]) -> Talk[Page]:
        """A page, from the service or, if it is in trouble, in the incoming order."""
        reply = yield Ask("POST", f"/v1/models/{quote(model, safe='')}/rank", _pack(body))
        page, trouble = _read(reply, Page)
        return page if page is not None else self._fallback(body, ids, trouble)

    def _fallback(self, body: dict[str, Any], ids: list[str], trouble: str) -> Page:
        """The incoming order. What is pinned keeps its place where it has one."""
        size = min(body["size"] or self._page_size, len(ids))
        pinned = {
            rank - 1: ids.index(name) for name, rank in body["pinned"].items() if name in ids and 0 < rank <= size
        }
        others = (place for place in range(len(ids)) if place not in pinned.values())
        shown = [pinned[rank] if rank in pinned else next(others) for rank in range(size)]
        rest = [name for place, name in enumerate(ids) if place not in set(shown)] if body["rest"] else None
        return Page(None, [ids[place] for place in shown], "fallback", -1, rest, trouble)

    def click(self, reports: Sequence[Report], close: bool) -> Talk[list[Clicked | None]]:
        """What became of each report; None where there was nothing to report to, or the service is in trouble."""
        bodies = [Delivery(to, _clicks(clicks), close) if to is not None else None for to, clicks in reports]
        known = [body for body in bodies if body is not None]
        answers = iter((yield from self._deliver(known)) if known else [])
        return [next(answers, None) if body is not None else None for body in bodies]

    def act(self, impression: str | None, actions: Actions, close: bool) -> Talk[Clicked | None]:
        """What became of a report of actions; None as for clicks."""
        if impression is None:
            return None
        delivery = Delivery(impression, [], close, _actions(actions))
        return next(iter((yield from self._deliver([delivery]))), None)

    def close(self, impression: str | None, wait: bool) -> Talk[Closed | None]:
        """End an impression; None if it is not known whether that worked yet."""
        if impression is None:
            return None
        if (yield from self.flush()):
            reply = yield Ask(
                "POST", f"/v1/impressions/{quote(impression, safe='')}/close", _pack({"wait": wait}), patient=wait
            )
            closed, _ = _read(reply, Closed)
            if closed is not None:
                return closed
        self.kept.add([Delivery(impression, [], close=True)])
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

    def _send_kept(self, reports: list[Delivery]) -> Talk[bool]:
        """A report that has become worthless is left out, by halving, so that it does not hold up the others."""
        try:
            return (yield from self._send(reports)) is not None
        except RefusedError as error:
            if error.code not in LOST:
                raise
            if len(reports) == 1:
                self.kept.dropped += 1
                return True
        middle = len(reports) // 2
        return (yield from self._send_kept(reports[:middle])) and (yield from self._send_kept(reports[middle:]))

    def _deliver(self, reports: list[Delivery]) -> Talk[list[Clicked]]:
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

    def _send(self, reports: list[Delivery]) -> Talk[list[Clicked] | None]:
        reply = yield Ask("POST", "/v1/clicks", _pack({"reports": reports}))
        answer, _ = _read(reply, dict[str, list[Clicked]])
        return None if answer is None else answer["results"]

    def manage(self, method: str, path: str, content: Any = None) -> Talk[dict[str, Any]]:
        """Something that only the service can do: its trouble is an error here."""
        body = None if content is None else _pack(content)
        reply = yield Ask(method, f"/v1/models{path}", body, patient=True)
        answer, trouble = _read(reply, dict[str, Any])
        if answer is None:
            raise ServiceError(trouble)
        return answer


_pack = msgspec.msgpack.Encoder().encode


def rank_body(candidates: Candidates, matrix: "ArrayLike | None", **request: Any) -> dict[str, Any]:
    """A rank request, with candidates one by one or as ids with one block of features."""
    if matrix is not None:
        return request | {"ids": list(candidates), "matrix": _block(matrix, len(candidates))}
    if not isinstance(candidates, Mapping):
        raise SettingsError("rank: send candidates as {id: features}, or their ids with a matrix")
    listed = [{"id": name, "features": _features(name, features)} for name, features in candidates.items()]
    return request | {"candidates": listed}


def _block(matrix: "ArrayLike", rows: int) -> bytes:
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # the service has a sentence for what float32 cannot hold
            X = np.asarray(matrix, dtype="<f4")
    except (TypeError, ValueError):
        raise SettingsError("rank: the matrix must hold numbers, in rows of equal length") from None
    if X.ndim != 2 or len(X) != rows:
        raise SettingsError(f"rank: the matrix needs one row for each of {rows} ids; got shape {X.shape}")
    return X.tobytes()


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


def _actions(actions: Actions) -> list[dict[str, str]]:
    given = {name: [done] if isinstance(done, str) else done for name, done in dict(actions).items()}
    if not all(isinstance(action, str) for done in given.values() for action in done):
        raise SettingsError(f"act: send {{id: action}}, by the names of the model's actions; got {actions!r}")
    return [{"id": name, "action": action} for name, done in given.items() for action in done]


def pinned_ranks(pinned: Mapping[str, int] | None) -> dict[str, int]:
    """`{id: rank}` as it travels."""
    given = dict(pinned or {})
    if not all(isinstance(rank, int) for rank in given.values()):
        raise SettingsError(f"rank: pinned must be id → rank, ranks from 1; got {given!r}")
    return given


def _read(reply: Reply, kind: type[T]) -> tuple[T | None, str]:
    """(what was answered, "") or (None, the service's trouble). A mistake of the caller's is raised."""
    if reply.trouble:
        return None, reply.trouble
    if 400 <= reply.status < 500 and reply.status not in (408, 429):
        raise RefusedError(reply.status, *_error(reply))
    if not 200 <= reply.status < 300:
        return None, f"HTTP {reply.status}: {_error(reply)[1]}"
    decode: Any = msgspec.msgpack.decode if reply.type.startswith(MSGPACK) else msgspec.json.decode
    try:
        return decode(reply.body, type=kind), ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None, "what answered is not a rankloop service, or another version of it"


def _error(reply: Reply) -> tuple[str, str]:
    """(code, message) of an error; a proxy on the way may have its own words."""
    try:
        error = msgspec.json.decode(reply.body, type=dict[str, dict[str, str]])["error"]
        return error["code"], error["message"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        return "refused", f"the answer, HTTP {reply.status}, does not come from a rankloop service"
