"""The index is made once, never half, and made again when it is damaged."""

import sqlite3

import pytest

from rankloop.errors import DataError
from rankloop.web.demo import index
from rankloop.web.demo.documents import document
from rankloop.web.demo.engine import Engine
from rankloop.web.demo.library import Library

DOCUMENTS = [
    document("m", "module", "m", "m", "About files."),
    document("m.open_file", "function", "m", "open_file(path)", "Open a file."),
]


@pytest.fixture
def reads(monkeypatch, tmp_path):
    """How often the library is read, in a data folder of its own, with a library of two documents."""
    count = []
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path))
    monkeypatch.setattr(index, "read_library", lambda: (count.append(1), Library(DOCUMENTS, 0))[1])
    return count


def test_the_second_start_reads_no_library(reads):
    assert [Engine().size, Engine().size] == [2, 2]
    assert len(reads) == 1
    assert [path.suffix for path in index.index_path().parent.iterdir()] == [".sqlite"]


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 500, None], ids=["empty", "garbage", "cut off"])
def test_a_damaged_index_is_made_again(reads, damage):
    Engine().close()
    path = index.index_path()
    path.write_bytes(path.read_bytes()[:5000] if damage is None else damage)
    assert len(Engine().search("file")) == 2
    assert len(reads) == 2


def test_an_unfinished_index_does_not_count(reads):
    Engine().close()
    with sqlite3.connect(index.index_path()) as connection:
        connection.execute("PRAGMA user_version = 0")
    Engine()
    assert len(reads) == 2


def test_an_index_of_another_library_makes_way(reads, monkeypatch):
    Engine().close()
    old = index.index_path()
    monkeypatch.setattr(index, "library_digest", lambda: "another")
    Engine()
    assert index.index_path() != old
    assert not old.exists()


def test_a_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANKLOOP_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cannot be written.*RANKLOOP_HOME"):
        index.write_index(index.index_path(), DOCUMENTS)


def test_a_file_that_is_no_index_is_refused(tmp_path):
    with pytest.raises(DataError, match="is not a search index"):
        Engine(tmp_path / "nothing.sqlite")


def test_a_sqlite_without_full_text_search_is_named(monkeypatch):
    class Bare:
        def execute(self, statement):
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self):
            pass

    monkeypatch.setattr(index.sqlite3, "connect", lambda *_, **__: Bare())
    with pytest.raises(DataError, match=r"FTS5.*no such module"):
        index.require_full_text()
