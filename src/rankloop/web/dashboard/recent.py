"""The newest pages of a model, as people saw them: documents, clicks, and how likely everything was."""

from contextlib import suppress
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.live.events import Closing, Event, Group, Impression, Kind, decode
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.contract import Store


class Document(NamedTuple):
    """One place on a page."""

    rank: int
    id: str
    click: float
    pinned: bool
    examined: float | None
    """How often this rank is looked at, relative to the first, as the model assumes or has learned it."""
    drawn: float | None
    """The probability that this document was put here, given those above it."""
    title: str = ""
    """What people read; the id if nobody said."""


class Shown(NamedTuple):
    """A page that somebody saw."""

    number: int
    at: int
    query: str
    group: str
    version: int
    candidates: int
    state: str
    """`open`, or why it was closed: `asked`, `window`, `void`."""
    probability: float | None
    keeps_first: float | None
    """How likely the document that scored best was to be first."""
    documents: list[Document]

    @property
    def clicks(self) -> float:
        """On the whole page."""
        return sum(document.click for document in self.documents)


class Page(NamedTuple):
    """A page as it is in the log."""

    event: Event
    impression: Impression
    state: str
    """`open`, or why it was closed: `asked`, `window`, `void`."""
    clicks: NDArray[np.float64]


def newest(store: Store, model: int, limit: int) -> list[Page]:
    """The newest pages, open ones too, the newest first; those that were erased, compacted away or cannot be
    read are left out."""
    waiting = [(row.shown, "open", row.click_values()) for row in store.newest_open(model, limit)]
    closed = []
    for event in store.newest_closings(model, limit):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            closing: Closing = decode(event.kind, event.body)
            closed.append((closing.shown, closing.why, np.array(closing.clicks)))
    pages = []
    for offset, state, clicks in sorted(waiting + closed, key=lambda page: -page[0])[:limit]:
        shown = store.event(offset)
        if shown is not None and shown.kind == Kind.SHOWN:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                pages.append(Page(shown, decode(shown.kind, shown.body), state, clicks))
    return pages


def newest_pages(
    store: Store, model: int, settings: ModelSettings, limit: int, believed: NDArray[np.float64] | None = None
) -> list[Shown]:
    """The same, as people saw them."""
    return [
        as_shown(page.event, page.impression, settings, page.state, page.clicks, believed)
        for page in newest(store, model, limit)
    ]


def as_shown(
    event: Event,
    impression: Impression,
    settings: ModelSettings,
    state: str,
    clicks: NDArray[np.float64],
    believed: NDArray[np.float64] | None = None,
) -> Shown:
    """An impression of the log, with the clicks on each of its ranks, and how far the model believes people look."""
    examined = [None] * len(impression.page) if believed is None else believed.tolist()
    learned = impression.group == Group.LEARNED
    drawn = _drawn(impression, settings) if learned else [None] * len(impression.page)
    names, titles = impression.shown(), impression.titles
    pinned = set(impression.pinned)
    documents = [
        Document(
            rank + 1, name, float(clicks[rank]), rank in pinned, examined[rank], drawn[rank], titles.get(name, name)
        )
        for rank, name in enumerate(names)
    ]
    log_probability = impression.log_probability
    return Shown(
        number=event.number,
        at=event.at,
        query=impression.query,
        group=Group(impression.group).name.lower(),
        version=impression.version,
        candidates=len(impression.candidates),
        state=state,
        probability=float(np.exp(log_probability)) if log_probability is not None and learned else None,
        keeps_first=_keeps_first(impression, settings) if learned else None,
        documents=documents,
    )


def _drawn(impression: Impression, settings: ModelSettings) -> list[float | None]:
    """Plackett–Luce, rank by rank: exp(z_d) / Σ exp(z) of what was still to be had. Nothing for what was pinned, and
    for methods that draw in another way; certainty for a frozen model's pages, whatever their scores."""
    certain = impression.log_probability == 0.0
    spread = settings.learner.policy_temperature
    drawn: list[float | None] = [None] * len(impression.page)
    if spread is None and not certain:
        return drawn
    left = _logits(impression, spread or 1.0)
    for rank, document in enumerate(impression.page):
        if rank in impression.pinned:
            continue
        # Beside the best of those left: beside the best of all, what is far down would vanish.
        drawn[rank] = 1.0 if certain else float(np.exp(left[document] - left.max()) / np.exp(left - left.max()).sum())
        left[document] = -np.inf
    return drawn


def _keeps_first(impression: Impression, settings: ModelSettings) -> float | None:
    spread = settings.learner.policy_temperature
    if len(impression.pinned) == len(impression.page):
        return None
    if impression.log_probability == 0.0:
        return 1.0
    if spread is None:
        return None
    z = _logits(impression, spread)
    return float(1.0 / np.exp(z - z.max()).sum())


def _logits(impression: Impression, spread: float) -> NDArray[np.float64]:
    """score / T; −∞ for what was pinned, and not free to be drawn."""
    z = impression.score_values().astype(np.float64) / spread
    z[[impression.page[rank] for rank in impression.pinned]] = -np.inf
    return z
