"""The models of a service, as ranking sees them: settings, the newest state, and numbers for impressions."""

import asyncio
import logging
import threading

from rankloop.live.errors import RequestError, StateError, StoreError
from rankloop.live.fold import stand_in
from rankloop.live.loading import load, settings_of
from rankloop.live.ranking import Ranking, Rival
from rankloop.live.stores.contract import Store
from rankloop.live.stores.rows import StoredModel
from rankloop.live.views import View

log = logging.getLogger("rankloop.service")

BLOCK = 10_000
"""Impression numbers are taken from the store in blocks, so that ranking need not ask for each."""
PATIENCE = 30.0
"""Seconds that a caller who wants to see what was learned waits for it."""


class LiveModel:
    """A model that is being served."""

    def __init__(self, store: Store, stored: StoredModel) -> None:
        self.id = stored.id
        self.created = stored.created
        self.made = self.settings = settings_of(stored)
        """As it was made, and as it is: a challenger that was promoted brings its own settings."""
        self.ranking = Ranking(self.settings)
        self._reign = 0
        self._store = store
        self._view: View | None = None
        self._next = 0
        self._last = 0
        self._reserving: asyncio.Task[None] | None = None
        self._published = asyncio.Event()
        """Set when the next state is known; then another one takes its place."""
        self._is_gone = False
        self.prepared = asyncio.Event()
        """Set when all that its pages need is compiled."""

    @property
    def version(self) -> int:
        """Of the newest state known here."""
        return self._view.version if self._view else 0

    def view(self) -> View:
        """The newest state known here."""
        if self._view is None:
            raise StoreError(f"the state of model {self.settings.name!r} is still being loaded")
        return self._view

    @property
    def damage(self) -> str | None:
        """Why its kept state cannot be read, if so: then pages go out in the incoming order."""
        return self._view.damage if self._view else None

    def in_shadow(self) -> RequestError:
        """What is said to whoever asks a challenger for what only a model with pages of its own can give."""
        name, parent = self.settings.name, self.settings.challenges
        said = f"{name!r} learns in shadow, from the pages of {parent!r}; ask {parent!r} instead"
        return RequestError("in_shadow", said)

    def require_whole(self) -> View:
        """The newest state, or a StateError if it cannot be read."""
        if self.damage:
            raise StateError(self.damage)
        return self.view()

    async def until_prepared(self, patience: float) -> None:
        """Return at once if its kernels are compiled; wait for them so long, or a StoreError."""
        try:
            async with asyncio.timeout(patience):
                await self.prepared.wait()
        except TimeoutError:
            raise StoreError(f"model {self.settings.name!r} is being prepared: its kernels are compiled") from None

    async def next_number(self, patience: float) -> int:
        """A number that no other impression of this model has, or a StoreError after so many seconds."""
        if self._next == self._last:
            await self._more_numbers(patience)
        self._next += 1
        return self._next - 1

    async def _more_numbers(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                while self._next == self._last:
                    if self._reserving is None:
                        self._reserving = asyncio.create_task(self._reserve())
                        self._reserving.add_done_callback(self._reserved)
                    # One asks for all: a store that hangs must not be asked again by every request that waits.
                    await asyncio.shield(self._reserving)
        except TimeoutError:
            raise StoreError(f"the store did not respond within {patience:g} s") from None

    async def _reserve(self) -> None:
        first = await asyncio.to_thread(self._store.reserve, self.id, BLOCK)
        self._next, self._last = first, first + BLOCK

    def _reserved(self, task: asyncio.Task[None]) -> None:
        self._reserving = None
        _heard(task)

    def has_applied(self, offset: int) -> bool:
        """Whether the state known here has learned from the log up to an offset."""
        return self._view is not None and self._view.offset >= offset

    async def applied(self, offset: int) -> None:
        """Wait until a state is known here that has learned from the log up to an offset."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not self.has_applied(offset):
                    if self._is_gone:
                        raise self.gone()
                    if self.damage:
                        raise StateError(self.damage)
                    await self._published.wait()
        except TimeoutError:
            raise RequestError(
                "learner_behind", f"it is in the log and safe, but the learner did not get to it within {PATIENCE:g} s"
            ) from None

    def gone(self) -> RequestError:
        """What is said to whoever still asks something of a model that was deleted."""
        return RequestError("model_deleted", f"model {self.settings.name!r} has been deleted")

    def forget(self) -> None:
        """It was deleted: nobody waits for it any longer. Called on the event loop."""
        self._is_gone = True
        self._published.set()

    def publish(self, view: View) -> None:
        """A new state; called on the event loop. Never go back to an older one."""
        if self._view is None or view.offset >= self._view.offset:
            self._view = view
            if view.reign != self._reign:
                self.settings = view.settings or self.made
                self.ranking, self._reign = Ranking(self.settings), view.reign
        self._published.set()
        self._published = asyncio.Event()


class Registry:
    """All models of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._models: dict[str, LiveModel] = {}
        self._ids: dict[int, LiveModel] = {}
        self._newest = 0
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Load what there is."""
        self._loop = loop
        self.refresh()

    def stop(self) -> None:
        """No more news from here on."""
        self._loop = None

    def all(self) -> list[LiveModel]:
        """Every model, in the order of their creation."""
        return sorted(self._models.values(), key=lambda model: model.id)

    def get(self, name: str) -> LiveModel:
        """A model by name."""
        if name not in self._models:
            raise RequestError("no_such_model", f"there is no model {name[:80]!r}; GET /v1/models lists them")
        return self._models[name]

    def challengers_of(self, model: LiveModel) -> list[LiveModel]:
        """The models that learn from its pages in shadow, in the order of their creation."""
        return [other for other in self.all() if other.settings.challenges == model.settings.name]

    async def by_id(self, model: int, patience: float) -> LiveModel:
        """The model of an impression, or a StoreError after so many seconds."""
        if model > self._newest:
            # Another process has just made it, and its pages are clicked here before we have looked.
            await self._look(patience)
        if model not in self._ids:
            raise RequestError("model_deleted", "impression: its model has been deleted")
        return self._ids[model]

    async def _look(self, patience: float) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self.refresh))
            self._looking.add_done_callback(_heard)
        try:
            # One looks for all: a store that hangs must not be asked again by every click that waits.
            await asyncio.wait_for(asyncio.shield(self._looking), patience)
        except TimeoutError:
            raise StoreError(f"the store did not respond within {patience:g} s") from None

    def refresh(self) -> None:
        """Notice models that came or went, and newer states; safe to call from any thread."""
        with self._lock:
            stored = {model.id: model for model in self._store.models()}
            for gone in set(self._ids) - set(stored):
                model = self._ids.pop(gone)
                if self._models.get(model.settings.name) is model:
                    del self._models[model.settings.name]
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(model.forget)
            for known_model in stored.values():
                if known_model.id not in self._ids:
                    self._add(known_model)
            for model_id, (_, offset) in self._store.newest_versions().items():
                known = self._ids.get(model_id)
                if known and not known.has_applied(offset):
                    self.publish(model_id, self._newest_of(stored[model_id]))

    def rivals(self, model: LiveModel, view: View) -> dict[int, Rival] | None:
        """The models whose orders are interleaved with a model's; None if that is not the case, or if one of them is
        gone or cannot be read: then pages are as without the experiment."""
        if view.experiment is None:
            return None
        others = [number for number in view.experiment.models if number not in (0, model.id)]
        known = [self._ids.get(number) for number in others]
        if any(other is None or other.damage or not other.prepared.is_set() for other in known):
            return None
        return {other.id: Rival(other.ranking, other.view()) for other in known if other is not None}

    def _add(self, stored: StoredModel) -> None:
        model = LiveModel(self._store, stored)
        model.publish(self._newest_of(stored))
        self._ids[model.id] = self._models[model.settings.name] = model
        self._newest = max(self._newest, model.id)

    def _newest_of(self, stored: StoredModel) -> View:
        """A model's newest state; if it cannot be read, what stands in for it and says why."""
        try:
            return load(self._store, stored)[0].view()
        except StateError as error:
            log.warning("%s; until then its pages go out in the incoming order", error)
            version, offset = self._store.newest_versions()[stored.id]
            return stand_in(settings_of(stored), version, offset, str(error))

    def publish(self, model: int, view: View) -> None:
        """A new state, from the learner's thread."""
        loop = self._loop
        if loop is not None and model in self._ids:
            loop.call_soon_threadsafe(self._ids[model].publish, view)


def _heard(task: asyncio.Task[None]) -> None:
    """Those who waited for it may have left; what went wrong must not be reported as forgotten."""
    if not task.cancelled():
        task.exception()
