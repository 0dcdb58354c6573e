"""What a disk, a lock or a wrong file can do to a log in one file: a sentence, no damage, and it goes on by itself."""

import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.skipping import skip_here

from rankloop.live.errors import StoreError
from rankloop.live.stores import open_store, sqlite
from rankloop.live.writer import Writer
from rankloop.logs.importing import back_up

from .pages import assert_sound, sentence, settled, shows

BODY = os.urandom(60_000)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.db"


@pytest.fixture
def store(path):
    store = open_store(path)
    yield store
    store.close()


# No room


@pytest.mark.parametrize("serving", [False, True])
def test_a_full_file_refuses_what_does_not_fit_and_goes_on_when_there_is_room(path, serving):
    store = open_store(path, serving=serving)
    writer = Writer(store)
    assert writer.append(shows([0], BODY)[0]).result(PATIENCE) == 1
    pages = store._write.execute("PRAGMA page_count").fetchone()[0]
    store._write.execute(f"PRAGMA max_page_count = {pages + 20}")
    acknowledged, told = [1], ""
    for show in shows(range(1, 10), BODY):
        try:
            acknowledged.append(writer.append(show).result(PATIENCE))
        except StoreError as error:
            told = str(error)
    assert "make room, and it goes on by itself" in told
    assert 1 < len(acknowledged) < 10
    assert [event.offset for event in store.events(0, 99)] == acknowledged
    store._write.execute("PRAGMA max_page_count = 1000000")
    assert writer.append(shows([99], BODY)[0]).result(PATIENCE) == len(acknowledged) + 1
    writer.stop()
    store.close()
    assert_sound(path)


LIMITED = """
import resource, sys
from rankloop.live.errors import StoreError
from rankloop.live.log import Show
from rankloop.live.writer import Writer
from rankloop.live.stores import open_store
store = open_store(sys.argv[1], serving=True)
writer = Writer(store)

def send(numbers):
    for number in numbers:
        try:
            writer.append(Show(1, number, 0, b"", bytes(60_000), 3, 0, 0.0)).result(600)
            print("written", flush=True)
        except StoreError as error:
            print("refused", error, flush=True)

soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
send(range(60))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
print("room", flush=True)
send(range(100, 105))
writer.stop()
store.close()
"""


@pytest.mark.process
def test_a_limit_on_the_size_of_files_is_survived(path):
    if resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY:
        skip_here("the size of files is limited here for good")
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("room\n")
    lines = before.splitlines()
    assert lines[0] == "written"
    # More than two files of that size hold; which of them is refused depends on when the one is moved into the other.
    refused = [line for line in lines if line.startswith("refused")]
    assert refused
    assert all("make room, and it goes on by itself" in line for line in refused)
    assert after.splitlines() == ["written"] * 5
    assert_sound(path)
    store = open_store(path)
    assert store.last_offset() == lines.count("written") + 5
    store.close()


# No rights

READ_ONLY = """
import os, sys
from rankloop.live.errors import StoreError
from rankloop.live.log import Show, settle
from rankloop.live.stores import open_store
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for attempt in range(2):
    try:
        store = open_store(sys.argv[1])
        with store.transaction() as transaction:
            print(settle(transaction, [Show(1, 50, 0, b"", b"", 3, 0, 0.0)]), flush=True)
        store.close()
    except StoreError as error:
        print(error, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def outside():
    """A folder that another user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="rankloop-read-only-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.process
def test_a_read_only_file_is_named_and_written_to_once_it_may_be(outside):
    path = outside / "log.db"
    store = open_store(path)
    settled(store, *shows([0], BODY))
    store.close()
    path.chmod(0o444)
    outside.chmod(0o555)
    process = subprocess.Popen(
        [sys.executable, "-c", READ_ONLY, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    told = process.stdout.readline()
    path.chmod(0o666)
    outside.chmod(0o777)
    rest, _ = process.communicate("go\ngo\n", timeout=PATIENCE)
    assert "permission" in told
    assert str(path) in told
    assert rest == "[2]\n"
    assert_sound(path)


def modes(folder):
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_the_file_and_all_beside_it_are_their_owners_alone(path, tmp_path, caplog):
    store = open_store(path, serving=True)
    settled(store, *shows([0]))
    assert store.lease("model-1").alive()
    back_up(path, tmp_path / "aside.db", at=0)
    kept = modes(tmp_path)
    store.close()
    assert {"log.db", "log.db-wal", "log.db-shm", "log.db.lease", "aside.db"} <= set(kept)
    assert set(kept.values()) == {0o600}
    assert not caplog.text


def test_a_service_on_a_file_that_others_may_read_says_so_and_leaves_it_as_it_is(path, tmp_path, caplog):
    open_store(path).close()
    path.chmod(0o640)
    open_store(path, serving=True).close()
    assert "holds signing secrets, and others on this machine may read it (mode 640)" in caplog.text
    assert f"chmod 600 {path}*" in caplog.text
    assert modes(tmp_path)["log.db"] == 0o640


# Others at the file


def test_a_locked_database_is_waited_for_then_named_then_written_to(path, monkeypatch):
    monkeypatch.setattr(sqlite, "WAIT_MS", 100)
    store = open_store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "another process holds the database" in sentence(settled, store, *shows([0], BODY))
    assert store.last_offset() == 0  # readers do not wait
    other.execute("COMMIT")
    assert settled(store, *shows([0], BODY)) == [1]
    other.close()
    store.close()
    assert_sound(path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"query,document,click\n" * 1000)
    assert "is it a rankloop log?" in sentence(open_store, path)
    assert path.read_bytes() == b"query,document,click\n" * 1000


def test_a_database_of_something_else_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    assert "some other program" in sentence(open_store, path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_a_folder_that_is_not_there_and_a_folder_in_the_place_of_the_file_are_named(tmp_path):
    assert "not a folder" in sentence(open_store, tmp_path / "nowhere" / "log.db")
    assert "is a folder; give a file in it" in sentence(open_store, tmp_path)


def test_a_log_that_was_cut_off_is_refused_not_repaired_in_silence(path):
    store = open_store(path)
    settled(store, *shows(range(20), BODY))
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    sentence(lambda: list(open_store(path).export_rows("events")))


def test_commits_wait_for_the_disk(store):
    assert store._write.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._write.execute("PRAGMA journal_mode").fetchone() == ("wal",)
