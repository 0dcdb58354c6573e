"""Kernels made ready for the models of a service, before their pages need them."""

import asyncio
import logging

from rankloop.live.registry import LiveModel, Registry
from rankloop.live.rehearsal import rehearse
from rankloop.live.settings import ModelSettings

log = logging.getLogger("rankloop.service")

USUAL = ModelSettings(name="usual", features=2, seed=1)
"""A model with every default, as most first ones are: a service without any has its kernels ready, too."""


class Preparation:
    """What compiles the kernels of a service's models, one after the other."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._task: asyncio.Task[None] | None = None
        self.is_done = False
        """Whether the models that were there at the start are prepared."""

    def begin(self) -> "asyncio.Task[None]":
        """Compile what new models' pages need, in a thread: who asks how the service is does not wait for it."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._prepare())
        return self._task

    async def _prepare(self) -> None:
        if not self.is_done and not self._registry.all():
            await asyncio.to_thread(_rehearse, USUAL)
        while fresh := self._fresh():
            await asyncio.to_thread(_rehearse, fresh[0].settings)
            fresh[0].prepared.set()
        self.is_done = True

    def _fresh(self) -> list[LiveModel]:
        return [model for model in self._registry.all() if not model.prepared.is_set()]

    def unprepared(self) -> list[str]:
        """Models whose kernels are being compiled, in sentences."""
        if not self.is_done and not self._registry.all():
            return ["kernels: those of a first model are compiled; one that is made now waits for them"]
        names = [model.settings.name for model in self._fresh()]
        return [f"kernels: those of {name!r} are compiled; until then it keeps the incoming order" for name in names]


def _rehearse(settings: ModelSettings) -> None:
    try:
        rehearse(settings)
    except Exception:
        log.exception("model %r could not be rehearsed; its first page may take long", settings.name)
