"""`rankloop report`: what it refuses, in a sentence and with exit code 2, and what it does without `--serve`."""

import socket
from typing import NamedTuple

import httpx
import pytest
from study_viewing import viewer

from rankloop.cli import main

pytestmark = pytest.mark.xdist_group("studies")


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def rankloop(capsys):
    """The command line in this process: what it refuses, it refuses before it serves."""

    def run(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        return Done(left.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("place", ["nowhere", "file.txt"])
def test_what_is_no_folder_is_refused(rankloop, tmp_path, place):
    (tmp_path / "file.txt").write_text("x")
    done = rankloop("report", tmp_path / place, "--serve", "--no-browser")
    assert done.returncode == 2
    assert place in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_is_for_this_machine_only(rankloop, results):
    done = rankloop("report", results, "--serve", "--host", "0.0.0.0", "--port", "0", "--no-browser")
    assert done.returncode == 2
    assert "this machine only" in done.stderr


def test_a_port_in_use_is_told(rankloop, results):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = rankloop("report", results, "--serve", "--port", port, "--no-browser")
    assert done.returncode == 2
    assert f"port {port} is in use" in done.stderr


@pytest.mark.process
def test_it_serves_until_told_to_end(results):
    with viewer(results) as address:
        assert "A small study" in httpx.get(f"{address}/").text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/")


def test_without_serve_it_writes_the_report_anew(rankloop, results):
    (results / "small" / "report.html").unlink()
    done = rankloop("report", results / "small")
    assert done.returncode == 0
    assert done.stdout.strip() == str(results / "small" / "report.html")
    assert (results / "small" / "report.html").stat().st_size > 10_000
    assert rankloop("report", results).returncode == 2
