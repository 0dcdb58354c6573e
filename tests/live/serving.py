"""`rankloop serve` as it is in life: a process of its own on a free port, to be stopped, killed and started again.

with Serving(tmp_path) as service:
    httpx.get(f"{service.url}/readyz")
    service.kill()
    service.start()
"""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
from tests.patience import COMMAND, PATIENCE
from tests.preloaded import Started

__all__ = ["COMMAND", "Serving", "free_port"]


class Serving:
    """One service and its log. `address` may be another store's, such as that of a PostgreSQL server;
    without a `command` it is patient with its store and starts quickly; `COMMAND` is the command line as in life."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        address: str | None = None,
        port: int | None = None,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.address = address or str(self.folder / "rankloop.db")
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.options = options
        self.command = command
        self.process: subprocess.Popen[bytes] | Started | None = None

    def __enter__(self) -> "Serving":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def output(self) -> str:
        """What the service has said so far, over all its lives."""
        output = self.folder / f"serve-{self.port}.txt"
        return output.read_text() if output.exists() else ""

    def start(self, *, wait: bool = True) -> None:
        """Start it on the same port and log as before, and wait until it is ready."""
        assert self.process is None, "it is running already"
        words = ("serve", self.address, "--port", str(self.port), *self.options)
        output = self.folder / f"serve-{self.port}.txt"
        if self.command is None:
            self.process = Started(words, self.folder.absolute(), output, output, patient=True)
        else:
            with output.open("ab") as said:
                self.process = subprocess.Popen(
                    [*self.command, *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=self.folder
                )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Until /readyz says that it can rank and learn."""
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE
        with httpx.Client(base_url=self.url, timeout=PATIENCE) as client:  # one for all questions: making one is work
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise AssertionError(f"the service ended with {self.process.returncode}:\n{self.output}")
                try:
                    if client.get("/readyz").status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                time.sleep(0.05)
        self.kill()
        raise AssertionError(f"the service was not ready within {PATIENCE:g} s:\n{self.output}")

    def stop(self) -> int | None:
        """Ask it to end, as an operator would; its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int | None:
        """End it at once (kill −9): nothing is flushed, nobody is told."""
        return self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Let it hang: connections are accepted by the system, and nobody answers."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Wake it again."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> int | None:
        process, self.process = self.process, None
        if process is None:
            return None
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the service did not end when asked to:\n{self.output}") from None


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
