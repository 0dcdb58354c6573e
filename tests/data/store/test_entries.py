"""The store: nothing half-made is ever seen, whatever interrupts or doubles an import."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankloop import data
from rankloop.data.store import entries as store
from rankloop.data.store.arrays import SplitWriter
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError
from rankloop.home import home

from ..sources import stored, write_source

pytestmark = pytest.mark.usefixtures("own_home")

COMPILED = str(home() / "compiled")


def in_another_process(code: str, *arguments: str, home: Path) -> subprocess.Popen:
    environment = os.environ | {"RANKLOOP_HOME": str(home), "NUMBA_CACHE_DIR": COMPILED}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_second_load_opens_what_the_first_has_imported(source, monkeypatch):
    first = data.load(source)
    monkeypatch.setattr(svmlight, "blocks", lambda *_, **__: pytest.fail("read again"))
    second = data.load(source)
    assert second.content_hash == first.content_hash


def test_a_changed_source_is_imported_again_and_replaces_the_old_version(source, own_home):
    data.add("mine", source)
    data.load(source)
    before = stored(own_home)
    write_source(source, queries=7)
    assert data.load("mine").train.queries == 7
    assert data.load(source).train.queries == 7
    after = stored(own_home)
    assert len(after) == len(before) == 2
    assert not set(after) & set(before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_import_leaves_nothing(source, own_home, monkeypatch, error):
    def interrupted(*_, **__):
        yield from ()
        raise error

    monkeypatch.setattr(svmlight, "blocks", interrupted)
    with pytest.raises(error):
        data.load(source)
    assert stored(own_home) == []


STUCK = """
import sys, time
from rankloop import data
from rankloop.data.svmlight import reader as svmlight
real = svmlight.blocks
def slow(*arguments, **options):
    for block in real(*arguments, **options):
        yield block
        print("half", flush=True)
        time.sleep(3600)
svmlight.blocks = slow
data.add("mine", sys.argv[1])
"""


@pytest.mark.long
@pytest.mark.process
def test_a_killed_import_is_swept_by_the_next(source, own_home):
    process = in_another_process(STUCK, str(source), home=own_home)
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert any(name.endswith(".partial") for name in stored(own_home))
    assert data.listing() == []
    with pytest.raises(DataError):
        data.load("mine")
    data.load(source)  # another slot: sweeps all the same
    assert [name for name in stored(own_home) if "/." in name] == []
    data.add("mine", source)
    assert data.load("mine").train.queries == 5


@pytest.mark.process
def test_what_a_living_process_is_making_is_not_swept(source, own_home):
    process = in_another_process(STUCK, str(source), home=own_home)
    try:
        assert process.stdout.readline() == "half\n"
        data.load(source)
        assert any(name.endswith(".partial") for name in stored(own_home))
    finally:
        process.kill()
        process.wait()


TWICE = """
import sys
from rankloop import data
print(data.load(sys.argv[1]).content_hash, data.add("mine", sys.argv[1]).content_hashes)
"""


@pytest.mark.process
def test_two_processes_that_import_the_same_end_with_one_copy(tmp_path, own_home):
    source = write_source(tmp_path / "large", queries=5000)
    both = [in_another_process(TWICE, str(source), home=own_home) for _ in range(2)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0] == said[1]
    assert len(stored(own_home)) == 2
    assert [name for name in stored(own_home) if "/." in name] == []


def test_a_full_disk_is_a_sentence_and_changes_nothing(source, own_home, monkeypatch):
    data.add("mine", source)
    before = stored(own_home)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SplitWriter, "_write", full)
    with pytest.raises(DataError, match=r"No space left on device\. Make room there"):
        data.load(source)
    assert stored(own_home) == before


def test_a_data_folder_that_cannot_be_written_is_a_sentence(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match="set RANKLOOP_HOME to another folder"):
        data.load(source)


def test_a_read_only_store_still_opens(source, own_home):
    data.add("mine", source)
    folders = [path for path in [own_home, *own_home.rglob("*")] if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert data.load("mine").train.queries == 5
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_a_damaged_entry_is_made_again(source, own_home):
    data.load(source)
    [entry] = store.entries()
    (entry.folder / "whole" / "train" / "features.npy").write_bytes(b"short")
    assert data.load(source).train.queries == 5
