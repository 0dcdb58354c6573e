"""The engine over this Python's own library, whose index takes seconds and is made once, and a demo to visit."""

import os
import subprocess
from fcntl import LOCK_EX, flock

import httpx
import pytest
from tests.patience import PATIENT, end, wait_until

from rankloop.home import home
from rankloop.web.demo.comparison import LOOKS, MODEL
from rankloop.web.demo.engine import Engine

from ...live.serving import free_port


@pytest.fixture(scope="session")
def engine():
    with (home() / "engine-of-the-tests").open("w") as made:
        flock(made, LOCK_EX)  # one worker makes the index, for all
        return Engine()


class Demonstration:
    """`rankloop demo` as it is in life: a process of its own on a free port."""

    def __init__(self, folder, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.said = folder / f"demo-{self.port}.txt"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [*PATIENT, "demo", "--port", str(self.port), "--no-browser", *options],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=os.environ | {"COLUMNS": "200"},
            )  # fmt: skip

        def there():
            assert self.process.poll() is None, f"the demo ended:\n{self.said.read_text()}"
            return f"The demo is at {self.url}/demo" in self.said.read_text()

        wait_until(there, lambda: f"the demo is there:\n{self.said.read_text()}")

    def stop(self):
        """Ask it to end; its exit code."""
        return end(self.process)

    def curve(self):
        """The points of the chart."""
        return httpx.get(f"{self.url}/demo/curve.json").json()["points"]

    def untouched(self):
        """Whether it is as after starting over: nobody has been there, and the model has learned from nothing. Starting
        over is half a second of a processor, and most tests only look."""
        models = httpx.get(f"{self.url}/v1/models").json()["models"]
        begun = [(model["name"], model["version"]) for model in models] == [(MODEL, LOOKS)]
        return begun and [point["visits"] for point in self.curve()] == [0]

    def weights(self, model="rankloop-demo"):
        """What a model of the service believes, as its API tells it."""
        return httpx.get(f"{self.url}/v1/models/{model}").json()["weights"]


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory, engine):
    """One demo for all tests of a worker; they are in one group, and begin where it has just started over."""
    demo = Demonstration(tmp_path_factory.mktemp("demo"))
    yield demo
    demo.stop()
