"""Open-loop load: requests arrive when people come, not when the service is ready.

Arrivals are a Poisson process drawn from a seed. Latency is counted from the moment a request was due, so a service
that stalls is charged for everybody who would have come meanwhile. Bodies are encoded beforehand: the generator shares
the machine with the service and should cost as little as possible.
"""

import asyncio
import base64
import gc
import json
import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

CONNECTIONS = 32


class Load(NamedTuple):
    """What to send: a model's rank requests, at a rate, for a while; clicks follow in reports of `report` pages."""

    model: str
    candidates: int
    features: int
    rate: float
    seconds: float
    as_json: bool = False
    report: int = 50
    seed: int = 1


class Result(NamedTuple):
    """What came of it: milliseconds from due to answered, in the order of arrival."""

    latencies: np.ndarray
    rejected: int
    seconds: float
    reported: int


class _Connection(asyncio.Protocol):
    """One keep-alive connection with at most one request under way."""

    def __init__(self, pool: "_Pool") -> None:
        self._pool = pool
        self._buffer = bytearray()
        self._done: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, request: bytes, done: Any) -> None:
        self._done = done
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        self._buffer.clear()
        done, self._done = self._done, None
        done(head[9:12], body)
        self._pool.release(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._pool.forget(self)
        if self._done is not None:
            self._done(b"000", b"")


class _Pool:
    """Requests wait here for a free connection; the wait is part of their latency."""

    def __init__(self) -> None:
        self._free: deque[_Connection] = deque()
        self._waiting: deque[tuple[bytes, Any]] = deque()

    async def open(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            _, connection = await loop.create_connection(lambda: _Connection(self), host, port)
            self._free.append(connection)

    def send(self, request: bytes, done: Any) -> None:
        if self._free:
            self._free.popleft().send(request, done)
        else:
            self._waiting.append((request, done))

    def release(self, connection: _Connection) -> None:
        if self._waiting:
            connection.send(*self._waiting.popleft())
        else:
            self._free.append(connection)

    def forget(self, connection: _Connection) -> None:
        """The service hung up."""
        if connection in self._free:
            self._free.remove(connection)


def post(path: str, body: bytes) -> bytes:
    """A whole HTTP request."""
    lines = (
        f"POST {path} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"content-length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def rank_requests(load: Load, different: int = 16) -> list[bytes]:
    """Some rank requests to choose from, each with its own candidates."""
    draw = np.random.default_rng(load.seed)
    made = []
    for query in range(different):
        X = draw.random((load.candidates, load.features), dtype=np.float32)
        ids = [f"d{i}" for i in range(load.candidates)]
        body: dict[str, Any] = {"query": f"q{query}", "client": f"c{query}"}
        if load.as_json:
            rows = X.round(6).tolist()
            body["candidates"] = [{"id": name, "features": row} for name, row in zip(ids, rows, strict=True)]
        else:
            body |= {"ids": ids, "matrix": base64.b64encode(X.tobytes()).decode()}
        made.append(post(f"/v1/models/{load.model}/rank", json.dumps(body).encode()))
    return made


async def run_load(host: str, port: int, load: Load) -> Result:
    """Send the load and wait for every answer."""
    pool = _Pool()
    await pool.open(host, port)
    requests = rank_requests(load)
    # The generator's own garbage collection would be charged to the service.
    gc.collect()
    gc.freeze()
    draw = np.random.default_rng(load.seed + 1)
    count = int(load.rate * load.seconds)
    due = np.cumsum(draw.exponential(1.0 / load.rate, count))
    latencies = np.full(count, np.nan)
    state = {"answered": 0, "rejected": 0, "reported": 0}
    clicks: list[str] = []
    finished = asyncio.Event()
    began = time.perf_counter()

    def answered(place: int) -> Any:
        def done(status: bytes, body: bytes) -> None:
            latencies[place] = (time.perf_counter() - began - due[place]) * 1e3
            state["answered"] += 1
            if status == b"200" and b'"group":"fallback"' not in body:
                clicks.append(body[15 : body.index(b'"', 15)].decode())
            else:
                state["rejected"] += 1
            if len(clicks) >= load.report:
                _report(pool, clicks, state)
            if state["answered"] == count:
                finished.set()

        return done

    for place in range(count):
        ahead = due[place] - (time.perf_counter() - began)
        if ahead > 0.0005:
            await asyncio.sleep(ahead)
        pool.send(requests[place % len(requests)], answered(place))
        if place % 8 == 0:
            await asyncio.sleep(0)
    await finished.wait()
    return Result(latencies, state["rejected"], time.perf_counter() - began, state["reported"])


def _report(pool: _Pool, impressions: list[str], state: dict[str, int]) -> None:
    """Clicks on the first document of some pages, and their closings, in one request."""
    reports = [
        {"impression": name, "clicks": ["d0"] if place % 2 else [], "close": True}
        for place, name in enumerate(impressions)
    ]
    impressions.clear()

    def done(status: bytes, body: bytes) -> None:
        state["reported"] += len(reports) if status == b"200" else 0

    pool.send(post("/v1/clicks", json.dumps({"reports": reports}).encode()), done)
