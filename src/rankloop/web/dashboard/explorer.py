"""One query, looked at closely: the engine's order beside the model's, what moved and why, and who clicked.

It is made of the newest pages in the log. The documents are those that came with the newest page of the query; their
order is the model's own of now, without exploration.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.data.naming import plain
from rankloop.live.settings import ModelSettings
from rankloop.live.views import View
from rankloop.web.bars import Bar, bar, largest
from rankloop.web.dashboard.plain_words import feature_name
from rankloop.web.dashboard.recent import Page

REASONS = 4
OWN = "its own clicks"
"""What a document is worth for this query beyond its features."""
DEEP = 20
"""Places of an order that are shown at most."""


class Asked(NamedTuple):
    """A query among the newest pages."""

    query: str
    pages: int
    clicks: float
    at: int
    """When it was last shown, in milliseconds since 1970."""


def asked(pages: Sequence[Page]) -> list[Asked]:
    """The queries of these pages, newest first among them, those asked most often first."""
    found: dict[str, Asked] = {}
    for page in pages:
        key, clicks = plain(page.impression.query), float(page.clicks.sum())
        if key in found:
            one = found[key]
            found[key] = one._replace(pages=one.pages + 1, clicks=one.clicks + clicks)
        else:
            found[key] = Asked(page.impression.query, 1, clicks, page.event.at)
    return sorted(found.values(), key=lambda one: -one.pages)


class Placed(NamedTuple):
    """A document in the model's order."""

    rank: int
    id: str
    was: int
    """Its place in the engine's order."""
    score: float
    shown: int
    """On how many of the pages looked at, of this query."""
    clicks: float
    people: int
    """Clients who clicked on it; those without a name count once together."""
    reasons: list[Bar]
    title: str = ""
    """What people read; the id if nobody said."""

    @property
    def moved(self) -> int:
        """Places up."""
        return self.was - self.rank


class Explained(NamedTuple):
    """A query's documents in both orders."""

    query: str
    pages: int
    clients: int
    at: int
    engine: list[Placed]
    """In the order in which they came."""
    model: list[Placed]
    changed: int
    """Documents of the first page that stand elsewhere in the engine's order."""


def explained(query: str, pages: Sequence[Page], settings: ModelSettings, view: View) -> Explained | None:
    """What the model makes of a query; None if it is on none of these pages."""
    mine = [page for page in pages if plain(page.impression.query) == plain(query)]
    if not mine:
        return None
    newest = mine[0].impression
    X = view.scaler.apply(newest.matrix(settings.precision))
    scores = view.scores_of(newest, settings.precision).astype(np.float64)
    own = scores - view.scores(X)
    parts = _parts(X.astype(np.float64), own, settings, view)
    scale = float(np.abs(parts).max()) if parts is not None and parts.size else 1.0
    shown, clicks, people = _counts(mine)
    order = np.argsort(-scores, kind="stable")

    def placed(document: int, rank: int) -> Placed:
        name = newest.candidates[document]
        reasons = [] if parts is None else _reasons(parts[document], settings, scale)
        counts = shown.get(name, 0), clicks.get(name, 0.0), len(people.get(name, ()))
        return Placed(
            rank, name, document + 1, float(scores[document]), *counts, reasons, newest.titles.get(name, name)
        )

    ranked = {int(document): rank for rank, document in enumerate(order, 1)}
    first = [placed(int(document), rank) for rank, document in enumerate(order[:DEEP], 1)]
    return Explained(
        query=newest.query,
        pages=len(mine),
        clients=len({page.event.client for page in mine}),
        at=mine[0].event.at,
        engine=[placed(document, ranked[document]) for document in range(min(DEEP, len(order)))],
        model=first,
        changed=sum(one.moved != 0 for one in first[: settings.page_size]),
    )


def _parts(
    X: NDArray[np.float64], own: NDArray[np.float64], settings: ModelSettings, view: View
) -> NDArray[np.float64] | None:
    """What each feature adds to each score, beside the average candidate: what lifts all alike moves nobody. Last,
    what a document's own clicks add for this query."""
    if not settings.is_linear:
        return None
    parts = X * view.model.ranker.weights
    return np.column_stack([parts - parts.mean(axis=0), own])


def _reasons(parts: NDArray[np.float64], settings: ModelSettings, scale: float) -> list[Bar]:
    names = *(feature_name(name) for name in settings.names), OWN
    return [bar(names[i], parts[i], scale) for i in largest(parts, REASONS) if abs(parts[i]) > 1e-9]


def _counts(pages: Sequence[Page]) -> tuple[dict[str, int], dict[str, float], dict[str, set[bytes]]]:
    """By document: on how many pages it was shown, clicks on it, and whose."""
    shown: dict[str, int] = {}
    clicks: dict[str, float] = {}
    people: dict[str, set[bytes]] = {}
    for page in pages:
        for name, value in zip(page.impression.shown(), page.clicks.tolist(), strict=False):
            shown[name] = shown.get(name, 0) + 1
            if value:
                clicks[name] = clicks.get(name, 0.0) + value
                people.setdefault(name, set()).add(page.event.client)
    return shown, clicks, people
