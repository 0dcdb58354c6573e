"""What is measured: steady load, the most that a latency allows, a log that has grown, and a long soak."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.live.generator import Load, Result, run_load
from rankloop.live.errors import StoreError
from rankloop.live.events import Impression, encode
from rankloop.live.fold import Fold
from rankloop.live.log import Close, Show, settle
from rankloop.live.registry import BLOCK
from rankloop.live.settings import Guards, ModelSettings
from rankloop.live.stores import open_store
from rankloop.live.stores.rows import Snapshot

LATENCY = 20.0
"""Milliseconds within which 99 of 100 pages must be answered."""


class Measured(NamedTuple):
    """One scenario's numbers; latencies in milliseconds."""

    name: str
    wanted: float
    achieved: float
    p50: float
    p95: float
    p99: float
    worst: float
    rejected: int
    lag: int
    """Reported pages that were not learned from half a second after the last answer."""
    memory: float
    """MB of the service's process."""


class Service(NamedTuple):
    """A service in a process of its own."""

    process: "subprocess.Popen[bytes]"
    port: int

    def get(self, path: str) -> Any:
        """A JSON answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        """A JSON answer to a JSON question."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def memory(self) -> float:
        """MB that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def folder() -> Iterator[Path]:
    """A place for a log on the disk of the working folder (a memory file system would not be a disk)."""
    made = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path.cwd()))
    try:
        yield made
    finally:
        shutil.rmtree(made)


COMMAND = (sys.executable, "-c", "from rankloop.cli import main; main()")


@contextmanager
def serving(store: Path | str, port: int = 8791, command: Sequence[str] = COMMAND) -> Iterator[Service]:
    """A real `rankloop serve`."""
    words = [*command, "serve", str(store), "--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    service = Service(process, port)
    try:
        _wait(service)
        yield service
    finally:
        process.terminate()
        process.wait(30)


def _wait(service: Service) -> None:
    for _ in range(6000):
        try:
            service.get("/readyz")
            return
        except OSError:
            if service.process.poll() is not None:
                break
            time.sleep(0.1)
    raise StoreError(f"the service on port {service.port} did not become ready; is the port taken?")


def settings(load: Load) -> dict[str, Any]:
    """A model without scaling and caps: what is measured is the loop."""
    return {
        "name": load.model,
        "features": load.features,
        "scaling": "none",
        "guards": {"control": 0, "client_pages": 0, "one_sided": 0},
    }


def measure(service: Service, name: str, load: Load, *, warm_up: bool = True) -> Measured:
    """One load on a running service."""
    known = [model["name"] for model in service.get("/v1/models")["models"]]
    if load.model not in known:
        service.post("/v1/models", settings(load))
    if warm_up:
        _run(service, load._replace(rate=min(load.rate, 100), seconds=2.0))
    before = service.get(f"/v1/models/{load.model}")["fates"].get("learned", 0)
    result = _run(service, load)
    time.sleep(0.5)
    learned = service.get(f"/v1/models/{load.model}")["fates"].get("learned", 0) - before
    return summary(name, load, result, max(0, result.reported - learned), service.memory())


def _run(service: Service, load: Load) -> Result:
    return asyncio.run(run_load("127.0.0.1", service.port, load))


def summary(name: str, load: Load, result: Result, lag: int, memory: float) -> Measured:
    """Percentiles of a result."""
    p50, p95, p99, worst = np.quantile(result.latencies, [0.5, 0.95, 0.99, 1.0]).tolist()
    achieved = len(result.latencies) / result.seconds
    return Measured(name, load.rate, achieved, p50, p95, p99, worst, result.rejected, lag, memory)


def climb(service: Service, name: str, load: Load, rates: list[float]) -> list[Measured]:
    """Higher and higher rates, until a hundredth of the pages takes longer than `LATENCY`."""
    steps = []
    for rate in rates:
        steps.append(measure(service, name, load._replace(rate=rate)))
        if steps[-1].p99 > LATENCY:
            break
    return steps


def grow(path: Path, load: Load, impressions: int) -> None:
    """A log with this many closed impressions, written as the service would, without HTTP."""
    with_store = open_store(path, serving=True)
    model = ModelSettings(
        name=load.model,
        features=load.features,
        scaling="none",
        seed=1,
        guards=Guards(control=0.0, client_pages=0, one_sided=0.0),
    )
    draw = np.random.default_rng(0)
    X = draw.random((load.candidates, load.features), dtype=np.float32)
    page = list(range(min(10, load.candidates)))
    body = encode(
        Impression(
            "q",
            [f"d{i}" for i in range(load.candidates)],
            X.tobytes(),
            X[:, 0].tobytes(),
            page,
            [],
            b"",
            0,
            0,
            -1.0,
            0.0,
        )
    )
    with with_store.transaction() as transaction:
        number = transaction.create_model(load.model, json_of(model), 0)
    assert number is not None
    at, step = int(time.time() * 1000) - impressions, 500
    for first in range(0, impressions, step):
        entries: list[Any] = []
        for i in range(first, min(first + step, impressions)):
            entries.append(Show(number, i, at + i, b"c", body, len(page), 0, 0.0))
            entries.append(Close(number, i, at + i, "asked"))
        with with_store.transaction() as transaction:
            settle(transaction, entries)
    with_store.reserve(number, (impressions // BLOCK + 1) * BLOCK)
    last = with_store.last_offset()
    with with_store.transaction() as transaction:
        state = Fold(model).state()
        transaction.save_snapshot(Snapshot(number, 0, last, at + impressions, state), expects=-1)
    with_store.close()


def json_of(model: ModelSettings) -> bytes:
    """A model's settings as they are stored."""
    return msgspec.json.encode(model)


def soak(service: Service, load: Load, minutes: float, report: Any) -> list[tuple[float, float]]:
    """(minute, MB) of the service under steady load, every ten seconds."""
    readings: list[tuple[float, float]] = []
    began = time.monotonic()
    while time.monotonic() - began < minutes * 60:
        _run(service, load._replace(seconds=10.0, seed=load.seed + len(readings)))
        readings.append(((time.monotonic() - began) / 60, service.memory()))
        report(*readings[-1])
    return readings
