"""What the viewer's tests look at: small studies, run once for each worker."""

import shutil
import sys
from pathlib import Path

import pytest

# Tests are imported without their folder on the path, and this one has a module of its own.
sys.path.insert(0, str(Path(__file__).parent))

from study_viewing import FOLDER, HOSTILE, run_study


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with one finished study; tests copy it."""
    return run_study(tmp_path_factory.mktemp("studies") / "small")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A folder with a study that tries to break out of the page wherever it is named."""
    root = tmp_path_factory.mktemp("hostile")
    folder = root / FOLDER
    return run_study(folder, name="hostile", title=HOSTILE, question=HOSTILE, label=HOSTILE, grid=HOSTILE)


@pytest.fixture
def results(finished, tmp_path):
    """A results folder of one's own, with the finished study in it."""
    root = tmp_path / "results"
    shutil.copytree(finished, root / "small")
    return root
