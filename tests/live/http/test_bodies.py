"""Bodies have a size each, and large ones a number of bytes all together, of which one key has half."""

import asyncio

import pytest

from rankloop.live.errors import RequestError
from rankloop.live.http.bodies import SMALL, Body, Room
from rankloop.live.requests import Limits

from .conftest import ROWS
from .running import Running

MIB = 1 << 20


@pytest.fixture
def room():
    """Room for eight megabytes."""
    return Room(Limits(body_bytes=4 * MIB, bodies_bytes=8 * MIB))


def begun(room, key, size, *, declared=True):
    """A body of which a part has arrived and the rest does not come."""

    async def receive():
        if told.pop("first", False):
            return {"type": "http.request", "body": b"a" * size, "more_body": True}
        return await asyncio.Event().wait()

    told = {"first": True}
    body = Body(room)
    body.key = key
    headers = {b"content-length": str(size + 1).encode()} if declared else {}
    return body, asyncio.create_task(body.read(receive, headers, 4 * MIB))


async def arrive():
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("declared", [True, False])
def test_stalled_bodies_take_no_more_than_there_is_and_no_key_takes_all(room, declared):
    async def stall():
        greedy = [begun(room, "greedy", MIB, declared=declared) for _ in range(150)]
        await arrive()
        assert 3 * MIB <= room.held <= 4 * MIB + 4
        refused = [task.exception() for _, task in greedy if task.done()]
        assert len(refused) >= 146
        assert {error.code for error in refused} == {"busy"}
        _, modest = begun(room, "modest", MIB, declared=declared)
        await arrive()
        assert not modest.done()
        for body, task in greedy:
            task.cancel()
            body.leave()
            body.leave()
        assert room.held <= MIB + 1
        modest.cancel()

    asyncio.run(stall())


def test_small_bodies_are_always_let_in(room):
    async def stall():
        for _ in range(4):
            begun(room, "greedy", MIB, declared=False)
        await arrive()
        small = [begun(room, "greedy", SMALL - 1) for _ in range(100)]
        await arrive()
        assert not any(task.done() for _, task in small)

    asyncio.run(stall())


@pytest.mark.parametrize("headers", [{b"content-length": b"99999999999999999999"}, {b"content-length": b"4194305"}, {}])
def test_more_than_allowed_is_not_read(room, headers):
    async def endless():
        return {"type": "http.request", "body": b"a" * MIB, "more_body": True}

    with pytest.raises(RequestError, match="at most 4,194,304 bytes"):
        asyncio.run(Body(room).read(endless, headers, 4 * MIB))


def test_what_was_answered_is_held_no_more(tmp_path):
    with Running(tmp_path / "log.db") as app:
        app.model("shop", 2, scaling="none")
        assert app.rank("shop", ROWS, query="x")["ranking"]
        for body in (b"{" + b" " * MIB, b" " * (5 * MIB)):
            assert app.post("/v1/clicks", content=body).status_code in (400, 413)
        assert app.post("/v1/models/none/rank", content=b" " * MIB).status_code == 404
        assert app.app.room.held == 0
