"""So many turns a second, address after address, and no more who wait than may."""

import asyncio

import pytest
from tests.patience import PATIENCE

from rankloop.live.http.turns import Turns


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


async def waiting(turns, count):
    while turns.waiting != count:
        await asyncio.sleep(0)


def test_as_many_as_there_are_turns_do_not_wait(clock):
    async def ask():
        turns = Turns(3.0, 0, clock)
        taken = [await turns.take("a") for _ in range(4)]
        clock.now = 0.5
        return taken, [await turns.take("a") for _ in range(2)]

    assert asyncio.run(ask()) == ([True, True, True, False], [True, False])


def test_addresses_have_their_turn_one_after_the_other(clock):
    served = []

    async def ask(turns, address):
        assert await turns.take(address)
        served.append(address)

    async def crowd():
        turns = Turns(1.0, 10, clock)
        assert await turns.take("first")
        tasks = [asyncio.create_task(ask(turns, address)) for address in "aaaabbc"]
        await waiting(turns, 7)
        for second in range(1, 8):
            clock.now = float(second)
            turns._next()
            await waiting(turns, 7 - second)
        await asyncio.gather(*tasks)

    asyncio.run(crowd())
    assert "".join(served) == "abcabaa"


def test_no_more_wait_than_may(clock):
    async def crowd():
        turns = Turns(1.0, 2, clock)
        assert await turns.take("a")
        tasks = [asyncio.create_task(turns.take("a")) for _ in range(2)]
        await waiting(turns, 2)
        assert not await turns.take("b")
        clock.now = 10.0
        for place in range(2):
            turns._left = 1.0
            turns._next()
            await waiting(turns, 1 - place)
        assert await asyncio.gather(*tasks) == [True, True]

    asyncio.run(crowd())


def test_who_waits_is_woken_when_it_is_time():
    async def crowd():
        turns = Turns(1000.0, 5_000)
        async with asyncio.timeout(PATIENCE):
            assert all(await asyncio.gather(*(turns.take("a") for _ in range(1500))))
        assert turns.waiting == 0

    asyncio.run(crowd())


def test_who_has_left_costs_no_one_else_their_turn(clock):
    async def crowd():
        turns = Turns(1.0, 2, clock)
        assert await turns.take("a")
        leaving = asyncio.create_task(turns.take("a"))
        await waiting(turns, 1)
        leaving.cancel()
        staying = asyncio.create_task(turns.take("a"))
        await waiting(turns, 2)
        clock.now = 1.0
        turns._next()
        async with asyncio.timeout(PATIENCE):
            assert await staying

    asyncio.run(crowd())
