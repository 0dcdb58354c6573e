"""What all tests share: a data folder of their own, the collections beside the project, and no silent skips in CI."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from rankloop.home import home

# Compiled kernels stay where the user keeps them, so that tests do not compile everything again; data does not.
os.environ.setdefault("NUMBA_CACHE_DIR", str(home() / "compiled"))
if "RANKLOOP_TEST_HOME" not in os.environ:  # workers started by pytest-xdist share that of their controller
    os.environ["RANKLOOP_TEST_HOME"] = tempfile.mkdtemp(prefix="rankloop-test-")
    atexit.register(shutil.rmtree, os.environ["RANKLOOP_TEST_HOME"], ignore_errors=True)
os.environ["RANKLOOP_HOME"] = os.environ["RANKLOOP_TEST_HOME"]

SHARED = Path(__file__).parents[1] / "shared" / "data"


def pytest_addoption(parser):
    parser.addoption("--write-digests", action="store_true", help="take the digests of runs and folds anew")


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real collections beside the project."""
    if not SHARED.is_dir():
        pytest.skip(f"no real collections at {SHARED}")
    return SHARED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a test that is skipped for want of a component has failed."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
