"""The command line in processes of their own that begin with everything imported.

Starting Python and importing all it takes is most of what a command costs, and tests run hundreds. So one process
imports it once, and every command is a fork of that: with its own folder, environment, output and exit code, to be
asked to end, stopped and killed like any other. Some tests start the command line as people do; these need not.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.patience import A_SERVICE, PATIENCE, be_brisk, be_patient

MODULES = [
    "rankloop.cli",
    "rankloop.cli.data",
    "rankloop.cli.keys",
    "rankloop.cli.logs",
    "rankloop.cli.replay",
    "rankloop.cli.run",
    "rankloop.cli.serve",
    "rankloop.cli.simulate_traffic",
    "rankloop.engines.processes",
    "rankloop.live.serving",
    "rankloop.studies.report",
    "rankloop.web.dashboard",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
    "pandas",  # pyarrow asks for it when the first table is written
    "pyarrow.dataset",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "scipy.stats",  # half a second of a processor, for whoever reports means
    "tomli_w",
    "typer._adapters",
    "typer.rich_utils",
    "tests.compiled",
]
"""What is imported beforehand; what has another name by now is imported when it is needed."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(MODULES)


class Started:
    """A command under way: what tests use of `subprocess.Popen`."""

    def __init__(self, words: tuple[str, ...], folder: Path, output: Path, errors: Path, **more: Any) -> None:
        self.args = ("rankloop", *words)
        environment = dict(more.pop("env", None) or os.environ)
        self._process = FORKS.Process(target=_command, args=(words, str(folder), environment, output, errors, more))
        self._process.start()
        self.pid: int = self._process.pid
        atexit.register(self._process.kill)

    @property
    def returncode(self) -> int | None:
        """As `poll`."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code, or the number of the signal that ended it below zero; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        atexit.unregister(self._process.kill)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it is still there to hear it."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def run(
    *words: object, cwd: Path | str = ".", env: Mapping[str, str] | None = None, **more: Any
) -> "subprocess.CompletedProcess[str]":
    """A command that ends, and what it printed.

    `processors`: how many it shall see. `forks`: its workers have everything imported, too; tests of what workers
    import are not for that.
    """
    with tempfile.TemporaryDirectory(prefix="rankloop-said-") as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        given = tuple(map(str, words))
        started = Started(given, Path(cwd).absolute(), output, errors, env=env, **more)
        try:
            code = started.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            raise AssertionError(f"rankloop {given} did not end; it said {errors.read_text()}") from None
        return subprocess.CompletedProcess(started.args, code, output.read_text(), errors.read_text())


def _command(
    words: tuple[str, ...], folder: str, environment: dict[str, str], output: Path, errors: Path, more: dict[str, Any]
) -> None:
    """In the new process: become the command."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream, path in ((1, output), (2, errors)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(opened, stream)
        os.close(opened)
    if processors := more.get("processors"):
        os.cpu_count = lambda: processors
    if more.get("forks"):
        import_module("rankloop.engines.processes").START = "fork"
    if more.get("patient"):
        be_patient(*A_SERVICE, "rankloop.web.dashboard.reading")
        be_brisk()
    sys.argv = ["rankloop", *words]
    from rankloop.cli import main

    try:
        main(list(words))
    finally:
        # As an interpreter ends: pools are told before their workers are waited for. A forked process waits first, and
        # joblib's workers would wait for work as long.
        threading._shutdown()
