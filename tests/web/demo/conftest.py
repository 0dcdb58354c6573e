"""The engine over this Python's own library, whose index takes seconds and is made once, and a demo to visit."""

import os
import signal
import subprocess
import time

import httpx
import pytest

from rankloop.web.demo.engine import Engine

from ...live.serving import COMMAND, free_port

PATIENCE = 120.0
"""Seconds until the first page must be there: a first start compiles and reads the library."""


@pytest.fixture(scope="session")
def engine():
    return Engine()


class Demonstration:
    """`rankloop demo` as it is in life: a process of its own on a free port."""

    def __init__(self, folder, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.said = folder / f"demo-{self.port}.txt"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [*COMMAND, "demo", "--port", str(self.port), "--no-browser", *options],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=os.environ | {"COLUMNS": "200"},
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while f"The demo is at {self.url}/demo" not in self.said.read_text():
            assert self.process.poll() is None, f"the demo ended:\n{self.said.read_text()}"
            assert time.monotonic() < deadline, f"the demo was not there in time:\n{self.said.read_text()}"
            time.sleep(0.05)

    def stop(self):
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()

    def curve(self):
        """The chart's data."""
        return httpx.get(f"{self.url}/demo/curve.json", timeout=30.0).json()

    def weights(self, model="rankloop-demo"):
        """What a model of the service believes, as its API tells it."""
        return httpx.get(f"{self.url}/v1/models/{model}", timeout=30.0).json()["weights"]


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory):
    """One demo for all tests of a worker; they are in one group, and start over before they begin."""
    demo = Demonstration(tmp_path_factory.mktemp("demo"))
    yield demo
    if demo.process.poll() is None:
        demo.stop()
