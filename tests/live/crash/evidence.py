"""What a log must show after crashes: every acknowledged event, once, in one order, and the model that follows from it.

The model is folded here from the very first event, without any snapshot: as if nothing had ever happened.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from rankloop.live.events import FOLDED, Event, Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.loading import closed_impression, settings_of
from rankloop.live.stores import opened
from rankloop.live.stores.contract import Store
from rankloop.live.tokens import Signer

from .traffic import MODEL, Visit


@dataclass
class Evidence:
    """How much was looked at."""

    events: int
    impressions: int
    reports: int
    closings: int
    version: int


def examine(address: str, visits: list[Visit], weights: list[float] | None = None) -> Evidence:
    """Hold a log that nobody writes to any more against the acknowledgements, and its model against a fold from zero.

    `weights`: what the service itself said last, if it was asked.
    """
    with opened(address) as store:
        events = store.events(0, 10**9)
        assert [event.offset for event in events] == list(range(1, len(events) + 1)), "offsets have a gap"
        of_page = _by_page(events)
        signer = Signer(store.secrets())
        for visit in visits:
            _examine_visit(visit, of_page[signer.verify(visit.impression).number])
        _examine_open(store, events)
        version = _examine_model(store, weights)
    return Evidence(
        len(events), len(visits), sum(len(visit.reports) for visit in visits),
        sum(visit.closed for visit in visits), version,
    )  # fmt: skip


def _by_page(events: list[Event]) -> dict[int, dict[int, list[Event]]]:
    """Number of the impression → kind → its events, in the log's order."""
    found: dict[int, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event.kind in (Kind.SHOWN, Kind.CLICKED, Kind.CLOSED):
            found[event.number][event.kind].append(event)
    return found


def _examine_visit(visit: Visit, kinds: dict[int, list[Event]]) -> None:
    """Everything that this visitor was told has happened, is in the log as it happened."""
    [shown] = kinds[Kind.SHOWN]
    impression = decode(Kind.SHOWN, shown.body)
    assert (impression.query, impression.candidates) == (visit.query, visit.ids)
    assert impression.features == visit.features
    assert impression.shown() == visit.ranking
    ranks = {document: rank for rank, document in enumerate(visit.ranking)}
    logged = Counter(tuple(sorted(decode(Kind.CLICKED, event.body).ranks)) for event in kinds[Kind.CLICKED])
    reported = Counter(tuple(sorted(ranks[document] for document in report)) for report in visit.reports)
    missing = reported - logged
    # A report on a page that had been closed by an unanswered request is kept, as late and without ranks.
    late = sum(decode(Kind.CLICKED, event.body).late for event in kinds[Kind.CLICKED])
    assert missing.total() <= late, f"acknowledged clicks are not in the log: {missing}"
    closings = kinds[Kind.CLOSED]
    assert len(closings) <= 1, "a page was closed twice"
    assert closings or not visit.closed, "an acknowledged closing is not in the log"
    if closings:
        assert visit.asked_to_close
        counted = {rank for rank, value in enumerate(decode(Kind.CLOSED, closings[0].body).clicks) if value > 0}
        assert {ranks[document] for document in visit.before_closing} <= counted, "an acknowledged click did not count"
        assert counted <= {ranks[document] for document in visit.tried}, "a click counts that nobody made"


def _examine_open(store: Store, events: list[Event]) -> None:
    """What is kept beside the log says what the log says: open pages, and sums over the closed ones."""
    by_kind = {kind: [event for event in events if event.kind == kind] for kind in (Kind.SHOWN, Kind.CLOSED)}
    shown = {event.number for event in by_kind[Kind.SHOWN]}
    closed = {event.number for event in by_kind[Kind.CLOSED]}
    assert len(shown) == len(by_kind[Kind.SHOWN]), "two pages have the same number"
    [model] = [model for model in store.models() if model.name == MODEL]
    assert {number for number in shown if store.open_impression(model.id, number)} == shown - closed
    assert store.open_count(model.id) == len(shown - closed)
    closings = [decode(Kind.CLOSED, event.body) for event in by_kind[Kind.CLOSED]]
    told = [closing for closing in closings if closing.why != "void"]
    pages = [tally for tally in store.tallies(model.id) if tally.rank == 0]
    assert sum(tally.shown for tally in pages) == len(told)
    assert np.isclose(sum(tally.clicks for tally in pages), sum(sum(closing.clicks) for closing in told))


def _examine_model(store: Store, weights: list[float] | None) -> int:
    """The newest snapshot holds, bit by bit, what folding the whole log gives; and so did the service."""
    [model] = [model for model in store.models() if model.name == MODEL]
    fold = Fold(settings_of(model))
    snapshot = store.newest_snapshot(model.id)
    assert snapshot is not None
    last = 0
    for event in store.events(0, 10**9, kinds=FOLDED, model=model.id):
        fold.apply(event, closed_impression(store, event))
        last = event.offset
    assert last <= snapshot.offset, "a service that was told to end leaves nothing to be learned again"
    assert fold.state() == snapshot.state
    assert fold.version == snapshot.version
    assert fold.fates["missing"] == 0
    if weights is not None:
        assert weights == fold.ranker.weights.tolist()
    return fold.version
