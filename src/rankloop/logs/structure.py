"""What must be true of any log, event by event: no gaps, bodies that can be read, closings that fit their pages.

Nothing is folded here. What is open at the end must be what the store's table of open impressions says.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from rankloop.live.events import Clicks, Closing, Event, Impression, Kind, Late, decode
from rankloop.live.loading import misshapen
from rankloop.live.log import merged
from rankloop.live.settings import ModelSettings, stored_settings
from rankloop.live.stores.rows import Open

Waiting = tuple[int, Any, Any]
"""Where an open impression was shown, what has been clicked so far, float32 per rank, and, where actions are told
apart, what happened, 16 bits per rank."""


class ModelRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of the table of models, deleted ones too."""

    id: int
    name: str
    settings: bytes
    created: int
    deleted: int | None
    next_number: int


class Structure:
    """Follows a log from its first event; `problems` are sentences.

    `compacted` is the offset below which events may be missing: they were deleted on purpose.
    """

    def __init__(self, models: Iterable[ModelRow], compacted: int) -> None:
        self.problems: list[str] = []
        self._models = {row.id: row for row in models}
        self.settings = {id: self._parsed(row) for id, row in self._models.items()}
        """Of each model; None if they cannot be read."""
        self._compacted = compacted
        self._open: dict[tuple[int, int], Waiting] = {}
        self._older: set[tuple[int, int]] = set()
        """Impressions that were clicked, but shown before what is left of the log."""
        self.next = 1
        """Where the next event should be."""

    def take(self, event: Event) -> bool:
        """Check one event; whether it can be folded."""
        self._check_place(event)
        if event.model not in self._models:
            return self._wrong(event, f"it is of model {event.model}, and there is none")
        if event.kind not in Kind._value2member_map_:
            return self._wrong(event, f"{event.kind} is no kind of event")
        try:
            body = decode(event.kind, event.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._wrong(event, f"its body cannot be read ({error})")
        key = event.model, event.number
        match event.kind:
            case Kind.SHOWN:
                return self._shown(event, body)
            case Kind.CLICKED:
                return self._clicked(event, body)
            case Kind.CLOSED:
                return self._closed(event, body)
            case Kind.LATE:
                return self._late(event, body)
            case Kind.ERASED:
                self._open.pop(key, None)
                self._older.discard(key)
            case Kind.DELETED:
                self._open = {other: row for other, row in self._open.items() if other[0] != event.model}
                self._older = {other for other in self._older if other[0] != event.model}
        return True

    def end(self, last: int, rows: Iterable[Open]) -> None:
        """Compare what is open now with the store's own table."""
        if self.next <= last:
            self.problems.append(f"the log should end at {last}, and ends at {self.next - 1}")
        for model, number in sorted(self._older):
            self.problems.append(f"impression {number} of {self._name(model)} was clicked, but never shown or closed")
        table = {(row.model, row.number): row for row in rows}
        for key in sorted(set(table) ^ set(self._open)):
            where = "is open in the table, but not in the log" if key in table else "should be open, and is not"
            self.problems.append(f"impression {key[1]} of {self._name(key[0])} {where}")
        for key in sorted(set(table) & set(self._open)):
            shown, clicks, actions = self._open[key]
            if table[key][2:3] + table[key][6:] != (shown, clicks.tobytes(), actions.tobytes()):
                self.problems.append(
                    f"impression {key[1]} of {self._name(key[0])}: what the table of open impressions says of it is "
                    f"not what the log says"
                )

    def _check_place(self, event: Event) -> None:
        missing = range(max(self.next, self._compacted), event.offset)
        if missing:
            events = f"events {missing[0]} to {missing[-1]} are" if len(missing) > 1 else f"event {missing[0]} is"
            self.problems.append(f"{events} missing")
        self.next = event.offset + 1

    def _shown(self, event: Event, impression: Impression) -> bool:
        settings = self.settings[event.model]
        if settings is not None and (why := misshapen(impression, settings)):
            return self._wrong(event, why)
        if event.number >= self._models[event.model].next_number:
            return self._wrong(event, f"impression {event.number} has a number that was never given out")
        if (event.model, event.number) in self._open:
            return self._wrong(event, f"impression {event.number} was shown already")
        ranks = len(impression.page)
        told_apart = np.zeros(ranks if settings is not None and settings.has_actions else 0, "<u2")
        self._open[event.model, event.number] = event.offset, np.zeros(ranks, np.float32), told_apart
        return True

    def _clicked(self, event: Event, clicks: Clicks) -> bool:
        waiting = self._open.get((event.model, event.number))
        if clicks.late:
            return True
        if waiting is None:
            if not self._compacted:
                return self._wrong(event, f"impression {event.number}, which it is about, is not open")
            # Its page may have been compacted away; its closing will show it.
            self._older.add((event.model, event.number))
            return True
        shown, before, known = waiting
        if len(clicks.ranks) != len(clicks.values) or any(not 0 <= rank < len(before) for rank in clicks.ranks):
            return self._wrong(event, "it clicks on ranks that the page does not have")
        if len(known) and (len(clicks.actions) != len(clicks.ranks) or not all(0 <= a < 16 for a in clicks.actions)):
            return self._wrong(event, "it does not say what happened to each of its documents")
        self._open[event.model, event.number] = shown, *merged(before, known, clicks)[:2]
        return True

    def _late(self, event: Event, late: Late) -> bool:
        """What came late adds to a page that was closed; nothing is ever taken back."""
        before, after = np.array(late.before), np.array(late.clicks)
        known, actions = np.array(late.actions_before, int), np.array(late.actions, int)
        if len({len(before), len(after), len(known), len(actions)}) > 1:
            return self._wrong(event, "it has more to say of some ranks than of others")
        if not late.shown < late.closed < event.offset:
            return self._wrong(event, f"its page is event {late.shown} and was closed by {late.closed}, not before it")
        if (after < before).any() or (after > 1).any() or (known & ~actions).any():
            return self._wrong(event, "it takes back what happened before")
        return True

    def _closed(self, event: Event, closing: Closing) -> bool:
        waiting = self._open.pop((event.model, event.number), None)
        self._older.discard((event.model, event.number))
        if waiting is None:
            if closing.shown < self._compacted:
                return True
            return self._wrong(event, f"it closes impression {event.number}, which is not open")
        if waiting[0] != closing.shown:
            return self._wrong(event, f"it says that its page is event {closing.shown}, which is event {waiting[0]}")
        if (waiting[1].tolist(), waiting[2].tolist()) != (closing.clicks, closing.actions):
            return self._wrong(event, f"its clicks {closing.clicks} are not those that were reported")
        return True

    def _parsed(self, row: ModelRow) -> ModelSettings | None:
        try:
            return stored_settings(row.settings)
        except (msgspec.DecodeError, ValueError) as error:
            self.problems.append(f"the settings of model {row.name!r} cannot be read: {error}")
            return None

    def _name(self, model: int) -> str:
        return self._models[model].name if model in self._models else f"model {model}"

    def _wrong(self, event: Event, why: str) -> bool:
        self.problems.append(f"event {event.offset}: {why}")
        return False
