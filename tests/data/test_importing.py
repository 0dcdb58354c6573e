"""Importing follows the files as they are, and keeps what was there where it fails."""

from pathlib import Path

import numpy as np
import pytest

from rankloop import data
from rankloop.data import importing
from rankloop.data.store.entries import entries
from rankloop.data.svmlight import reader as svmlight
from rankloop.errors import DataError

from .sources import stored, write, write_source

pytestmark = pytest.mark.usefixtures("own_home")


def test_equal_data_has_an_equal_hash_wherever_it_came_from(tmp_path, source):
    copy = write_source(tmp_path / "copy")
    other = write_source(tmp_path / "other", value=0.25)
    data.add("mine", source)
    hashes = [data.load(where).content_hash for where in (source, copy, "mine", other)]
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]


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


def test_a_source_that_changes_while_it_is_read_is_refused(source, own_home, monkeypatch):
    real = svmlight.blocks

    def changing(path, **options):
        yield from real(path, **options)
        write_source(source, queries=9)

    monkeypatch.setattr(importing.svmlight, "blocks", changing)
    with pytest.raises(DataError, match="changed while it was being read"):
        data.load(source)
    assert stored(own_home) == []


def test_a_single_file_is_split_by_query_the_same_way_every_time(tmp_path):
    path = tmp_path / "all.txt"
    write(path, queries=10)
    loaded = data.load(path)
    assert loaded.train.query_ids.tolist() == [0, 3, 4, 5, 8, 9]
    assert loaded.vali.query_ids.tolist() == [2, 7]
    assert loaded.test.query_ids.tolist() == [1, 6]
    assert loaded.train.offsets.tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert loaded.train.features[:2].tolist() == np.float32([[0.5, 0], [0, 0.1]]).tolist()
    write(path, queries=1)
    with pytest.raises(DataError, match="one query cannot be split"):
        data.load(path)
    write(path, queries=2)
    assert data.load(path).vali is None


def test_normalisation_can_be_asked_for_or_left_to_the_values(tmp_path):
    write(tmp_path / "small.txt", queries=5)
    write(tmp_path / "large.txt", queries=5, value="-7")
    assert data.load(tmp_path / "small.txt").train.features.max() == np.float32(0.5)
    assert data.load(tmp_path / "small.txt", normalise=True).train.features.max() == 1
    assert data.load(tmp_path / "large.txt").train.features[0].tolist() == [0, 0]
    assert data.load(tmp_path / "large.txt", normalise=False).train.features.min() == -7
    report = data.add("large", tmp_path / "large.txt")
    assert report.normalised
    with pytest.raises(DataError, match="was imported with normalise=True"):
        data.load("large", normalise=False)
    assert not data.add("large", tmp_path / "large.txt", normalise=False).normalised


def test_splits_of_different_width_are_filled_up(tmp_path):
    write(tmp_path / "some" / "train.txt")
    (tmp_path / "some" / "test.txt").write_text("1 qid:1 7:0.5\n")
    loaded = data.load(tmp_path / "some")
    assert loaded.features == 7
    assert loaded.feature_names == tuple(f"f{j}" for j in range(1, 8))
    assert loaded.train.features[:, 2:].max() == 0


def test_progress_counts_the_bytes_of_all_files(tmp_path):
    for number, split in enumerate(("train", "vali", "test")):
        write(tmp_path / "some" / f"{split}.txt", 10 * number, queries=50)
    seen = []
    data.add("some", tmp_path / "some", progress=lambda done, total: seen.append((done, total)))
    total = sum(file.stat().st_size for file in (tmp_path / "some").iterdir())
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


def edited(monkeypatch, name):
    """As if somebody had edited a source file, and started anew."""
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * path.as_posix().endswith(name))
    importing._code.cache_clear()


@pytest.mark.parametrize(("file", "made_again"), [
    ("worlds/features.py", {"tiny"}), ("data/normalise.py", {"tiny", "mine"}), ("svmlight/reader.py", {"mine"}),
    ("data/catalogue.py", set()), ("rankloop/settings.py", set()),
])  # fmt: skip
def test_what_an_older_generator_or_reader_made_is_made_again(source, monkeypatch, file, made_again):
    def kept():
        data.make("tiny", scale=0.1)
        data.load("mine")
        return {(entry.meta.name, entry.folder.name) for entry in entries()}

    data.add("mine", source)
    before = kept()
    edited(monkeypatch, file)
    assert {name for name, _ in kept() - before} == made_again
    importing._code.cache_clear()
