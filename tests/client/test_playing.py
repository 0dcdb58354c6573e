"""One conversation is a method of both clients: it waits in one, and is awaited in the other."""

import asyncio
import inspect
from typing import Any

from rankloop.client.conversation import Talk
from rankloop.client.playing import awaits, waits


class Waiting:
    """Plays a conversation with somebody who answers every question with its length."""

    def _play(self, talk):
        try:
            asked = next(talk)
            while True:
                asked = talk.send(len(asked))
        except StopIteration as done:
            return done.value

    @waits
    def both(self, first: str, *, second: str = "no") -> Talk[int]:
        """Ask twice."""
        one: Any = yield first
        return one + (yield second)


class Awaiting:
    async def _play(self, talk):
        return Waiting()._play(talk)

    both = awaits(Waiting.both)


def test_a_conversation_is_played_to_its_end():
    assert Waiting().both("what") == 6
    assert asyncio.run(Awaiting().both("what", second="why")) == 7


def test_callers_see_what_it_ends_with_and_its_own_arguments():
    for method in (Waiting.both, Awaiting.both):
        seen = inspect.signature(method)
        assert seen.return_annotation is int
        assert list(seen.parameters) == ["self", "first", "second"]
        assert (method.__name__, method.__doc__) == ("both", "Ask twice.")
