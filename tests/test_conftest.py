"""What conftest.py does for all tests, seen from a folder of its own."""

import os
import sys
from pathlib import Path

import pytest
from tests.patience import run

pytestmark = pytest.mark.process


def test_a_folder_keeps_its_fixtures_whatever_is_named_beside_it(tmp_path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef thing():\n    return 1\n")
    named = [inner / "test_one.py", inner.parent / "test_beside.py", inner / "test_other.py"]
    for path in named:
        path.write_text(f"def test_it({'thing' if path.parent == inner else ''}):\n    pass\n")
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", tmp_path, "-p", "conftest", "-q", *named]
    done = run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)})
    assert "3 passed" in done.stdout, done.stdout + done.stderr
