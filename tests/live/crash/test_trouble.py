"""A full disk, a read-only file, a locked database under a running service: pages go on in the incoming order and say
why, reports are refused with a sentence, nothing is damaged or lost, and it goes on by itself."""

import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE, wait_until

from rankloop.live.events import Kind, decode
from rankloop.live.stores import open_store, opened
from rankloop.live.tokens import Signer

from ..serving import Serving
from . import disk
from .evidence import examine
from .traffic import Caller, Traffic, last_visit, make_model, one_page

READ_ONLY = 8
"""What SQLite calls it."""

pytestmark = pytest.mark.slow


@contextmanager
def full_disk(service):
    """No file of the service may grow any more."""
    soft, hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
    size = Path(f"{service.address}-wal").stat().st_size
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (size + 10_000, hard))
    yield
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(service):
    """Every write is refused."""
    fault = service.folder / "fault"
    fault.symlink_to(str(READ_ONLY))
    yield
    fault.unlink()


@contextmanager
def locked(service):
    """Another process holds the database."""
    with closing(sqlite3.connect(service.address, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


TROUBLES = {
    full_disk: "make room, and it goes on by itself",
    read_only: "read-only; give write permission",
    locked: "the store did not respond within",
}


def test_pages_go_on_reports_are_refused_nothing_is_lost_and_it_recovers(tmp_path):
    path = tmp_path / "log.db"
    with Serving(tmp_path, address=str(path), command=(sys.executable, disk.__file__, "/dev/null")) as service:
        make_model(service.url)
        page = one_page(service.url)
        with Traffic([service.url], seed=5) as traffic:
            for trouble, reason in TROUBLES.items():
                traffic.wait_for(acknowledged=40)
                with trouble(service):
                    traffic.wait_for(fallbacks=6)
                    traffic.wait_for_reason(reason)
                    assert refusal(service.url, page)["error"]["code"] == "store_unavailable"
            traffic.wait_for(acknowledged=40)
        weights = last_visit(service.url)
    assert "Traceback" not in service.output
    assert examine(str(path), traffic.visits, weights).version > 15
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert_pages_that_nobody_saw_teach_nothing(str(path), traffic)


def refusal(url, page):
    """What a report is refused with. A short one may still find room on a disk that has none for a page."""
    report = {"impression": page["impression"], "clicks": page["ranking"][:1]}
    caller = Caller([url], random.Random(0))

    def refused():
        status, answer = caller.post("/v1/clicks", report)
        return answer if status == 503 else None

    return wait_until(refused, "a report that is refused")


def assert_pages_that_nobody_saw_teach_nothing(address, traffic):
    """A page may reach the log after its caller was given another one; it is then closed as void."""
    with opened(address) as store:
        signer = Signer(store.secrets())
        seen = {signer.verify(visit.impression).number for visit in traffic.visits}
        events = store.events(0, 10**9)
    shown = [event.number for event in events if event.kind == Kind.SHOWN]
    why = {event.number: decode(event.kind, event.body).why for event in events if event.kind == Kind.CLOSED}
    strangers = [number for number in shown if number not in seen]
    # The first and the last page were asked for by the test itself.
    assert {why.get(number) for number in strangers[1:-1]} <= {"void"}


UNPRIVILEGED = """
import os, sys
import rankloop.live.serving, rankloop.web.dashboard
from rankloop.cli import main
try:
    main(["serve", "--help"])  # imports what the command line needs, while it may still be read
except SystemExit:
    pass
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
main()
"""


def test_a_service_does_not_start_on_a_file_that_it_may_not_write_and_says_why():
    with tempfile.TemporaryDirectory(prefix="rankloop-read-only-") as folder:
        path = Path(folder) / "log.db"
        open_store(path).close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, "serve", str(path), "--port", "0"],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        Path(folder).chmod(0o755)
    assert done.returncode == 2
    assert done.stderr.count("\n") <= 3
    assert str(path) in done.stderr
    assert "permission" in done.stderr
