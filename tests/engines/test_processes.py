"""Processes of this machine: what they compute comes back, and they end with whoever started them."""

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.engines import engine
from rankloop.errors import SettingsError

STARTED = """
import os, sys, time
from pathlib import Path
from rankloop.engines.processes import LocalProcesses, each_done

def work(folder):
    (Path(folder) / str(os.getpid())).touch()
    while True:
        time.sleep(0.1)

if __name__ == "__main__":
    if sys.argv[2] == "futures":
        with LocalProcesses(2) as engine:
            [future.result() for future in [engine.submit(work, sys.argv[1]) for _ in range(4)]]
    else:
        list(each_done(work, [(sys.argv[1],)] * 4, workers=2))
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.process
@pytest.mark.parametrize("kind", ["futures", "each_done"])
def test_workers_end_with_a_killed_parent(tmp_path, kind):
    script, folder = tmp_path / "start.py", tmp_path / "workers"
    script.write_text(STARTED)
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(folder), kind])
    workers = []
    try:
        wait_until(lambda: len(list(folder.iterdir())) == 2 or parent.poll() is not None, "two workers come to work")
        workers = [int(path.name) for path in folder.iterdir()]
        assert len(workers) == 2
        assert all(map(alive, workers))
        parent.kill()
        parent.wait(PATIENCE)
        wait_until(lambda: not any(map(alive, workers)), f"workers {workers} end with their parent")
    finally:
        parent.kill()
        for pid in filter(alive, workers):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.thorough
def test_a_computation_that_dies_does_not_take_the_next_along():
    with engine("local", 1) as place:
        with pytest.raises(BrokenProcessPool):
            place.submit(os._exit, 1).result()
        assert place.submit(abs, -3).result() == 3


def test_a_place_nobody_knows_is_refused():
    with pytest.raises(SettingsError, match="--on must be local, threads, gpu, ray"):
        engine("moon", 1)
