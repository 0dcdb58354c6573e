"""The store: nothing half-made is ever seen, whatever interrupts or doubles an import."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankloop import data
from rankloop.data import importing
from rankloop.data.store import entries as store
from rankloop.data.store.arrays import SplitWriter, open_split
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError
from rankloop.home import home

COMPILED = str(home() / "compiled")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path) -> Path:
    return write_source(tmp_path / "source")


def write_source(folder: Path, queries: int = 5, value: float = 0.5) -> Path:
    folder.mkdir(exist_ok=True)
    for number, split in enumerate(("train", "vali", "test")):
        lines = [f"{d % 3} qid:{10 * q + number} 1:{value} 2:{d / 4}" for q in range(queries) for d in range(4)]
        (folder / f"{split}.txt").write_text("\n".join(lines) + "\n")
    return folder


def stored(home: Path) -> list[str]:
    return sorted(p.relative_to(home).as_posix() for p in (home / "collections").glob("*/*"))


def in_another_process(code: str, *arguments: str, home: Path) -> subprocess.Popen:
    environment = os.environ | {"RANKLOOP_HOME": str(home), "NUMBA_CACHE_DIR": COMPILED}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_is_written_in_blocks_is_read_as_one_split(tmp_path):
    generator = np.random.default_rng(1)
    with SplitWriter(tmp_path / "train", features=2) as writer:
        parts = []
        for block in range(5):
            lengths = generator.integers(1, 6, size=3)
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            rows = generator.normal(size=(offsets[-1], 2 + block)).astype(np.float32)
            grades = generator.integers(0, 5, offsets[-1]).astype(np.uint8)
            writer.widen(rows.shape[1])
            writer.add(np.arange(3) + 3 * block, offsets, rows, grades)
            parts.append((lengths, rows, grades))
    split = open_split(tmp_path / "train")
    assert split.query_ids.tolist() == list(range(15))
    assert np.array_equal(np.diff(split.offsets), np.concatenate([p[0] for p in parts]))
    assert np.array_equal(split.grades, np.concatenate([p[2] for p in parts]))
    wide = [np.pad(rows, ((0, 0), (0, 6 - rows.shape[1]))) for _, rows, _ in parts]
    assert np.array_equal(split.features, np.concatenate(wide))
    for name in ("features", "offsets", "grades", "query_ids"):
        assert np.array_equal(np.load(tmp_path / "train" / f"{name}.npy"), getattr(split, name))


def test_a_mapped_array_is_plain_and_writing_to_it_never_reaches_the_file(source):
    before = data.load(source).train.arrays
    assert type(before.features) is np.ndarray
    assert before.features.flags.c_contiguous
    assert before.features.flags.writeable
    assert before.features.flags.aligned
    kept = before.features.copy()
    before.features[:] = 7
    assert np.array_equal(data.load(source).train.features, kept)


def test_a_second_load_opens_what_the_first_has_imported(source, monkeypatch):
    first = data.load(source)
    monkeypatch.setattr(svmlight, "blocks", lambda *_, **__: pytest.fail("read again"))
    second = data.load(source)
    assert second.content_hash == first.content_hash


def test_equal_data_has_an_equal_hash_wherever_it_came_from(tmp_path, source):
    copy = write_source(tmp_path / "copy")
    other = write_source(tmp_path / "other", value=0.25)
    data.add("mine", source)
    hashes = [data.load(where).content_hash for where in (source, copy, "mine", other)]
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]


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


def test_a_named_import_outlives_its_source(source):
    data.add("mine", source)
    for file in source.iterdir():
        file.unlink()
    source.rmdir()
    assert data.load("mine").vali.queries == 5
    with pytest.raises(DataError, match="nor an existing path"):
        data.load(source)


def test_a_named_import_follows_files_that_come_and_go(source):
    (source / "vali.txt").rename(source / "later")
    data.add("mine", source)
    assert data.load("mine").vali is None
    (source / "later").rename(source / "vali.txt")
    assert data.load("mine").vali.queries == 5
    (source / "vali.txt").unlink()
    assert data.load("mine").vali is None
    write_source(source, queries=7)
    (source / "test.txt").unlink()
    with pytest.raises(DataError, match=r"the test file is missing; got train\.txt, vali\.txt"):
        data.load("mine")
    write_source(source, queries=7)
    assert data.load("mine").test.queries == 7


def test_a_named_import_follows_folds_that_come_and_go(tmp_path):
    folds = tmp_path / "folds"
    folds.mkdir()
    write_source(folds / "Fold1")
    data.add("mine", folds)
    write_source(folds / "Fold2", queries=3)
    assert data.load("mine", fold=2).train.queries == 3
    (folds / "Fold1").rename(tmp_path / "elsewhere")
    assert data.load("mine").fold == 2
    with pytest.raises(DataError, match="mine has folds 2; got fold 1"):
        data.load("mine", fold=1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_import_leaves_nothing(source, own_home, monkeypatch, error):
    def interrupted(*_, **__):
        yield from ()
        raise error

    monkeypatch.setattr(svmlight, "blocks", interrupted)
    with pytest.raises(error):
        data.load(source)
    assert stored(own_home) == []


def test_a_failed_reimport_keeps_what_was_there(source, own_home):
    data.add("mine", source)
    before = stored(own_home)
    (source / "test.txt").write_text("1 qid:1 1:0.5\n1 qid:2 broken\n")
    with pytest.raises(DataError, match=r"test\.txt, line 2"):
        data.load("mine")
    assert stored(own_home) == before
    with pytest.raises(DataError, match=r"test\.txt, line 2"):
        data.add("other", source)
    assert stored(own_home) == before


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


def test_a_source_that_changes_while_it_is_read_is_refused(source, own_home, monkeypatch):
    real = svmlight.blocks

    def changing(path, **options):
        yield from real(path, **options)
        write_source(source, queries=9)

    monkeypatch.setattr(importing.svmlight, "blocks", changing)
    with pytest.raises(DataError, match="changed while it was being read"):
        data.load(source)
    assert stored(own_home) == []
