"""Alerts of a running service: told when they begin and end, also after a restart, and by the process that learns."""

import numpy as np
import pytest

from rankloop.live.learning import Learner
from rankloop.live.watching import BLOCK, REFERENCE
from rankloop.logs.verifying import verify

from .in_process import click, model, rank, running, told, until

SHOP = model()
rng = np.random.default_rng(5)


async def pages(service, count, price=1.0):
    """Pages whose second feature is multiplied, learned from."""
    for place in range(count):
        X = rng.normal(size=(6, 3)).astype(np.float32)
        X[:, 1] *= price
        page = await rank(service, X, client=f"somebody-{rng.integers(10**9)}")
        await click(service, page.impression, page.ranking[:1])
        await service.close(page.impression, wait=place == count - 1)


@pytest.mark.slow
def test_a_feature_goes_missing_and_comes_back(tmp_path):
    path, heard = tmp_path / "log.db", []

    async def story():
        async with running(path, SHOP) as service:
            service.alarms._tell = heard.append
            await pages(service, REFERENCE)
            service.alarms.look()
            assert heard == []
            await pages(service, BLOCK, price=0.0)
            service.alarms.look()
            service.alarms.look()
            assert [(one.kind, one.subject, one.ended) for one in heard] == [("missing", "f2", None)]
            assert [one.id for one in service.alarms.open()] == [heard[0].id]
        async with running(path) as service:
            service.alarms._tell = heard.append
            [one] = service.alarms.of(service.registry.get("m"))
            assert one == heard[0]
            await pages(service, BLOCK)
            service.alarms.look()
            assert (heard[-1].id, heard[-1].ended is None) == (one.id, False)
            assert service.alarms.open() == []
        async with running(path, learn=False) as service:
            return service.alarms.of(service.registry.get("m"))

    assert [(one.kind, one.ended is None) for one in told(story())] == [("missing", False)]
    assert verify(path).problems == []


def test_a_learner_in_trouble_is_told_until_it_recovers(tmp_path, monkeypatch):
    heard = []

    async def story():
        async with running(tmp_path / "log.db", SHOP) as service:
            service.alarms._tell = heard.append
            await until(service.folds)
            service.alarms.look()
            monkeypatch.setattr(Learner, "alive", property(lambda self: False))
            service.alarms.look()
            assert [(one.kind, one.ended) for one in heard] == [("learner", None)]
            monkeypatch.undo()
            service.alarms.look()
            assert [one.ended is None for one in heard] == [True, False]
            # While learning is tried again, its states are let go of.
            monkeypatch.setattr(service.alarms, "_trouble", lambda: "learning waits: the disk is full.")
            monkeypatch.setattr(service, "folds", dict)
            service.alarms.look()
            assert heard[-1].sentence == "Nothing is learned: learning waits: the disk is full."
            monkeypatch.undo()

    told(story())
