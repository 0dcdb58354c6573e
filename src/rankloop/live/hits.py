"""What a search engine has at hand as a page to rank: its hits, or a batch of fields from a search pipeline.

hits       as OpenSearch and Elasticsearch answer a search. A feature is looked up in the learning-to-rank log
           (`fields._ltrlog`), among scores of named queries (`matched_queries`), as `_score`, or in `_source`.
documents  one list per field, as ML Commons' `ml_inference` sends them: {"id": ["a", "b"], "price": [9.5, 12.0]}

The engine's own score may have a name of its own: it is the feature that the model starts with, where nothing else has
a value for it.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rankloop.answers import Ranked
from rankloop.live.errors import RequestError
from rankloop.live.requests import LONGEST_ID, Candidate, Id, RankBody, Segment, Text
from rankloop.live.settings import IncomingOrder, ModelSettings
from rankloop.mistakes import in_words
from rankloop.settings import is_number

SCORE = "_score"
"""The engine's own score, as a feature."""
ID = "id"
"""The list of a batch that holds the documents' ids."""
LOG = "_ltrlog"


class Logged(msgspec.Struct):
    """One feature as the learning-to-rank plugins log it; without a value where its query did not match."""

    name: str
    value: float = 0.0


class Hit(msgspec.Struct):
    """A hit of a search; what else it has is ignored."""

    id: Id = msgspec.field(name="_id")
    score: float | None = msgspec.field(name="_score", default=None)
    source: dict[str, Any] = msgspec.field(name="_source", default_factory=dict)
    fields: dict[str, Any] = {}
    matched_queries: dict[str, float] | list[str] = []


class RescoreBody(msgspec.Struct, forbid_unknown_fields=True):
    """Hits of a search, or a batch of `documents`; the rest as in a rank request.

    A pipeline repeats the `query` for each document: the first counts. `entry` names the log entry to read, where
    several are logged.
    """

    hits: Annotated[list[Hit] | None, msgspec.Meta(examples=[[{"_id": "oak", "_score": 7.25}]])] = None
    documents: dict[str, list[Any]] | None = None
    query: Text | list[Text] = ""
    client: Id | None = None
    network: Id | None = None
    size: Annotated[int, msgspec.Meta(ge=1)] | None = None
    entry: str | None = None
    segment: Segment = ""


class Rescored(msgspec.Struct, frozen=True):
    """The page, and a number for every document in the order in which they came: sorted by it, largest first, they
    begin with the page.

    Attributes:
        impression: report clicks with it; None on a fallback.
        scores: one per document.
        ranking: ids, best first: the page to show.
        group: as in a rank answer.
        version: of the model that ranked.
        reason: why it is a fallback.
    """

    impression: str | None
    scores: list[float]
    ranking: list[str]
    group: str
    version: int
    reason: str | None = None


def page_to_rank(body: RescoreBody, settings: ModelSettings) -> tuple[list[str], RankBody]:
    """The documents' ids as they came, and what to rank, in the engine's order."""
    if (body.hits is None) == (body.documents is None):
        raise _bad("hits", 'send either "hits", as the engine answered them, or "documents": one list per field')
    if body.hits is not None:
        candidates = [_of_hit(hit, body.entry, settings) for hit in body.hits]
        came = [candidate.id for candidate in candidates]
    else:
        candidates, came = _of_batch(body.documents or {}, settings)
    query = body.query if isinstance(body.query, str) else (body.query or [""])[0]
    size = None if body.size is None else min(body.size, settings.page_size)
    return came, RankBody(query, body.client, body.network, candidates, size=size, rest=True, segment=body.segment)


def rescored(came: list[str], ranked: Ranked) -> Rescored:
    """Numbers that sort as the answer does: as many as there are documents for the first, one less for each after."""
    order = [*ranked.ranking, *(ranked.rest or ())]
    places = {document: float(len(order) - place) for place, document in enumerate(order)}
    scores = [places[document] for document in came]
    return Rescored(ranked.impression, scores, ranked.ranking, ranked.group, ranked.version, ranked.reason)


def score_name(settings: ModelSettings) -> str:
    """The feature that the engine's own score is: `_score`, or else the one whose order the model starts in."""
    start = settings.start
    if SCORE in settings.sent or not isinstance(start, IncomingOrder) or start.feature is None:
        return SCORE
    return settings.names[start.feature] if isinstance(start.feature, int) else start.feature


def _of_hit(hit: Hit, entry: str | None, settings: ModelSettings) -> Candidate:
    logged = _logged(hit, entry)
    scores = hit.matched_queries if isinstance(hit.matched_queries, dict) else {}
    features: dict[str, float] = {}
    for name in settings.sent:
        value: Any = logged.get(name)
        if value is None:
            value = scores.get(name)
        if value is None:
            value = hit.score if name == SCORE else _at(hit.source, name)
        if value is None and name == score_name(settings):
            value = hit.score
        if value is not None:
            features[name] = _number(hit.id, name, value)
    return Candidate(hit.id, features)


def _logged(hit: Hit, entry: str | None) -> dict[str, float]:
    """The features of a log entry, by name."""
    logs = hit.fields.get(LOG)
    if logs is None:
        return {}
    try:
        entries: dict[str, list[Logged]] = {}
        for each in msgspec.convert(logs, list[dict[str, list[Logged]]]):
            entries |= each
    except msgspec.ValidationError as error:
        raise _bad(
            f"hit {hit.id!r}", f'{LOG} must be [{{"entry": [{{"name": …, "value": …}}, …]}}]; {in_words(str(error))}'
        ) from None
    if entry is None and len(entries) > 1:
        raise _bad(f"hit {hit.id!r}", f'there are the log entries {", ".join(entries)}; send "entry" with one of them')
    if entry is not None and entry not in entries:
        raise _bad(f"hit {hit.id!r}", f"there is no log entry {entry!r}; there is {', '.join(entries) or 'none'}")
    chosen = entries[entry] if entry is not None else next(iter(entries.values()), [])
    return {feature.name: feature.value for feature in chosen}


def _at(source: Mapping[str, Any], path: str) -> Any:
    """The value of a field, whose name may be a path: `reviews.stars`."""
    value: Any = source
    if path in source:
        return source[path]
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _of_batch(documents: dict[str, list[Any]], settings: ModelSettings) -> tuple[list[Candidate], list[str]]:
    if ID not in documents:
        raise _bad("documents", f'one list must be called "{ID}": it holds what the documents are called')
    ids = [_id(name) for name in documents[ID]]
    for name, values in documents.items():
        if len(values) != len(ids):
            raise _bad("documents", f"there are {len(ids)} ids, and {len(values)} values of {name!r}")
    lists = {feature: documents[feature] for feature in settings.sent if feature in documents}
    if SCORE in documents and (named := score_name(settings)) in settings.sent:
        given = lists.get(named, [None] * len(ids))
        lists[named] = [score if own is None else own for own, score in zip(given, documents[SCORE], strict=True)]
    candidates = [
        Candidate(
            name,
            {
                feature: _number(name, feature, values[place])
                for feature, values in lists.items()
                if values[place] is not None
            },
        )
        for place, name in enumerate(ids)
    ]
    if SCORE in documents:
        # A pipeline that brings the engine's score along has sorted by something else in between.
        scores = [
            0.0 if value is None else _number(name, SCORE, value)
            for name, value in zip(ids, documents[SCORE], strict=True)
        ]
        candidates = [candidates[place] for place in sorted(range(len(ids)), key=lambda place: -scores[place])]
    return candidates, ids


def _id(name: Any) -> str:
    """A document's id as text; numbers are ids in many an index."""
    text = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    if not isinstance(text, str) or not 1 <= len(text) <= LONGEST_ID:
        raise _bad("documents", f"an id must be text of 1 to {LONGEST_ID} characters; got {name!r:.60}")
    return text


def _number(document: str, name: str, value: Any) -> float:
    if not is_number(value):
        raise _bad(f"document {document!r}", f"feature {name!r} must be a number; got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise _bad(f"document {document!r}", f"feature {name!r} is too large a number") from None


def _bad(where: str, what: str) -> RequestError:
    return RequestError("invalid_request", f"{where}: {what}")
