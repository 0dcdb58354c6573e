"""Work that a service does again and again, beside what it is asked for."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from rankloop.live.errors import StoreError

log = logging.getLogger("rankloop.service")
PAUSE = 0.5
"""Seconds of rest after something went wrong."""


async def repeat(work: Callable[[], Awaitable[None]], every: float, complaint: str) -> None:
    """Do something every so many seconds, whatever goes wrong: a key that was revoked, say, must not stay valid because
    nobody looks any more."""
    while True:
        await asyncio.sleep(every)
        try:
            await work()
        except Exception as error:
            if not isinstance(error, StoreError):
                log.exception("%s; trying again", complaint)
            await asyncio.sleep(PAUSE)
