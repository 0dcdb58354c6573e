"""The index on disk: documents and a full-text table over their words, in one SQLite file, made once.

The file is keyed by the Python that runs, its library and the code that reads it, so that it is never stale; it
appears by renaming a finished one, and can be deleted at any time.
"""

import hashlib
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.home import home
from rankloop.web.demo.documents import Document
from rankloop.web.demo.library import library_digest, read_library
from rankloop.web.demo.words import words

COLUMNS = ("name", "module", "signature", "doc")
"""The fields that are searched, each with a BM25 score of its own."""

_READERS = ("documents.py", "sources.py", "compiled.py", "library.py", "words.py", "index.py")


def open_index(path: Path | None = None) -> sqlite3.Connection:
    """An index, read-only: that of this Python's library, made where it is not there yet (some seconds), or another."""
    require_full_text()
    wanted = index_path() if path is None else path
    connection = _open(wanted)
    if connection is None and path is None:
        write_index(wanted, read_library().documents)
        _forget_others(wanted)
        connection = _open(wanted)
    if connection is None:
        own = f"the search index {wanted} cannot be read back; set RANKLOOP_HOME to a folder on another disk"
        raise DataError(own if path is None else f"{path} is not a search index; make one with write_index")
    return connection


def index_path() -> Path:
    """Where the index of this Python's library belongs."""
    key = hashlib.blake2b(library_digest().encode(), digest_size=8)
    for name in _READERS:
        key.update((Path(__file__).parent / name).read_bytes())
    version = ".".join(map(str, sys.version_info[:3]))
    return home() / "demo" / f"library-{version}-{key.hexdigest()}.sqlite"


def _forget_others(path: Path) -> None:
    """Remove the indexes that an older library or an older rankloop left for the same Python."""
    version = path.name.rpartition("-")[0]
    for other in path.parent.glob(f"{version}-*.sqlite"):
        if other != path:
            other.unlink(missing_ok=True)


def require_full_text() -> None:
    """Refuse a SQLite without its full-text extension."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(a)")
        except sqlite3.OperationalError as error:
            raise DataError(
                f"the demo searches with SQLite's full-text extension FTS5, which this Python's SQLite "
                f"{sqlite3.sqlite_version} lacks ({error}); use a Python whose SQLite has it"
            ) from None


def write_index(path: Path, documents: Iterable[Document]) -> None:
    """Make the index file; another that is there stays until this one is finished."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as partial, closing(sqlite3.connect(partial)) as connection:
            _fill(connection, documents)
    except (OSError, sqlite3.Error, DataError) as error:
        raise DataError(
            f"the search index {path} cannot be written: {error}. "
            f"Make room there, or set RANKLOOP_HOME to another folder"
        ) from error


def _fill(connection: sqlite3.Connection, documents: Iterable[Document]) -> None:
    connection.executescript(
        f"""
        PRAGMA journal_mode = OFF;
        CREATE TABLE documents(row INTEGER PRIMARY KEY, id TEXT UNIQUE, content BLOB NOT NULL);
        CREATE VIRTUAL TABLE words USING fts5(
            {", ".join(COLUMNS)}, tokenize = "unicode61 remove_diacritics 0 tokenchars '_.'"
        );
        """
    )
    for row, document in enumerate(documents, 1):
        connection.execute(
            "INSERT INTO documents VALUES (?, ?, ?)", (row, document.id, msgspec.msgpack.encode(document))
        )
        connection.execute(
            f"INSERT INTO words(rowid, {', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?)", (row, *_fields(document))
        )
    connection.execute("INSERT INTO words(words) VALUES ('optimize')")
    connection.execute("PRAGMA user_version = 1")  # written last: without it the file is not finished
    connection.commit()


def _fields(document: Document) -> tuple[str, str, str, str]:
    """The words of each searched field, in the order of `COLUMNS`.

    A name is its own words and the ways to write it in full (`pathlib.path.glob`, `path.glob`); what stands before it
    counts as its module.
    """
    before = document.module if document.kind == "module" else document.id.rpartition(".")[0] or document.module
    written = [document.id.casefold(), ".".join(document.id.casefold().split(".")[-2:])]
    names = dict.fromkeys([*(w.word for w in words(document.name)), *written])
    return " ".join(names), _words(before), _words(document.signature), _words(document.text)


def _words(text: str) -> str:
    return " ".join(w.word for w in words(text))


def _open(path: Path) -> sqlite3.Connection | None:
    """The index in a file; None where it is missing, not finished or damaged."""
    if not path.is_file():
        return None
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    try:
        finished = connection.execute("PRAGMA user_version").fetchone()[0] == 1
        if finished and connection.execute("SELECT count(*) FROM documents").fetchone()[0] > 0:
            return connection
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None
