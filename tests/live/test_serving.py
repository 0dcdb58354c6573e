"""A service as a process: it starts, says what it lacks, ends when it is asked to, and starts again."""

import math
import subprocess
import sys
import types
from contextlib import suppress

import httpx
import pytest
from tests.patience import PATIENCE, end, wait_until

from rankloop.errors import SettingsError
from rankloop.live.http.connections import SPARE_FILES, most_connections
from rankloop.live.serving import COMPILES_AFTER, _tells_of_compiling, require_files, serve

from .serving import Serving


@pytest.mark.process
@pytest.mark.slow
def test_a_service_lives_ends_and_lives_again_on_the_same_log(tmp_path):
    with Serving(tmp_path) as service:
        made = httpx.post(f"{service.url}/v1/models", json={"name": "shop", "features": 2}, timeout=PATIENCE)
        assert made.status_code == 201
        assert f"dashboard: {service.url}/\n" in service.output
        assert service.kill() == -9
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.url}/readyz")
        service.start()
        assert [model["name"] for model in httpx.get(f"{service.url}/v1/models").json()["models"]] == ["shop"]
        assert service.stop() in (0, -15)  # uvicorn hands the signal on once it has ended in order
        assert "Traceback" not in service.output


@pytest.fixture
def files(monkeypatch):
    """Lets this process have a limit of open files, soft and hard, that is not its own; [soft, hard]."""
    limits = [0, 0]
    monkeypatch.setattr("resource.getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr("resource.setrlimit", lambda _, given: limits.__setitem__(slice(2), given))
    return limits


@pytest.mark.parametrize(("soft", "hard", "then"), [
    (1024, 20_000, 20_000), (1024, 1024, 1024), (1024, 1_000_000, 65_536), (100_000, 1_000_000, 100_000),
    (1024, -1, 65_536), (-1, -1, -1), (64, 4096, 4096),
])  # fmt: skip
def test_a_service_may_open_as_many_files_as_the_system_allows(files, soft, hard, then):
    files[:] = soft, hard
    require_files()
    assert files == [then, hard]
    assert most_connections() == (math.inf if then == -1 else then - SPARE_FILES)


def test_too_few_files_are_said_before_anything_is_served(files, tmp_path):
    files[:] = 200, 200
    with pytest.raises(SettingsError, match=r"may open 200 files, too few to serve.*at least 256 \(ulimit -n"):
        serve(tmp_path / "log.db", port=0)
    assert not (tmp_path / "log.db").exists()


def test_that_the_first_page_waits_is_said_once_and_only_while_kernels_are_compiled():
    for done, said in ((False, 1), (True, 0)):
        told = []
        look = _tells_of_compiling(types.SimpleNamespace(is_done=done), told.append)
        for _ in range(COMPILES_AFTER - 1):
            look()
        assert told == []
        for _ in range(5):
            look()
        assert len(told) == said


HANGS = """
import sys, threading
from rankloop.live import serving
async def hang(self):
    threading.Event().wait()
serving.Service.stop = hang
serving.END_SECONDS = 0.2
serving.serve(sys.argv[1], port=0, say=lambda text: print(text, flush=True))
"""


@pytest.mark.process
def test_a_service_that_is_asked_to_end_ends_though_its_store_hangs(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HANGS, str(tmp_path / "log.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = process.stdout.readline().split()[-1]
    wait_until(lambda: answers(url), "the service answers")
    assert end(process) == 1
    assert "did not end within 0.2 s, because its store or its compiler hangs; it ends now" in process.stderr.read()


def answers(url):
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
