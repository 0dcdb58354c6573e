"""Machine code on disk is of the sources that run, also where some of them lie outside the package."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.patience import PATIENCE

import rankloop
from rankloop.kernels.compiler import kernel, sources_fingerprint

USER = """
from typing import NamedTuple
import numpy as np
from rankloop.kernels import implements, kernel
from rankloop.users.contract import User, click
from patience import CLICKS

class Clicks(NamedTuple):
    examination: np.ndarray

@implements(click, Clicks)
@kernel
def click_first(user, shown, seed, impression, clicks):
    clicks[:] = 0.0
    clicks[:CLICKS] = 1.0

class Eager(User, frozen=True):
    def compiled(self, page_size, split=None): return Clicks(np.ones(page_size))
"""

# One of the package's own kernels, compiled for a user: the loop would do, and take longer.
RUN = """
import numpy as np
import rankloop as rl
from rankloop.kernels import when_compiling
from rankloop.users.contract import click_page
said, clicks, ranks = [], np.zeros(10), np.arange(10)
with when_compiling(lambda: said.append(True)):
    click_page({user}.compiled(10), ranks % 5, ranks, 0, 0, np.uint64(1), 0, clicks)
print("compiled" if said else "from disk", int(clicks.sum()))
"""
OUTSIDE = "from eager import Eager\n" + RUN.format(user="Eager()")
BUILT_IN = RUN.format(user="rl.users.noisy()")


@pytest.fixture
def run(tmp_path):
    """Run code in a fresh process, with modules in a folder of its own; what it printed."""

    def run(code, folder="here"):
        (tmp_path / folder).mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path / folder, capture_output=True, text=True, env=os.environ,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


@pytest.mark.long
def test_code_from_outside_is_cached_until_it_is_edited_and_never_in_the_way_of_the_package(tmp_path, run):
    run(BUILT_IN)
    here = tmp_path / "here"
    (here / "eager.py").write_text(USER)
    (here / "patience.py").write_text("CLICKS = 1\n")
    assert run(OUTSIDE)[-1] == "1"
    assert run(OUTSIDE) == ["from", "disk", "1"]
    (here / "patience.py").write_text("CLICKS = 3\n")
    assert run(OUTSIDE)[-1] == "3"
    assert run(BUILT_IN, "elsewhere")[:2] == ["from", "disk"]


def test_the_package_is_compiled_again_when_a_kernel_or_a_constant_it_imports_changes(tmp_path):
    files = {"loop.py": "from rankloop.metrics import CUTOFF\n@kernel\ndef f(): pass", "metrics.py": "CUTOFF = 10"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = sources_fingerprint(tmp_path)
    (tmp_path / "report.py").write_text("CUTOFF = 3")
    assert sources_fingerprint(tmp_path) == before
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n# edited")
        assert sources_fingerprint(tmp_path) != before
        (tmp_path / name).write_text(text)


@pytest.mark.thorough
def test_who_works_on_the_service_the_pages_or_studies_compiles_nothing_anew(tmp_path):
    package = tmp_path / "rankloop"
    shutil.copytree(Path(rankloop.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = sources_fingerprint(package)
    for room in ("live", "web", "studies", "logs", "cli", "client", "engines", "gpu", "interchange", "runs"):
        for path in (package / room).rglob("*.py"):
            if path != package / "live" / "http" / "counting.py":  # it counts with a kernel
                path.write_text(path.read_text(encoding="utf-8") + "\n# edited", encoding="utf-8")
        assert sources_fingerprint(package) == before, f"a kernel in {room}, or one that imports from it"


@pytest.mark.long
@pytest.mark.process
def test_machine_code_that_cannot_be_kept_is_run_all_the_same(tmp_path, monkeypatch):
    """As on a full disk: a file may not grow beyond a thousand bytes."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from rankloop.kernels.draws import mix
import numpy as np
print(int(mix(np.uint64(1))) > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_a_kernel_runs_without_the_interpreters_lock():
    @kernel
    def nothing():
        pass

    assert nothing.targetoptions["nogil"]


COMPILES = """
import os, signal
import numpy as np
from rankloop.kernels import when_compiling
from rankloop.kernels.draws import mix
with when_compiling(lambda: print("compiles", flush=True)):
    print(int(mix(np.uint64(1))) > 0, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def compiling():
    def heed_modes():
        """Also as root, who otherwise may write anywhere: drop CAP_DAC_OVERRIDE from what the process can have."""
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)

    done = subprocess.run(
        [sys.executable, "-c", COMPILES], capture_output=True, text=True, timeout=PATIENCE, preexec_fn=heed_modes
    )
    return done.stdout.split(), done.stderr


@pytest.mark.long
@pytest.mark.process
def test_where_nothing_can_be_kept_it_is_compiled_every_time_and_leaves_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(2):
        assert compiling() == (["compiles", "True"], "")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.long
@pytest.mark.process
def test_machine_code_in_a_folder_that_cannot_be_written_to_is_used(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="rankloop-read-only-") as folder:
        monkeypatch.setenv("NUMBA_CACHE_DIR", folder)
        assert compiling() == (["compiles", "True"], "")
        kept = sorted(Path(folder).rglob("*"))
        for place in (Path(folder), *kept):
            place.chmod(0o555)
        assert compiling() == (["True"], "")
        assert sorted(Path(folder).rglob("*")) == kept
        for place in (Path(folder), *kept):
            place.chmod(0o755)
