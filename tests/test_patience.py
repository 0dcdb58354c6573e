"""What tests rely on to wait long enough, and to end."""

import os
import sys
from importlib import import_module

import pytest
from tests import preloaded
from tests.patience import GIVES_UP, PACE, PATIENT, run, wait_until


@pytest.mark.parametrize("name", GIVES_UP)
def test_the_product_still_says_there_how_long_it_waits(name):
    limit, seconds = GIVES_UP[name]
    assert 0 < getattr(import_module(name), limit) <= seconds


@pytest.mark.parametrize("name", PACE)
def test_the_product_still_says_there_how_often_it_looks(name):
    assert all(getattr(import_module(name), one) > 0 for one in PACE[name])


@pytest.mark.parametrize("name", preloaded.MODULES)
def test_what_is_imported_beforehand_is_there(name):
    import_module(name)


def test_a_wait_for_what_never_happens_fails_with_a_sentence(monkeypatch):
    monkeypatch.setattr("tests.patience.PATIENCE", 0.01)
    with pytest.raises(AssertionError, match=r"not within 0\.01 s: pigs fly"):
        wait_until(lambda: False, "pigs fly")


@pytest.mark.process
def test_a_test_that_hangs_fails_with_a_sentence(tmp_path, request):
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text("import threading\ndef test_it():\n    threading.Event().wait()\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n0", f"--rootdir={request.config.rootpath}"]
    command += ["-c", str(request.config.inipath), "-p", "conftest", str(hanging)]
    done = run(command, cwd=request.config.rootpath, env=os.environ | {"RANKLOOP_TEST_PATIENCE": "0.3"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the test did not end within 0.9 s" in done.stdout


@pytest.mark.process
def test_a_command_from_what_is_imported_says_what_the_command_line_says(tmp_path):
    quick, real = preloaded.run("--version", cwd=tmp_path), run([*PATIENT, "--version"], cwd=tmp_path)
    assert (quick.returncode, quick.stdout, quick.stderr) == (real.returncode, real.stdout, real.stderr)
    assert real.returncode == 0
    assert preloaded.run("fly", cwd=tmp_path).returncode == 2
