"""The newest pages, kept at hand for their clicks; older ones are looked up in the log. A page may have ten short ids
or a thousand long ones, so what is counted is bytes."""

import sys
from collections.abc import Callable

from rankloop.live.events import Impression, Kind, decode
from rankloop.live.loading import UNREADABLE
from rankloop.live.stores.contract import Reader

Page = tuple[int, int]
"""A model and the number of an impression."""
Find = Callable[[Reader, int, int], list[str] | None]
"""Looks a page up in the log, by its model and number."""
EACH = 250
"""Bytes of a page beside its documents' ids: its key, its list, its place in the dictionary."""


class PagesAtHand:
    """Documents of pages, by page, within a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pages: dict[Page, list[str]] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._pages)

    def get(self, page: Page) -> list[str] | None:
        """Its documents, if they are at hand."""
        return self._pages.get(page)

    def keep(self, page: Page, documents: list[str]) -> None:
        """Keep a page, and forget the oldest ones that there is no room for."""
        self.forget(page)
        self._pages[page] = documents
        self.bytes += _size(documents)
        while self.bytes > self._most:
            self.forget(next(iter(self._pages)))

    def forget(self, page: Page) -> None:
        """It was closed."""
        documents = self._pages.pop(page, None)
        if documents is not None:
            self.bytes -= _size(documents)


def _size(documents: list[str]) -> int:
    return EACH + 8 * len(documents) + sum(map(sys.getsizeof, documents))


def open_page(store: Reader, model: int, number: int) -> list[str] | None:
    """The documents of a page that still waits for clicks; None if it does not."""
    row = store.open_impression(model, number)
    return _documents(store, row.shown) if row else None


def closed_page(store: Reader, model: int, number: int) -> list[str] | None:
    """The documents of a page that was closed; None if it is not in the log any more."""
    ended = store.ended(model, number)
    try:
        return _documents(store, decode(ended.kind, ended.body).shown) if ended else None
    except UNREADABLE:
        return None


def _documents(store: Reader, shown: int) -> list[str] | None:
    event = store.event(shown)
    if event is None or event.kind != Kind.SHOWN:
        return None
    try:
        impression: Impression = decode(event.kind, event.body)
    except UNREADABLE:
        return []  # nobody knows any more what was on it
    return impression.shown()
