"""A log without a store: pages drawn, clicked and closed in memory, one event after the other."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from rankloop.live.events import ENDED, PRECISIONS, Closing, Event, Impression, Kind, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.views import View

FOR_ALL = Guards(control=0.0)
"""Everybody sees the learned order."""


def request(X, settings: ModelSettings, *, client: bytes = b"", size: int | None = None, pinned=None) -> Request:
    """These candidates, in the precision in which they would be stored. An id is a place and what stands there, since
    a document that comes back has the features it had."""
    stored = np.ascontiguousarray(X, PRECISIONS[settings.precision])
    ids = [f"d{place}-{crc32(row.tobytes()):x}" for place, row in enumerate(stored)]
    return Request("a query", client, ids, stored, size or settings.page_size, pinned or {})


class Diary:
    """A model, and everything that has happened to it, by offset."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.fold = Fold(settings)
        self.ranking = Ranking(settings)
        self.events: list[Event] = []
        self.numbers = 0

    def show(
        self, X, *, view: View | None = None, client: bytes = b"", size: int | None = None, pinned=None, rivals=None
    ) -> Event:
        """Draw a page from the newest state, or from an older one."""
        asked = request(X, self.settings, client=client, size=size, pinned=pinned)
        impression = self.ranking.rank(view or self.fold.view(), asked, self.numbers, rivals=rivals).impression
        self.numbers += 1
        return self._write(Kind.SHOWN, self.numbers - 1, client, encode(impression))

    def close(self, shown: Event, clicks: Sequence[float], why: str = "asked") -> str | None:
        """End an impression; its fate."""
        closing = self._write(Kind.CLOSED, shown.number, b"", encode(Closing(shown.offset, list(clicks), why)))
        return self.fold.apply(closing, shown)

    def control(self, kind: Kind, body: bytes = b"") -> None:
        """What a person decides."""
        self.fold.apply(self._write(kind, 0, b"", body))

    def apply_to(self, fold: Fold, event: Event) -> str | None:
        """Fold an event of this diary into another state, if it is one that changes states."""
        if event.kind in (Kind.SHOWN, Kind.CLICKED):
            return None
        shown = None
        if event.kind in ENDED:
            shown = self.events[decode(event.kind, event.body).shown - 1]
        return fold.apply(event, shown)

    def _write(self, kind: Kind, number: int, client: bytes, body: bytes) -> Event:
        event = Event(len(self.events) + 1, 1, int(kind), number, 0, client, body)
        self.events.append(event)
        return event


def page_of(shown: Event) -> Impression:
    """What a page's event says."""
    return decode(shown.kind, shown.body)
