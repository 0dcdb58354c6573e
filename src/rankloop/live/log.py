"""What the log says: the entries that ask for a place in it, and the rules for what a click or a closing means.

How they get there is `rankloop.live.writer`'s: this is what happens to them while the log is held.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankloop.live.events import ENDED, Clicks, Closing, Event, Impression, Kind, Late, decode, encode
from rankloop.live.stores.rows import SPANS, Open, Tally
from rankloop.live.stores.transaction import Transaction

MINUTE = 60_000


class Show(NamedTuple):
    """A page was shown. Acknowledged with its offset, or None if its model has been deleted."""

    model: int
    number: int
    at: int
    client: bytes
    body: bytes
    ranks: int
    group: int
    displacement: float
    has_actions: bool = False
    """Whether its model knows more actions than a click, so that they are told apart."""

    @classmethod
    def of(
        cls, model: int, number: int, at: int, client: bytes, page: Impression, *, has_actions: bool = False
    ) -> "Show":
        """As it goes into the log."""
        body = encode(page)
        return cls(model, number, at, client, body, len(page.page), page.group, page.displacement, has_actions)


class Click(NamedTuple):
    """Something happened to documents: they were clicked, or what `actions` says (places among those of the model).
    Acknowledged with a `Fate`."""

    model: int
    number: int
    at: int
    ranks: list[int]
    values: list[float]
    actions: Sequence[int] = ()


class Close(NamedTuple):
    """An impression ends. Acknowledged with the closing's offset, or None if it was closed already."""

    model: int
    number: int
    at: int
    why: str


class Control(NamedTuple):
    """A person decides about a model. Acknowledged with its offset, or None if it has been deleted."""

    model: int
    kind: Kind
    at: int
    body: bytes = b""
    who: str = ""
    """The name of the API key that it was decided with, if any: it stands in the place of an event's client."""


Entry = Show | Click | Close | Control


class Fate(NamedTuple):
    """What became of the clicks of one report: how many count, say nothing new, differ from before, or came late.

    Of two values for one document the larger counts, so the order in which reports arrive does not matter.
    """

    accepted: int = 0
    duplicate: int = 0
    contradictory: int = 0
    late: int = 0
    closed: bool = False
    """Whether the impression had been closed before, so that everything in the report is late."""
    taken_late: int = 0
    """How many of those count all the same."""


def settle(transaction: Transaction, entries: Sequence[Entry]) -> list[Any]:
    """Give every entry its place in the log, and decide what it means, in the order of the entries."""
    return _Settling(transaction, entries).results


class _Settling:
    """One batch on its way into the log."""

    def __init__(self, transaction: Transaction, entries: Sequence[Entry]) -> None:
        self.offset = transaction.next_offset()
        self.events: list[Event] = []
        self.opened: dict[tuple[int, int], Open] = {}
        self.clicked: set[tuple[int, int]] = set()
        self.closed: list[tuple[int, int]] = []
        self.tallies: dict[tuple[int, int, int, int], list[float]] = {}
        self.deleted = transaction.deleted({e.model for e in entries if isinstance(e, (Show, Control))})
        """Models that are gone, whatever the process that sends their entries knows."""
        known = {(e.model, e.number) for e in entries if isinstance(e, (Click, Close))}
        self.open = transaction.open_impressions(sorted(known)) if known else {}
        self._ended_before = transaction.ended
        self.results = [self._settle(entry) for entry in entries]
        transaction.write(
            self.events,
            list(self.opened.values()),
            [self.open[key] for key in self.clicked if key in self.open],
            self.closed,
            self._all_tallies(),
        )

    def _settle(self, entry: Entry) -> Any:
        if entry.model in self.deleted and isinstance(entry, (Show, Control)):
            return None
        match entry:
            case Show():
                return self._show(entry)
            case Click():
                return self._click(entry)
            case Close():
                return self._close(entry)
            case Control():
                return self._add(entry.model, entry.kind, 0, entry.at, entry.who.encode(), entry.body)

    def _add(self, model: int, kind: Kind, number: int, at: int, client: bytes, body: bytes) -> int:
        offset = self.offset
        self.events.append(Event(offset, model, int(kind), number, at, client, body))
        self.offset += 1
        return offset

    def _show(self, entry: Show) -> int:
        key = entry.model, entry.number
        offset = self._add(entry.model, Kind.SHOWN, entry.number, entry.at, entry.client, entry.body)
        clicks, actions = bytes(4 * entry.ranks), bytes(2 * entry.ranks * entry.has_actions)
        self.opened[key] = Open(*key, offset, entry.at, entry.group, entry.displacement, clicks, actions)
        return offset

    def _find(self, key: tuple[int, int]) -> Open | None:
        return self.opened.get(key) or self.open.get(key)

    def _click(self, entry: Click) -> Fate:
        key = entry.model, entry.number
        row = self._find(key)
        body = encode(Clicks(entry.ranks, entry.values, row is None, list(entry.actions)))
        self._add(entry.model, Kind.CLICKED, entry.number, entry.at, b"", body)
        if row is None:
            return Fate(late=len(entry.ranks), closed=True, taken_late=self._late(entry))
        values, actions, fate = merged(row.click_values(), row.action_bits(), entry)
        row = row._replace(clicks=values.tobytes(), actions=actions.tobytes())
        if key in self.opened:
            self.opened[key] = row
        else:
            self.open[key] = row
            self.clicked.add(key)
        return fate

    def _late(self, entry: Click) -> int:
        """Note what came after a page was closed, where its model tells actions apart; how many documents gained."""
        ended = self._ended(entry) if entry.actions else None
        if ended is None or ended[1].why == "void":
            return 0
        closed, closing = ended
        before, known = np.array(closing.clicks, "<f4"), np.array(closing.actions, "<u2")
        values, actions, _ = merged(before, known, entry)
        if gained := int(np.count_nonzero((values != before) | (actions != known))):
            page = before.tolist(), values.tolist(), known.tolist(), actions.tolist()
            self._add(entry.model, Kind.LATE, entry.number, entry.at, b"", encode(Late(closing.shown, closed, *page)))
        return gained

    def _ended(self, entry: Click) -> tuple[int, Closing] | None:
        """Where a page was closed, and what is known of it since."""
        mine = (e for e in reversed(self.events) if (e.model, e.number) == (entry.model, entry.number))
        newest = next((e for e in mine if e.kind in ENDED), None) or self._ended_before(entry.model, entry.number)
        if newest is None:
            return None
        body: Closing | Late = decode(newest.kind, newest.body)
        if isinstance(body, Late):
            return body.closed, Closing(body.shown, body.clicks, "asked", body.actions)
        return newest.offset, body

    def _close(self, entry: Close) -> int | None:
        key = entry.model, entry.number
        row = self._find(key)
        if row is None:
            return None
        clicks = row.click_values()
        offset = self._add(
            entry.model, Kind.CLOSED, entry.number, entry.at, b"",
            encode(Closing(row.shown, clicks.tolist(), entry.why, row.action_bits().tolist())),
        )  # fmt: skip
        if self.opened.pop(key, None) is None:
            del self.open[key]
            self.closed.append(key)
        if entry.why != "void":
            self._tally(row, entry.at // MINUTE, clicks)
        return offset

    def _tally(self, row: Open, minute: int, clicks: Any) -> None:
        total = float(clicks.sum())
        for rank, value in enumerate([total, *clicks.tolist()]):
            sums = self.tallies.setdefault((row.model, minute, row.group, rank), [0, 0.0, 0.0, 0.0])
            sums[0] += 1
            sums[1] += value
            sums[2] += value * value
            sums[3] += row.displacement if rank == 0 else 0.0

    def _all_tallies(self) -> list[Tally]:
        """Every span of time gets its own sums, so that nobody ever has to add up minutes to see a year."""
        spans: dict[tuple[int, int, int, int, int], list[float]] = {}
        for (model, minute, group, rank), sums in self.tallies.items():
            for span in SPANS:
                total = spans.setdefault((model, span, minute - minute % span, group, rank), [0, 0.0, 0.0, 0.0])
                for place, value in enumerate(sums):
                    total[place] += value
        return [Tally(*key, int(shown), *sums) for key, (shown, *sums) in spans.items()]


def merged(clicks: Any, actions: Any, entry: Click | Clicks) -> tuple[Any, Any, Fate]:
    """What a page's ranks were worth, and what had happened to them, with one more report.

    Where actions are told apart, one that was reported before says nothing new, whatever it is worth.

    >>> page, more = (np.array([0.2, 0], "<f4"), np.array([1, 0], "<u2")), Click(1, 1, 0, [0, 0], [0.2, 1.0], [0, 2])
    >>> merged(*page, more)[1:]
    (array([5, 0], dtype=uint16), Fate(accepted=1, duplicate=1, contradictory=0, late=0, closed=False, taken_late=0))
    """
    values, fate = merge_clicks(clicks, entry.ranks, entry.values)
    if not len(actions):
        return values, actions, fate
    known, worth = actions.copy(), clicks.copy()
    fates = [0, 0, 0]
    for rank, value, action in zip(entry.ranks, entry.values, entry.actions, strict=True):
        is_new = not known[rank] >> action & 1
        fates[0 if is_new else 2 if np.float32(value) > worth[rank] else 1] += 1
        known[rank] |= 1 << action
        worth[rank] = max(worth[rank], np.float32(value))
    return values, known, Fate(accepted=fates[0], duplicate=fates[1], contradictory=fates[2])


def merge_clicks(before: Any, ranks: Iterable[int], values: Iterable[float]) -> tuple[Any, Fate]:
    """The larger value counts, for each rank; and what became of each report.

    >>> clicks, fate = merge_clicks(np.array([1, 0], np.float32), [0, 1], [1.0, 0.5])
    >>> clicks.tolist(), fate.accepted, fate.duplicate
    ([1.0, 0.5], 1, 1)
    """
    merged = before.copy()
    accepted = duplicate = contradictory = 0
    for rank, value in zip(ranks, values, strict=True):
        if merged[rank] == 0.0:
            accepted += 1
        elif merged[rank] == np.float32(value):
            duplicate += 1
        else:
            contradictory += 1
        merged[rank] = max(merged[rank], np.float32(value))
    return merged, Fate(accepted, duplicate, contradictory)
