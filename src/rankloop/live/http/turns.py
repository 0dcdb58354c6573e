"""Who has shown no key waits for a turn: so many a second for all of them together, address after address.

To make somebody wait costs nothing, while a refusal would only bring the next request. Whoever asks now and then (a
probe, a person about to sign in) is served before the second request of somebody who asks without end.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable


class Turns:
    """A token bucket, one second deep, and a queue for each address in front of it.

    Args:
        rate: turns a second.
        most: who may wait at a time.
    """

    def __init__(self, rate: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._left, self._then = max(1.0, rate), clock()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """In the order in which addresses have their turn."""
        self.waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, address: str) -> bool:
        """Wait for a turn; False if too many wait already."""
        if self.waiting == 0 and self._has_one():
            return True
        if self.waiting >= self._most:
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(address, deque()).append(turn)
        self.waiting += 1
        self._go_on()
        await turn
        return True

    def _has_one(self) -> bool:
        now = self._clock()
        self._left = min(max(1.0, self._rate), self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def _go_on(self) -> None:
        """Wake whoever is next, and look again when there will be another turn."""
        if self._timer is None and self.waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, 1.0 - self._left) / self._rate, self._next)

    def _next(self) -> None:
        self._timer = None
        while self.waiting and self._has_one():
            if not self._wake():
                self._left += 1.0  # who was next has left
        self._go_on()

    def _wake(self) -> bool:
        """Let the next one go on; False if they do not wait any more."""
        address = next(iter(self._queues))
        queue = self._queues.pop(address)
        turn = queue.popleft()
        self.waiting -= 1
        if queue:
            self._queues[address] = queue  # behind all others
        if turn.done():
            return False
        turn.set_result(None)
        return True
