"""Those who mean harm, in a process of their own, bounded in number.

python -m benchmarks.attack.attackers PORT KEY SECONDS SHARE

Most have no key. One was stolen (KEY): with it, bodies are sent that stall, or that are made to become as large as they
can. Every attacker begins again when it is refused or cut off. At the end, what they were told is printed as JSON.
Attackers have machines of their own: here, where they share one with the service, they stand behind it.
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

PAUSE = 1.0
"""Seconds before an attacker begins again, give or take a half: the service is measured, not a machine without a
processor left."""
KINDS = {"stalled sign-ins": 300, "stalled bodies": 20, "unread answers": 20, "keyless flood": 32, "sign-ins": 8,
         "hostile bodies": 1, "nonsense": 4}  # fmt: skip
"""How many of each are at work at a time."""
NICE = 10
"""How far their process stands behind the service's and the visitors'."""

FORM = b"POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n"
KEYLESS = [b"/openapi.json", b"/sign-in", b"/static/vendor/uplot-1.6.32.iife.min.js", b"/metrics", b"/readyz", b"/",
           b"/v1/models", b"/static/" + b"a" * 300]  # fmt: skip


class Attack:
    """All attackers of one service."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._key = key.encode()
        self.told: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}

    async def run(self, seconds: float, share: float = 1.0) -> None:
        """Let everybody loose for so many seconds."""
        acts: dict[str, Callable[[], Awaitable[str]]] = {
            "stalled sign-ins": lambda: self._stall(FORM + b"content-length: 10\r\n\r\na"),
            "stalled bodies": lambda: self._stall(self._rank(15 << 20) + b"a" * (14 << 20)),
            "unread answers": self._never_read,
            "keyless flood": self._ask,
            "sign-ins": self._sign_in,
            "hostile bodies": self._hostile,
            "nonsense": self._nonsense,
        }
        busy = [
            asyncio.create_task(self._again(kind, acts[kind]))
            for kind, count in KINDS.items()
            for _ in range(max(1, int(count * share)))
        ]
        await asyncio.sleep(seconds)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)

    async def _again(self, kind: str, act: Callable[[], Awaitable[str]]) -> None:
        while True:
            try:
                self.told[kind][await act()] += 1
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                self.told[kind]["cut off"] += 1
            await asyncio.sleep(PAUSE * (0.5 + random.random()))

    async def _talk(self, sent: bytes, *, times: int = 1) -> str:
        """Send something and read what comes; the last status."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        status = "cut off"
        try:
            for _ in range(times):
                writer.write(sent)
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                status = head[9:12]
                await reader.readexactly(int(head.split("content-length:", 1)[1].split("\r\n", 1)[0]))
        finally:
            writer.close()
        return status

    async def _stall(self, begun: bytes) -> str:
        """Begin a request, and wait for what happens."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(begun)
            return (await reader.read(65536))[9:12].decode("latin-1") or "cut off"
        finally:
            writer.transport.abort()

    async def _never_read(self) -> str:
        """Ask for megabytes, and read none of it until one is cut off."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        protocol = type("Deaf", (asyncio.Protocol,), {"connection_lost": lambda *_: done.done() or done.set_result(0)})
        transport, _ = await loop.create_connection(protocol, "127.0.0.1", self._port)
        transport.pause_reading()
        try:
            while not done.done():
                if transport.get_write_buffer_size() == 0:
                    transport.write(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 100)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(done), 1.0)
        finally:
            transport.abort()
        return "cut off"

    async def _ask(self) -> str:
        path = KEYLESS[sum(self.told["keyless flood"].values()) % len(KEYLESS)]
        return await self._talk(b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", times=20)

    async def _sign_in(self) -> str:
        body = b"key=rl_" + b"x" * 43
        return await self._talk(FORM + b"content-length: %d\r\n\r\n" % len(body) + body, times=20)

    async def _hostile(self) -> str:
        """Bodies that become as large as they can."""
        made = sum(self.told["hostile bodies"].values())
        body, kind = BODIES[made % len(BODIES)]
        told = await self._talk(self._rank(len(body), kind) + body)
        await asyncio.sleep(1.0)
        return told

    async def _nonsense(self) -> str:
        return await self._stall(b"\x16\x03\x01\x02\x00" * 100)

    def _rank(self, size: int, kind: bytes = b"application/json") -> bytes:
        return (
            b"POST /v1/models/shop/rank HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %s\r\n"
            b"content-type: %s\r\ncontent-length: %d\r\n\r\n" % (self._key, kind, size)
        )


PACKED, WRITTEN = b"application/msgpack", b"application/json"
BODIES = [
    (msgspec.msgpack.encode({"candidates": [{"id": str(i), "features": [1] * 10_000} for i in range(1600)]}), PACKED),
    (b'{"candidates":[' + b'{"id":"a","features":[]},' * 600_000 + b"1]}", WRITTEN),
    (b'{"candidates":[' + b"1," * 8_000_000 + b"1]}", WRITTEN),
    (msgspec.msgpack.encode({"ids": ["ab"] * 5_000_000}), PACKED),
    (b"\x91" * 1_000_000, PACKED),
    (b"[" * 1_000_000, WRITTEN),
]


def main() -> None:
    """Attack, and say what came of it."""
    port, key, seconds, share = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    os.nice(NICE)
    attack = Attack(port, key)
    asyncio.run(attack.run(seconds, share))
    print(json.dumps(attack.told))


if __name__ == "__main__":
    main()
