"""How facts get into the log: group commit, and the rules for what a click or a closing means.

Requests wait in a queue; the writer takes all that wait, settles them in one transaction, and only when that is on
disk are they acknowledged. So a hundred requests share one sync, and nothing acknowledged can be lost.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from rankloop.live import tracing
from rankloop.live.errors import StoreError
from rankloop.live.events import Clicks, Closing, Event, Kind, encode, now
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import SPANS, Open, Tally
from rankloop.live.stores.transaction import Transaction

log = logging.getLogger("rankloop.store")

MINUTE = 60_000
BATCH = 512
"""How many entries share a transaction at most: enough to share a sync, few enough to keep the wait short."""
GATHER_SECONDS = 0.0015
"""How long the writer lets entries gather when they come faster than one by one."""

BEAT_SECONDS = 5.0
"""How often a writer writes something though nobody asks for it, so that it is known whether it could."""
RETRY_SECONDS = 1.0
"""The same after a write that failed."""
SLOW_SECONDS = 2.0
"""A write that takes longer than this is trouble."""
END_SECONDS = 10.0
"""How long a writer that is to end may take for what waits."""


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


class Click(NamedTuple):
    """Documents were clicked. Acknowledged with a `Fate`."""

    model: int
    number: int
    at: int
    ranks: list[int]
    values: list[float]


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


Acknowledged = list[tuple[Any, Any, Exception | None]]
"""(future, result, error) of the entries of one transaction."""


def deliver(acknowledged: Acknowledged) -> None:
    """Tell each caller what became of their entry."""
    for future, result, error in acknowledged:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
            future.exception()  # A caller who has left must not make the event loop complain.


WAITING_BYTES = 256 << 20
"""Of entries that wait for the store: while it hangs, those that were given up on wait too, and more come."""
EACH = 500
"""Bytes of an entry beside its body."""


class _Waiting(NamedTuple):
    """Entries that wait for a transaction, and who waits for them."""

    entries: Sequence[Entry]
    future: Any
    alone: bool
    """Whether its result is one entry's, and not a list."""
    belongs: Any
    """The trace of whoever asked, if that is followed."""

    def closed(self) -> list[tuple[int, int]]:
        """The pages that it closes."""
        return [(entry.model, entry.number) for entry in self.entries if isinstance(entry, Close)]

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return sum(EACH + len(getattr(entry, "body", b"")) for entry in self.entries)


class Writer:
    """A thread that writes down what a service's requests bring. Others write too, here and in other processes: whoever
    does holds the log, through `Store.transaction`.

    `delivery` takes the acknowledgements of a transaction, all at once, in the writer's thread; `committed` is called
    after each transaction that changed something.
    """

    def __init__(
        self,
        store: Store,
        committed: Callable[[], None] = lambda: None,
        delivery: Callable[[Acknowledged], None] = deliver,
    ) -> None:
        self._store = store
        self._committed = committed
        self._delivery = delivery
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._counting = threading.Lock()
        self._under_load = False
        self._stopped = False
        self._failure: str | None = None
        """Why the last write failed, if it did."""
        self._writing_since: float | None = None
        self._thread = self._started()

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="rankloop-log", daemon=True)
        thread.start()
        return thread

    def trouble(self) -> str | None:
        """Why nothing can be written at the moment, known without asking the store; None if something just was."""
        since = self._writing_since
        if not self._thread.is_alive():
            return "its writer has stopped"
        if since is not None and time.monotonic() - since > SLOW_SECONDS:
            return f"it has not answered for {time.monotonic() - since:.0f} s"
        return self._failure

    def watch(self) -> None:
        """Start the thread again if it has died: whatever killed it, what comes next is written."""
        if not self._thread.is_alive() and not self._stopped:
            log.error("the writer had stopped; it is started again")
            self._writing_since = None
            self._thread = self._started()

    def append(self, entry: Entry, future: Any = None) -> Any:
        """Acknowledged by the future's result, once it is durable; an error means that nothing was written.

        Any kind of future will do, as long as `delivery` knows how to reach it.
        """
        return self._put(_Waiting([entry], Future() if future is None else future, True, tracing.current()))

    def append_all(self, entries: Sequence[Entry], future: Any = None) -> Any:
        """The same for several, in one transaction; the future's result is the list of theirs. Refused at once if more
        waits than memory should hold."""
        if self._waiting_bytes > WAITING_BYTES:
            raise StoreError("it is behind, and too much waits for it already")
        return self._put(_Waiting(entries, Future() if future is None else future, False, tracing.current()))

    def _put(self, waiting: _Waiting) -> Any:
        with self._counting:
            self._waiting_bytes += waiting.bytes
        self._waiting.put(waiting)
        return waiting.future

    def stop(self) -> None:
        """Write what waits, then end; a store that does not answer is not waited for."""
        self._stopped = True
        self._waiting.put(None)
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            log.error("the store did not answer for %g s; what waited for it was not acknowledged", END_SECONDS)

    def _run(self) -> None:
        last = False
        while not last:
            batch, last = self._next_batch()
            self._writing_since = time.monotonic()
            try:
                if batch:
                    self._write(batch)
                elif not last:
                    self._beat()
            except Exception:
                log.exception("what was written could not be acknowledged; the writer goes on")
            with self._counting:
                self._waiting_bytes -= sum(waiting.bytes for waiting in batch)
            self._writing_since = None
            self._under_load = not self._waiting.empty()

    def _beat(self) -> None:
        """Nobody has written for a while: would it work?"""
        try:
            with self._store.transaction() as transaction:
                transaction.beat(now())
            self._failure = None
        except Exception as error:
            self._failure = str(error)

    def _next_batch(self) -> tuple[list[_Waiting], bool]:
        """Everything that waits, up to a limit; waits for the first."""
        batch: list[_Waiting] = []
        try:
            item = self._waiting.get(timeout=BEAT_SECONDS if self._failure is None else RETRY_SECONDS)
        except queue.Empty:
            return batch, False
        if self._under_load:
            # More came while the last were written. A moment later there will be several, and they share a commit.
            time.sleep(GATHER_SECONDS)
        while item is not None:
            batch.append(item)
            if len(batch) >= BATCH:
                return batch, False
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[_Waiting]) -> None:
        # Who has given up, or left, was told that nothing is promised: nobody would see that page.
        batch = [waiting for waiting in batch if not waiting.future.done()]
        if not batch:
            return
        began = time.time_ns()
        try:
            with self._store.transaction() as transaction:
                results = settle(transaction, [entry for waiting in batch for entry in waiting.entries])
        except Exception as error:
            self._failure = str(error)
            self._delivery([(waiting.future, None, error) for waiting in batch])
            return
        self._failure = None
        tracing.committed(((waiting.belongs, waiting.closed()) for waiting in batch), began)
        result = iter(results)
        self._delivery([
            (waiting.future, next(result) if waiting.alone else [next(result) for _ in waiting.entries], None)
            for waiting in batch
        ])  # fmt: skip
        self._committed()


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
                return self._add(entry.model, entry.kind, 0, entry.at, b"", entry.body)

    def _add(self, model: int, kind: Kind, number: int, at: int, client: bytes, body: bytes) -> int:
        offset = self.offset
        self.events.append(Event(offset, model, int(kind), number, at, client, body))
        self.offset += 1
        return offset

    def _show(self, entry: Show) -> int:
        key = entry.model, entry.number
        offset = self._add(entry.model, Kind.SHOWN, entry.number, entry.at, entry.client, entry.body)
        self.opened[key] = Open(*key, offset, entry.at, entry.group, entry.displacement, bytes(4 * entry.ranks))
        return offset

    def _find(self, key: tuple[int, int]) -> Open | None:
        return self.opened.get(key) or self.open.get(key)

    def _click(self, entry: Click) -> Fate:
        key = entry.model, entry.number
        row = self._find(key)
        late = row is None
        body = encode(Clicks(entry.ranks, entry.values, late))
        self._add(entry.model, Kind.CLICKED, entry.number, entry.at, b"", body)
        if row is None:
            return Fate(late=len(entry.ranks), closed=True)
        values, fate = merge_clicks(np.frombuffer(row.clicks, "<f4"), entry.ranks, entry.values)
        row = row._replace(clicks=values.tobytes())
        if key in self.opened:
            self.opened[key] = row
        else:
            self.open[key] = row
            self.clicked.add(key)
        return fate

    def _close(self, entry: Close) -> int | None:
        key = entry.model, entry.number
        row = self._find(key)
        if row is None:
            return None
        clicks = np.frombuffer(row.clicks, "<f4")
        offset = self._add(
            entry.model, Kind.CLOSED, entry.number, entry.at, b"",
            encode(Closing(row.shown, clicks.tolist(), entry.why)),
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


def merge_clicks(before: Any, ranks: Iterable[int], values: Iterable[float]) -> tuple[Any, Fate]:
    """The larger value counts, for each rank; and what became of each report.

    >>> merge_clicks(np.array([1, 0], np.float32), [0, 1], [1.0, 0.5])
    (array([1. , 0.5], dtype=float32), Fate(accepted=1, duplicate=1, contradictory=0, late=0, closed=False))
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
