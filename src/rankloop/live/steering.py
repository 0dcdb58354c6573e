"""An alarm while a service runs: does what a model learns come from few clients, who all click for the same?

Every two minutes the newest pages of one model are looked through, off the event loop, with a rest after every few of
them; so it costs the same however many models and pages there are. `rankloop log suspects` looks at more, and names
them.
"""

import logging
import time
from collections.abc import Callable, Sequence

from rankloop.live.errors import StateError
from rankloop.live.events import Kind, decode
from rankloop.live.loading import closed_impression
from rankloop.live.registry import LiveModel
from rankloop.live.stores.contract import Store
from rankloop.live.suspicion import Page, Suspects, Suspicion, suspects_among

log = logging.getLogger("rankloop.steering")

EVERY_SECONDS = 120.0
PAGES = 5_000
BYTES = 32 << 20
"""Of pages that are looked through at most, in whatever they are larger."""
FEW = 20
"""Pages after which it rests as long as they took: who waits for a page goes first."""


class Steering:
    """Looks for suspects among the clients of one model after the other; `found` is what it last saw of each."""

    def __init__(self, store: Store) -> None:
        self.found: dict[int, Suspects] = {}
        self._store = store
        self._looked: dict[int, int] = {}
        """Each model's version when it was looked at, the longest ago first."""
        self._stopped = False

    def stop(self) -> None:
        """No more of it."""
        self._stopped = True

    def look(self, models: Sequence[LiveModel]) -> None:
        """Look at that of the models which has learned something and was not looked at for longest."""
        known = {model.id: model for model in models}
        self.found = {number: suspects for number, suspects in self.found.items() if number in known}
        order = [*(known.keys() - self._looked.keys()), *(number for number in self._looked if number in known)]
        for number in order:
            if self._looked.pop(number, -1) != (version := known[number].version):
                pages = self._newest_pages(number)
                self._found(known[number], suspects_among(pages, known[number].settings, self._rested()))
                self._looked[number] = version
                return
            self._looked[number] = version

    def _newest_pages(self, model: int) -> list[Page]:
        pages: list[Page] = []
        size, rest = 0, self._rested()
        for event in self._store.newest_closings(model, PAGES):
            rest()
            try:
                page = closed_impression(self._store, event)
            except StateError:  # it cannot be read, as verifying tells
                continue
            size += len(page.body) if page else 0
            if self._stopped or size > BYTES:
                break
            if page is not None and page.kind == Kind.SHOWN:
                pages.append((page, decode(event.kind, event.body)))
        return pages

    def _rested(self) -> Callable[[], None]:
        """To be called for each page: rests now and then, until it is stopped."""
        done, began = 0, time.monotonic()

        def rest() -> None:
            nonlocal done, began
            done += 1
            if done % FEW == 0 and not self._stopped:
                time.sleep(time.monotonic() - began)
                began = time.monotonic()

        return rest

    def _found(self, model: LiveModel, suspects: Suspects) -> None:
        """Remember it, and say what is new."""
        before = self.found.get(model.id)
        known = {_what(one) for one in before.found} if before else set()
        self.found[model.id] = suspects
        for one in suspects.found:
            if _what(one) not in known:
                log.warning(
                    "model %r: %d clients with %.0f %% of its newest pages click for %s as nobody else does, and are "
                    "%.0f %% of what speaks for it; look at them: rankloop log suspects LOG --model %s",
                    model.settings.name, len(one.clients), 100 * one.pages, thing(one), 100 * one.gain,
                    model.settings.name,
                )  # fmt: skip


def thing(suspicion: Suspicion) -> str:
    """What is clicked for; a document's id stays in the log.

    >>> thing(Suspicion("feature", "price", "less", [], 0.1, 0.5))
    'less price'
    """
    return "one document" if suspicion.kind == "document" else f"{suspicion.direction} {suspicion.name}"


def _what(suspicion: Suspicion) -> tuple[str, str, str]:
    return suspicion.kind, suspicion.name, suspicion.direction
