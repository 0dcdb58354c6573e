"""Honest visitors with a key: a page when somebody comes, a click and a closing after it; every answer is written down.

Arrivals are a Poisson process drawn from a seed, and latency is counted from the moment a page was due. Who is refused
or cut off does not come again: what was acknowledged is what counts.
"""

import asyncio
import json
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

PATIENCE = 10.0
"""Seconds after which a visitor has left."""


class Acknowledged(NamedTuple):
    """What the service said is in its log, by impression id."""

    pages: set[str]
    clicks: dict[str, str]
    """The document that was clicked."""


class Visits(NamedTuple):
    """A stretch of honest traffic: when pages were due, milliseconds until they came, and what became of them."""

    began: float
    due: list[float]
    latencies: list[float]
    outcomes: Counter[str]


class Caller:
    """Requests over connections that are used again, and made again where the service has hung up."""

    def __init__(self, port: int, key: str, patience: float = PATIENCE) -> None:
        self._port = port
        self._key = key
        self.patience = patience
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        """The status and the answer; 0 if there is none."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self._key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        try:
            async with asyncio.timeout(self.patience):
                return await self._exchange(head.encode() + content)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            return 0, None

    async def _exchange(self, request: bytes) -> tuple[int, Any]:
        connection = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = connection
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
            answer = json.loads(await reader.readexactly(length))
        except BaseException:
            writer.close()
            raise
        if "connection: close" in head:
            writer.close()
        else:
            self._free.append(connection)
        return int(head[9:12]), answer

    def close(self) -> None:
        """Hang up."""
        for _, writer in self._free:
            writer.close()


class Visitors:
    """People who come at a rate."""

    def __init__(self, caller: Caller, model: str, rate: float, *, candidates: int = 10, features: int = 20) -> None:
        self._caller = caller
        self._model = model
        self._rate = rate
        self._draw = np.random.default_rng(1)
        X = self._draw.random((candidates, features)).round(4).tolist()
        self._candidates = [{"id": f"d{i}", "features": row} for i, row in enumerate(X)]
        self.acknowledged = Acknowledged(set(), {})

    async def first(self) -> None:
        """One page, however long it takes: the first use of a new version compiles."""
        patience, self._caller.patience = self._caller.patience, 600.0
        await self._visit(time.perf_counter(), Visits(0.0, [], [], Counter()))
        self._caller.patience = patience

    async def come(self, seconds: float) -> Visits:
        """As many as come within so many seconds; waits until the last has left."""
        began, due, under_way = time.perf_counter(), 0.0, set()
        visits = Visits(began, [], [], Counter())
        while (due := due + self._draw.exponential(1.0 / self._rate)) < seconds:
            await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
            visit = asyncio.create_task(self._visit(began + due, visits))
            under_way.add(visit)
            visit.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        return visits

    async def _visit(self, due: float, visits: Visits) -> None:
        body = {"query": "q", "client": f"c{int(self._draw.integers(1000))}", "candidates": self._candidates}
        status, page = await self._caller.post(f"/v1/models/{self._model}/rank", body)
        visits.due.append(due - visits.began)
        visits.latencies.append((time.perf_counter() - due) * 1e3)
        visits.outcomes[f"rank {'fallback' if status == 200 and not page['impression'] else status}"] += 1
        if status != 200 or not page["impression"]:
            return
        self.acknowledged.pages.add(page["impression"])
        clicked = page["ranking"][0]
        report = {"impression": page["impression"], "clicks": [clicked], "close": True}
        status, _ = await self._caller.post("/v1/clicks", report)
        visits.outcomes[f"click {status}"] += 1
        if status == 200:
            self.acknowledged.clicks[page["impression"]] = clicked
