"""The learner is down, slow or failing: pages go on with what it had learned."""

import asyncio
import threading

import pytest
from tests.patience import PATIENCE

from rankloop.live import learning
from rankloop.live.events import Kind
from rankloop.live.fold import Fold
from rankloop.live.settings import Weights

from .in_process import click, model, rank, running, told, until, weights


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


def test_when_the_learner_has_stopped_ranking_goes_on_with_the_last_version(path):
    async def story():
        async with running(path, model(start=Weights((5.0, 0.0, 0.0)))) as service:
            page = await rank(service)
            await service.close(page.impression, wait=True)
            last = weights(service).tolist()
            await asyncio.to_thread(service.learner.stop)
            pages = [await rank(service) for _ in range(3)]
            for page in pages:
                await service.close(page.impression)
            told = {(page.group, page.version) for page in pages}, weights(service).tolist() == last, service.trouble()
        async with running(path) as service:
            await until(lambda: service.registry.get("m").version == 4)  # nothing was forgotten
        return told

    groups, same, [trouble] = told(story())
    assert groups == {("learned", 1)}
    assert same
    assert "learner: it has stopped" in trouble


def test_when_the_learner_is_slow_ranking_goes_on_with_the_last_version(path, monkeypatch):
    go_on, begun = threading.Event(), threading.Event()
    real = Fold.apply

    def slow(self, event, shown=None):
        begun.set()
        go_on.wait(PATIENCE)
        return real(self, event, shown)

    monkeypatch.setattr("rankloop.live.preparing.rehearse", lambda settings: None)
    monkeypatch.setattr(Fold, "apply", slow)

    async def story():
        async with running(path, model()) as service:
            page = await rank(service)
            await service.close(page.impression)
            await asyncio.to_thread(begun.wait, PATIENCE)
            meanwhile = [(page.group, page.version) for page in [await rank(service) for _ in range(5)]]
            waiting = asyncio.create_task(service.close((await rank(service)).impression, wait=True))
            await asyncio.sleep(0)
            early = waiting.done()
            go_on.set()
            return meanwhile, early, (await waiting).version

    assert told(story()) == ([("learned", 0)] * 5, False, 2)


def test_a_learner_that_fails_says_so_and_goes_on_by_itself_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(learning.time, "sleep", lambda seconds: None)
    real = Fold.apply
    failing = threading.Event()

    def fragile(self, event, shown=None):
        if failing.is_set() and event.kind == Kind.CLOSED:
            self.ranker.model.ranker.weights[:] = 77.0  # half an update, and then
            raise MemoryError("no room")
        return real(self, event, shown)

    monkeypatch.setattr(Fold, "apply", fragile)

    async def story(path, fails: bool):
        async with running(path, model()) as service:
            for number in range(6):
                if number == 3 and fails:
                    failing.set()
                page = await rank(service)
                await click(service, page.impression, page.ranking[:1])
                await service.close(page.impression, wait=number < 3)
                if number == 3 and fails:
                    await until(lambda: service.learner.error)
                    trouble, alive = service.trouble(), service.learner.alive
                    assert weights(service).max() < 77.0
                    failing.clear()
                await until(lambda number=number: service.registry.get("m").version == number + 1)
            await until(lambda: not service.trouble())
            return (trouble, alive) if fails else None, weights(service).tobytes()

    _, untroubled = told(story(tmp_path / "a.db", fails=False))
    ([trouble], alive), troubled = told(story(tmp_path / "b.db", fails=True))
    assert "learning failed" in trouble
    assert "no room" in trouble
    assert alive
    assert troubled == untroubled
