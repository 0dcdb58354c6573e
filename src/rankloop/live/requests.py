"""What a request may look like. Bodies are decoded by msgspec, and every rule that it cannot state is checked here,
each with a sentence that says what to send instead."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.errors import RequestError
from rankloop.live.events import PRECISIONS
from rankloop.live.incoming import INCOMING, with_incoming
from rankloop.live.ranking import Request
from rankloop.live.settings import CLICK, ModelSettings

LONGEST_ID = 512
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
Text = Annotated[str, msgspec.Meta(max_length=4096)]
Segment = Annotated[str, msgspec.Meta(max_length=64)]
Title = Annotated[str, msgspec.Meta(max_length=256)]
Reward = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


def _like(example: Any) -> msgspec.Meta:
    """An example of a field, for whoever sends another shape and for /openapi.json."""
    return msgspec.Meta(examples=[example])


LARGEST = 1e18
"""Of a feature, either way: beyond it squares and products overflow single precision, and one document could throw a
model's weights anywhere."""


REPORT = '{"impression": "…", "clicks": ["id", …]} or {…, "actions": [{"id": "…", "action": "…"}, …]}'


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one request may ask for, and all together."""

    body_bytes: int = 16 << 20
    bodies_bytes: int = 256 << 20
    """Of large bodies being held at a time, all together."""
    candidates: int = 5_000
    items: int = 1_000
    """Reports in one request, and clicks in one report."""
    rate: float = 10_000.0
    """Requests a second for each key."""
    concurrent: int = 1_000
    """Requests with a key being answered at a time; more are asked to come back."""
    keyless_rate: float = 100.0
    """Requests a second for all those without a key together; more wait for their turn."""
    keyless_connections: int = 256
    """Connections without a key; beyond that, the oldest is closed."""


class Candidate(msgspec.Struct, forbid_unknown_fields=True):
    """A document that could be shown."""

    id: Id
    features: list[float] | dict[str, float]


class RankBody(msgspec.Struct, forbid_unknown_fields=True):
    """Candidates one by one, or, faster, `ids` with a `matrix`: float32, little-endian, row by row, in base64."""

    query: Text = ""
    client: Id | None = None
    network: Id | None = None
    candidates: Annotated[list[Candidate] | None, _like([{"id": "oak", "features": {"price": 120}}])] = None
    ids: list[Id] | None = None
    matrix: bytes | None = None
    size: Annotated[int, msgspec.Meta(ge=1)] | None = None
    pinned: Annotated[dict[Id, Annotated[int, msgspec.Meta(ge=1)]], _like({"oak": 1})] = {}
    rest: bool = False
    segment: Segment = ""
    titles: Annotated[dict[Id, Title], _like({"oak": "An oak desk"})] = {}


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """What happened to a document, by its name among the model's actions."""

    id: Id
    action: Id


Clicks = Annotated[list[Id] | dict[Id, Reward] | None, _like(["oak"])]
Actions = Annotated[list[Action] | None, _like([{"id": "oak", "action": "purchase"}])]


class ClickBody(msgspec.Struct, forbid_unknown_fields=True):
    """What was clicked on a page: ids, or how much each is worth; and what else happened. `close`: nothing more will
    come."""

    impression: Id
    clicks: Clicks = None
    close: bool = False
    actions: Actions = None

    @property
    def count(self) -> int:
        """How many clicks and actions it has."""
        return len(self.clicks or ()) + len(self.actions or ())


class ClicksBody(msgspec.Struct, forbid_unknown_fields=True):
    """One report, or many as `reports`."""

    impression: Id | None = None
    clicks: Clicks = None
    close: bool = False
    reports: list[ClickBody] | None = None
    actions: Actions = None

    def all(self) -> list[ClickBody]:
        """The reports, one or many; each says something."""
        if self.reports is not None:
            if self.impression is not None or self.clicks is not None or self.actions is not None or self.close:
                raise _bad("reports", "send either one report or a list of them")
            silent = (place for place, each in enumerate(self.reports) if each.clicks is None and each.actions is None)
            if (place := next(silent, None)) is not None:
                raise _bad(f"report {place}", f"`clicks` is missing; send {REPORT}")
            return self.reports
        if self.impression is None or (self.clicks is None and self.actions is None):
            raise _bad("clicks", f'send {REPORT}, or many of them as {{"reports": […]}}')
        return [ClickBody(self.impression, self.clicks, self.close, self.actions)]


class CloseBody(msgspec.Struct, forbid_unknown_fields=True):
    """`wait`: answer when the model has learned from it."""

    wait: bool = False


class RollBackBody(msgspec.Struct, forbid_unknown_fields=True):
    """The version to return to."""

    version: Annotated[int, msgspec.Meta(ge=0, le=2**53)]


def checked_request(
    body: RankBody, settings: ModelSettings, limits: Limits, client: bytes, network: bytes = b""
) -> Request:
    """The request, ready to be ranked; refused with a sentence if it cannot be."""
    ids = _ids(body)
    if len(ids) > limits.candidates:
        raise too_many_candidates(limits, len(ids))
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise _bad("candidates", f"every candidate needs a different id; {twice!r} appears twice")
    size = settings.page_size if body.size is None else body.size
    if size > settings.page_size:
        raise _bad("size", f"this model's pages have at most {settings.page_size} documents; got {size}")
    features = _stored(with_incoming(_features(body, ids, settings), settings.names), ids, settings)
    pinned = _pinned(body, ids, min(size, len(ids)))
    if not body.titles.keys() <= set(ids):
        unknown = next(name for name in body.titles if name not in ids)
        raise _bad("titles", f"{unknown!r} is not among the candidates")
    return Request(body.query, client, ids, features, size, pinned, network, body.segment, body.titles)


def _ids(body: RankBody) -> list[str]:
    if (body.candidates is None) == (body.ids is None) or (body.ids is None) != (body.matrix is None):
        raise _bad("candidates", 'send either "candidates", or "ids" with a "matrix"')
    return body.ids if body.ids is not None else [candidate.id for candidate in body.candidates or ()]


def _features(body: RankBody, ids: Sequence[str], settings: ModelSettings) -> NDArray[Any]:
    names = settings.sent
    if body.matrix is not None:
        wanted = 4 * len(ids) * len(names)
        if len(body.matrix) != wanted:
            raise _bad(
                "matrix",
                f"{len(ids)} candidates with {len(names)} features are {wanted:,} bytes of float32; "
                f"got {len(body.matrix):,}",
            )
        return np.frombuffer(body.matrix, "<f4").reshape(len(ids), len(names))
    known = frozenset(names) if any(isinstance(c.features, dict) for c in body.candidates or ()) else frozenset()
    rows = [_row(candidate, settings, known) for candidate in body.candidates or ()]
    return np.array(rows, dtype=np.float64)


def _some(names: Sequence[str]) -> str:
    """
    >>> _some(("price", "stars")), _some(tuple("abcdefghijkl"))
    ('price, stars', 'a, b, c, d, e, f, g, h and 4 more')
    """
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _row(candidate: Candidate, settings: ModelSettings, known: frozenset[str]) -> Sequence[float]:
    names, given = settings.sent, candidate.features
    if not isinstance(given, dict):
        if len(given) != len(names):
            raise _bad(
                f"candidate {candidate.id!r}",
                f"this model has {len(names)} features; got {len(given)}: send {_some(names)}",
            )
        return given
    if not given.keys() <= known:
        unknown = next(name for name in given if name not in known)
        if unknown == INCOMING:
            raise _bad(f"candidate {candidate.id!r}", f"{INCOMING!r} is computed from the order of the candidates")
        raise _bad(
            f"candidate {candidate.id!r}", f"this model has no feature {unknown!r}; its features are {_some(names)}"
        )
    if len(given) == len(names):
        return [given[name] for name in names]
    if settings.missing is None:
        lacking = next(name for name in names if name not in given)
        raise _bad(
            f"candidate {candidate.id!r}",
            f"feature {lacking!r} is missing; send it, or create the model with a value for missing ones",
        )
    return [given.get(name, settings.missing) for name in names]


def _stored(features: NDArray[Any], ids: Sequence[str], settings: ModelSettings) -> NDArray[Any]:
    """The features in the precision in which they are kept, and therefore ranked."""
    if features.dtype == PRECISIONS[settings.precision]:
        stored = features
    else:
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(features, dtype=PRECISIONS[settings.precision])
    # As Python floats: NaN fails both comparisons, and a half-precision infinity is one.
    if not (float(stored.max()) <= LARGEST and float(stored.min()) >= -LARGEST):
        largest = min(LARGEST, float(np.finfo(stored.dtype).max))
        row, column = np.argwhere(~(np.abs(stored.astype(np.float64)) <= largest))[0]
        raise _bad(
            f"candidate {ids[row]!r}",
            f"feature {settings.names[column]!r} must be a finite number that {settings.precision} can hold, from "
            f"−{largest:g} to {largest:g}; got {features[row, column]:g}",
        )
    return stored


def _pinned(body: RankBody, ids: list[str], size: int) -> dict[int, int]:
    if not body.pinned:
        return {}
    places = {name: place for place, name in enumerate(ids)}
    taken: set[int] = set()
    for name, rank in body.pinned.items():
        if name not in places:
            raise _bad("pinned", f"{name!r} is not among the candidates")
        if rank > size:
            raise _bad("pinned", f"{name!r} is pinned to rank {rank}, but the page has {size}")
        if rank in taken:
            raise _bad("pinned", f"two documents are pinned to rank {rank}")
        taken.add(rank)
    return {places[name]: rank - 1 for name, rank in body.pinned.items()}


def check_reports(reports: Sequence[ClickBody], limits: Limits) -> None:
    """Refuse too many reports, or too many clicks in one."""
    if len(reports) > limits.items:
        raise _bad("reports", f"at most {limits.items:,} at once; got {len(reports):,}")
    for place, report in enumerate(reports):
        if report.count > limits.items:
            raise _bad(f"report {place}", f"at most {limits.items:,} clicks in one; got {report.count:,}")


class Acted(NamedTuple):
    """What a report says happened: ranks from 0, how much each is worth, which action it was (its place among the
    model's, nothing where a click is all there is), and the ids that were not on the page."""

    ranks: list[int]
    values: list[float]
    actions: list[int]
    unknown: list[str]


def acted(body: ClickBody, shown: Sequence[str], worth: Mapping[str, float]) -> Acted:
    """What a report says about a page that showed these documents; `worth` are the model's actions.

    >>> acted(ClickBody("…", {"b": 0.5, "z": 1.0}), ["a", "b"], {"click": 1.0})
    Acted(ranks=[1], values=[0.5], actions=[], unknown=['z'])
    >>> bought = ClickBody("…", ["b"], actions=[Action("b", "purchase")])
    >>> acted(bought, ["a", "b"], {"click": 0.2, "purchase": 1.0})
    Acted(ranks=[1, 1], values=[0.2, 1.0], actions=[0, 1], unknown=[])
    """
    check_actions(body, worth)
    clicks = body.clicks or []
    clicks = clicks if isinstance(clicks, dict) else dict.fromkeys(clicks, worth.get(CLICK, 0.0))
    known = {name: place for place, name in enumerate(worth)}
    given = [(name, value, CLICK) for name, value in clicks.items()]
    # Once each: of what was reported before, nothing is made.
    given += dict.fromkeys((each.id, worth[each.action], each.action) for each in body.actions or ())
    places = {document: rank for rank, document in enumerate(shown)}
    there = [(places[name], value, known[action]) for name, value, action in given if name in places]
    unknown = list(dict.fromkeys(name for name, _, _ in given if name not in places))
    actions = [] if worth == {CLICK: 1.0} else [action for _, _, action in there]
    return Acted([rank for rank, _, _ in there], [value for _, value, _ in there], actions, unknown)


def check_actions(body: ClickBody, worth: Mapping[str, float]) -> None:
    """Refuse what the model has no name for, with the names that it has."""
    named = [each.action for each in body.actions or ()] + [CLICK] * bool(body.clicks)
    if (strange := next((action for action in named if action not in worth), None)) is not None:
        raise _bad("actions", f"this model has no action {strange!r}; its actions are {', '.join(worth)}")


def too_many_candidates(limits: Limits, count: int) -> RequestError:
    """What to say to whoever sends more than are ranked."""
    return _bad("candidates", f"at most {limits.candidates:,} are ranked at once; got {count:,}")


def _bad(where: str, what: str) -> RequestError:
    return RequestError("invalid_request", f"{where}: {what}")
