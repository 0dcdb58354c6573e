"""What is done again and again goes on, whatever goes wrong, and says so."""

import asyncio

import pytest
from tests.patience import PATIENCE

from rankloop.live import repeating
from rankloop.live.errors import StoreError

from .in_process import told


@pytest.mark.parametrize(("wrong", "said"), [(StoreError("away"), False), (ZeroDivisionError("a fault"), True)])
def test_work_goes_on_after_an_error_and_only_a_fault_is_logged(wrong, said, monkeypatch, caplog):
    """A store that is away has been told by whoever noticed it first."""
    monkeypatch.setattr(repeating, "PAUSE", 0.0)
    done = 0

    async def story():
        again = asyncio.Event()

        async def work():
            nonlocal done
            done += 1
            if done == 1:
                raise wrong
            again.set()

        task = asyncio.create_task(repeating.repeat(work, 0.0, "keys were not looked at"))
        try:
            await asyncio.wait_for(again.wait(), PATIENCE)
        finally:
            task.cancel()

    told(story())
    assert done >= 2
    assert ("keys were not looked at; trying again" in caplog.text) == said
