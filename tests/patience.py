"""How long tests wait: for a condition, and long enough for a machine that is busy with something else.

A wait that runs out fails with a sentence. Nothing here measures: on a machine at rest every wait is short.

The product gives up on some things after a second or two: a page on its store, a client on the service. On a busy
machine, where a process may not be given a processor for seconds, that is what it should do, and tests that are about
something else must not see it. `be_patient` makes it wait as long as the tests do; `PATIENT` is the command line after
that. Tests about giving up run the product as it is.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

# One thread for each process's arithmetic: workers share the processors already, and threads that wait for each other
# on a processor that somebody else uses wait long. (Here, because it must be said before NumPy is imported.)
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")

PATIENCE = float(os.environ.get("RANKLOOP_TEST_PATIENCE", "600"))
"""Seconds until something that must happen has failed to. Fewer, by the environment, where many tests may hang."""
BROWSER_PATIENCE = 1000 * PATIENCE
"""The same in playwright's milliseconds."""
LIMIT = 3 * PATIENCE
"""Seconds after which a test as a whole has failed, whatever it waits for."""

COMMAND = (sys.executable, "-c", "from rankloop.cli import main; main()")
"""The command line with the interpreter that runs the tests, whatever else is on the path."""
PATIENT = (sys.executable, __file__)
"""The same, for a service that waits for its store as long as it takes."""

GIVES_UP = {
    "rankloop.live.service": ("PATIENCE", PATIENCE),
    "rankloop.live.registry": ("PATIENCE", PATIENCE),
    "rankloop.live.writer": ("SLOW_SECONDS", PATIENCE),
    "rankloop.live.stores.sqlite": ("WAIT_MS", int(1000 * PATIENCE)),
    "rankloop.logs.refolding": ("PATIENCE", PATIENCE),
    "rankloop.cli.app": ("PATIENCE", PATIENCE),
    "rankloop.web.dashboard.reading": ("PATIENCE", PATIENCE),
    "rankloop.web.demo.pages": ("TIMEOUT", PATIENCE),
    "rankloop.web.demo.serving": ("PATIENCE", PATIENCE),
}
"""Where the product says how long it waits."""
A_SERVICE = ("rankloop.live.service", "rankloop.live.registry", "rankloop.live.writer", "rankloop.live.stores.sqlite")
PACE = {
    "rankloop.live.service": ("SWEEP_SECONDS", "LOOK_SECONDS"),
    "rankloop.live.repeating": ("PAUSE",),
    "rankloop.live.learning": ("SNAPSHOT_SECONDS",),
}
"""How often the product does by itself what tests wait for."""
AS_IT_IS: dict[str, float] = {}
"""What it said before it was made patient."""


def be_patient(*modules: str) -> None:
    """Let these modules of the product wait as long as tests do; all that have a limit if none is named."""
    for name in modules or GIVES_UP:
        limit, seconds = GIVES_UP[name]
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue  # it has another name by now; one test says so, and the others need not fail for it
        AS_IT_IS.setdefault(name, getattr(module, limit))
        setattr(module, limit, seconds)


def be_brisk(pause: float = 0.1) -> None:
    """Let a service do sooner what it does now and then: a test waits for it, and has no other use for the time."""
    for name, pauses in PACE.items():
        for one in pauses:
            setattr(import_module(name), one, pause)


def wait_until(holds: Callable[[], Any], what: str | Callable[[], str], every: float = 0.02) -> Any:
    """What `holds` returns once it is true; an error that says what was awaited if it never is."""
    until = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE:g} s: {what() if callable(what) else what}")
        time.sleep(every)
    return found


def run(command: list[str] | tuple[str, ...], **options: Any) -> "subprocess.CompletedProcess[str]":
    """A process that ends, and what it printed."""
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


def end(process: "subprocess.Popen[Any]") -> int:
    """Ask a process to end, as an operator would; its exit code."""
    process.terminate()
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"{process.args} did not end when asked to") from None


if __name__ == "__main__":
    be_patient(*A_SERVICE, "rankloop.web.dashboard.reading")
    be_brisk()
    if sys.argv[1:2] == ["demo"]:
        be_patient("rankloop.web.demo.pages", "rankloop.web.demo.serving")
    from rankloop.cli import main

    main()
