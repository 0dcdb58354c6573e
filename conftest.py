"""What all tests share: a data folder of their own, the collections beside the project, limits, and markers."""

import sys

# What Python made of the tests is kept, even where the environment says otherwise of programs: to rewrite thousands of
# asserts again takes every worker longer than to import everything else. First of all, for what is imported here, too.
sys.dont_write_bytecode = False

import atexit
import gc
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import hypothesis
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from tests.patience import LIMIT, PATIENCE
from tests.skipping import NotHereError, skip_here

from rankloop.home import home

# Compiled kernels stay where the user keeps them, so that tests do not compile everything again; data does not.
os.environ.setdefault("NUMBA_CACHE_DIR", str(home() / "compiled"))
if "RANKLOOP_TEST_HOME" not in os.environ:  # workers started by pytest-xdist share that of their controller
    os.environ["RANKLOOP_TEST_HOME"] = tempfile.mkdtemp(prefix="rankloop-test-")
    atexit.register(shutil.rmtree, os.environ["RANKLOOP_TEST_HOME"], ignore_errors=True)
    # Nor are worlds and the demo's index made again, which are named after all that made them.
    for _made in ("collections/worlds", "demo"):
        (_kept := Path(os.environ["NUMBA_CACHE_DIR"], "tests", _made).absolute()).mkdir(parents=True, exist_ok=True)
        (_own := Path(os.environ["RANKLOOP_TEST_HOME"], _made)).parent.mkdir(parents=True, exist_ok=True)
        _own.symlink_to(_kept)
os.environ["RANKLOOP_HOME"] = os.environ["RANKLOOP_TEST_HOME"]

# Requests of tests wait as long as tests do; httpx has no other door to its default of five seconds.
for _phase in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _phase, PATIENCE)

ROOT = Path(__file__).parent
SHARED = ROOT.parent / "shared" / "data"

# No deadlines: how long an example takes says how busy the machine is. The same examples in every run, so that a test
# that fails today did not pass yesterday by luck; `--hypothesis-profile=explore` looks for new ones, and `quick`, for
# those who run tests all day, is content with fewer.
EXAMPLES = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
}
hypothesis.settings.register_profile("same", derandomize=True, **EXAMPLES)
hypothesis.settings.register_profile("explore", derandomize=False, **EXAMPLES)
hypothesis.settings.register_profile("quick", derandomize=True, max_examples=20, **EXAMPLES)
hypothesis.settings.load_profile("same")


def pytest_addoption(parser):
    parser.addoption("--write-digests", action="store_true", help="take the digests of runs and folds anew")


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real collections beside the project."""
    if not SHARED.is_dir():
        skip_here(f"no real collections at {SHARED}: they are not part of the repository")
    return SHARED


# Skipping


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a test that is skipped for want of something that could be installed has failed."""
    report = yield
    excused = hasattr(report, "wasxfail") or (call.excinfo is not None and call.excinfo.errisinstance(NotHereError))
    if report.skipped and not excused and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


# Limits: every test ends


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _limited(item, "preparation"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _limited(item, "test"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    return (yield from _limited(item, "cleaning up"))


def _limited(item, what):
    """Fail what waits for something that never comes. (Compiled code that never returns is ended by pytest's
    `faulthandler_timeout`, with the worker that runs it.)"""

    def give_up(*_):
        pytest.fail(f"{item.nodeid}: the {what} did not end within {LIMIT:g} s")

    if threading.current_thread() is not threading.main_thread():
        return (yield)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Collecting

# What is imported and collected stays until the end: nobody has to look through it again and again for garbage.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Doctests are in the package and on the pages: hundreds of modules of tests are not searched for any."""
    collectors = yield
    return [found for found in collectors if type(found) is pytest.Module or ROOT / "tests" not in file_path.parents]


FOLDERS = pytest.StashKey[dict[Path, pytest.Directory]]()


@pytest.hookimpl(wrapper=True)
def pytest_collect_directory(path, parent):
    """One node for a folder. pytest 9.1 makes another whenever a file beside it is named on the command line, and the
    fixtures of its conftest.py belong to the first alone."""
    made = yield
    return parent.session.stash.setdefault(FOLDERS, {}).setdefault(path, made)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


# Markers and order

MARKED_BY_FIXTURE = {"chromium": "browser", "postgres_server": "postgres", "demonstration": "process"}
"""What a test needs tells what it is."""
MARKED_BY_FOLDER = {ROOT / "tests" / "live" / "crash": "process"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests by what they need, and let those that take longest begin first, so that no worker ends alone: what is
    slow, then what must be done by one worker, then the rest."""
    for item in items:
        needed = [mark for fixture, mark in MARKED_BY_FIXTURE.items() if fixture in getattr(item, "fixturenames", ())]
        needed += [mark for folder, mark in MARKED_BY_FOLDER.items() if folder in item.path.parents]
        for mark in needed:
            item.add_marker(mark)
        values = getattr(getattr(item, "callspec", None), "params", {}).values()
        if any(isinstance(value, str) and value == "postgres" for value in values):
            item.add_marker("postgres")
    items.sort(key=_late)
    for item in items:
        _keep_with_its_file(item)


def _late(item):
    slow = item.get_closest_marker("slow") or item.get_closest_marker("long")
    return slow is None, item.get_closest_marker("xdist_group") is None


def _keep_with_its_file(item):
    """Give quick tests of a file to one worker: what they share, fixtures and kernels, is made and loaded once. Those
    that take long or wait for others go to whoever is free."""
    ours = item.path.is_relative_to(ROOT)
    if ours and not any(item.get_closest_marker(mark) for mark in ("xdist_group", "slow", "long", "process")):
        item.add_marker(pytest.mark.xdist_group(item.path.relative_to(ROOT).with_suffix("").as_posix()))


# Workers


def pytest_xdist_auto_num_workers(config):
    """Two more than there are processors: a test that waits for a service or a browser leaves its processor idle. Where
    such tests are left out nobody waits, and another worker would only have to import everything, too."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + 2 * ("process" not in config.option.markexpr)


# Compiling


def pytest_sessionstart(session):
    """Compile once for all workers, before they start: two that need the same kernel would compile it twice."""
    options = session.config.option
    workers = getattr(options, "numprocesses", None)
    if workers and not options.collectonly and not hasattr(session.config, "workerinput"):
        subprocess.run([sys.executable, "-m", "tests.warming"], cwd=ROOT, check=True)
