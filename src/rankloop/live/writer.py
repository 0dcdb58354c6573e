"""How facts get into the log: group commit.

Requests wait in a queue; the writer takes all that wait, settles them in one transaction, and only when that is on
disk are they acknowledged. So a hundred requests share one sync, and nothing acknowledged can be lost.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from rankloop.live import tracing
from rankloop.live.errors import StoreError
from rankloop.live.events import now
from rankloop.live.log import Close, Entry, settle
from rankloop.live.stores.contract import Store

log = logging.getLogger("rankloop.store")

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
        tracing.closing((waiting.belongs, waiting.closed()) for waiting in batch)
        try:
            with self._store.transaction() as transaction:
                results = settle(transaction, [entry for waiting in batch for entry in waiting.entries])
        except Exception as error:
            self._failure = str(error)
            self._delivery([(waiting.future, None, error) for waiting in batch])
            return
        self._failure = None
        tracing.committed((waiting.belongs for waiting in batch), began)
        result = iter(results)
        self._delivery([
            (waiting.future, next(result) if waiting.alone else [next(result) for _ in waiting.entries], None)
            for waiting in batch
        ])  # fmt: skip
        self._committed()
