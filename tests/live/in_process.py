"""The service without HTTP, in this process: a store in one file, one model, pages ranked and clicked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from tests.patience import PATIENCE

from rankloop.live import models
from rankloop.live.requests import ClickBody, RankBody
from rankloop.live.service import Ranked, Service
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store

from .diary import FOR_ALL

T = TypeVar("T")

X = np.random.default_rng(11).normal(size=(6, 3)).astype(np.float32)
IDS = [f"d{place}" for place in range(len(X))]


def model(**more: Any) -> ModelSettings:
    """Settings of a model for the pages of `X`, for everybody."""
    usual = {"features": 3, "page_size": 3, "seed": 7, "scaling": "none", "guards": FOR_ALL}
    return ModelSettings(name="m", **(usual | more))


def told(story: Coroutine[Any, Any, T]) -> T:
    """What a story ends with."""
    try:
        return asyncio.run(asyncio.wait_for(story, PATIENCE))
    except TimeoutError:
        raise AssertionError(f"the story did not end within {PATIENCE:g} s") from None


@asynccontextmanager
async def running(path: Path, *settings: ModelSettings, **options: Any) -> AsyncIterator[Service]:
    """A service with these models, made if they are new."""
    service = Service(open_store(path), **options)
    await service.start()
    try:
        known = {model.settings.name for model in service.registry.all()}
        for wanted in settings:
            if wanted.name not in known:
                await models.create_model(service, wanted)
        await service.preparation.begin()
        yield service
    finally:
        await service.stop()


async def rank(service: Service, X: np.ndarray = X, name: str = "m", **more: Any) -> Ranked:
    """A page for these candidates, `d0`, `d1`, …"""
    ids = [f"d{place}" for place in range(len(X))]
    matrix = np.ascontiguousarray(X, "<f4").tobytes()
    return await service.rank(name, RankBody(ids=ids, matrix=matrix, **more))


async def click(service: Service, impression: str | None, clicks: Any, close: bool = False) -> Any:
    """Report clicks on one page; what became of them."""
    assert impression is not None
    [answer] = await service.click([ClickBody(impression, clicks, close)])
    return answer


async def until(holds: Callable[[], Any]) -> None:
    """Wait for something that happens by itself."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"what was awaited did not happen within {PATIENCE:g} s") from None


def weights(service: Service, name: str = "m") -> np.ndarray:
    """What ranking ranks with."""
    return service.registry.get(name).view().model.ranker.weights
